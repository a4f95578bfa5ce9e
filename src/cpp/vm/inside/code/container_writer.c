/* Source to container, full flavour only: compile, then write. Library modules lose docstrings, asserts and
 * line tables; tasks keep asserts and lines, so that their tracebacks say where. */
#include "vm/inside/code/bundle.h"
#include "vm/inside/code/code_writer.h"

static int write_module(wvm_writer* w, const wvm_source* source, int library) {
  PyCompilerFlags flags = {.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE,
                           .cf_feature_version = PY_MINOR_VERSION};
  PyObject* file = PyUnicode_FromString(source->file);
  if (file == NULL) return -1;
  /* What was warned of in another file, in the same line, is warned of again. */
  _PyInterpreterState_GET()->warnings.filters_version++;
  PyObject* code = strlen(source->text) == source->size
                       ? Py_CompileStringObject(source->text, file, Py_file_input, &flags, library ? 2 : 0)
                       : PyErr_Format(PyExc_SyntaxError, "source contains a null byte");
  Py_DECREF(file);
  w->is_module = 1;
  const int status = code == NULL ? -1 : wvm_write_value(w, code);
  Py_XDECREF(code);
  return status;
}

static void write_header(wvm_buffer* out, const wvm_writer* w, const wvm_buffer* table, size_t modules) {
  char id[32] = {0};
  memcpy(id, wvm_id, strlen(wvm_id));
  wvm_put(out, "WVMB\1\0\0\0", 8);
  wvm_put(out, id, sizeof id);
  wvm_put_u32(out, 0); /* checksum, filled in at the end */
  wvm_put_u32(out, (uint32_t)PyList_GET_SIZE(w->strings));
  wvm_put_u32(out, (uint32_t)table->size);
  wvm_put_u32(out, (uint32_t)table->size);
  wvm_put_u32(out, (uint32_t)modules);
  wvm_put(out, table->data, table->size);
}

static int write_all(wvm_writer* w, const wvm_source* sources, size_t count, int library, wvm_buffer* out) {
  wvm_buffer entries = {0}, table = {0};
  int status = 0;
  for (size_t i = 0; status == 0 && i < count; ++i) {
    PyObject* name = PyUnicode_FromString(sources[i].name);
    PyObject* file = PyUnicode_FromString(sources[i].file);
    const long name_number = name ? wvm_string_number(w, name) : -1,
               file_number = file ? wvm_string_number(w, file) : -1;
    const size_t before = w->out.size;
    if (name_number < 0 || file_number < 0 || write_module(w, &sources[i], library) < 0) status = -1;
    const uint32_t size = (uint32_t)(w->out.size - before);
    const uint32_t entry[5] = {(uint32_t)name_number, (uint32_t)file_number,
                               (uint32_t)(sources[i].is_package != 0), size, size};
    for (int j = 0; j < 5; ++j) wvm_put_u32(&entries, entry[j]);
    Py_XDECREF(name);
    Py_XDECREF(file);
  }
  if (status == 0) status = wvm_write_strings(w, &table, NULL);
  if (status == 0) {
    write_header(out, w, &table, count);
    wvm_put(out, entries.data, entries.size);
    wvm_put(out, w->out.data, w->out.size);
    if (out->failed || entries.failed || table.failed || w->out.failed) {
      PyErr_NoMemory();
      status = -1;
    }
  }
  if (status == 0) {
    const uint32_t crc = wvm_checksum(out->data + 44, out->size - 44);
    for (int i = 0; i < 4; ++i) out->data[40 + i] = (uint8_t)(crc >> (8 * i));
  }
  free(entries.data);
  free(table.data);
  return status;
}

int wvm_write_container(const wvm_source* sources, size_t count, int library, wvm_blob* blob) {
  wvm_writer w = {.numbers = PyDict_New(), .strings = PyList_New(0), .keep_lines = !library};
  wvm_buffer out = {0};
  int status = w.numbers && w.strings ? write_all(&w, sources, count, library, &out) : -1;
  Py_XDECREF(w.numbers);
  Py_XDECREF(w.strings);
  free(w.out.data);
  if (status < 0) {
    free(out.data);
    return -1;
  }
  *blob = (wvm_blob){out.data, out.size, out.data};
  return 0;
}
