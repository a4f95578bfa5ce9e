/* Source to container, full flavour only: compile, then write each code object the way code_reader.c reads
 * it. Strings of all modules share one table. Library modules lose docstrings, asserts and line tables; tasks
 * keep asserts and lines, so that their tracebacks say where. */
#include "vm/inside/inside.h"

#include <internal/pycore_code.h>
#include <internal/pycore_opcode_metadata.h>

typedef struct {
  uint8_t* data;
  size_t size, room;
  int failed;
} buffer;

typedef struct {
  buffer out;
  PyObject* numbers; /* str -> position in `strings` */
  PyObject* strings;
  int keep_lines;
  const PyCodeObject* inside; /* the function or class around what is written; NULL: directly in the module */
  int is_module;
} writer;

/* Errors are sticky: once memory was short nothing more is written, and write_all() asks at the end. */
static void put(buffer* b, const void* data, size_t size) {
  if (b->failed) return;
  if (b->size + size > b->room) {
    const size_t room = (b->size + size) * 2;
    uint8_t* grown = realloc(b->data, room);
    if (grown == NULL) {
      b->failed = 1;
      return;
    }
    b->data = grown;
    b->room = room;
  }
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void put_byte(buffer* b, uint8_t byte) { put(b, &byte, 1); }

static void put_u32(buffer* b, uint32_t value) {
  const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                            (uint8_t)(value >> 24)};
  put(b, bytes, 4);
}

/* Seven bits a byte, lowest first: most numbers in code are below 128. */
static void put_varint(buffer* b, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(b, (uint8_t)(value | 0x80));
  put_byte(b, (uint8_t)value);
}

/* The string's number, or -1 with an exception. */
static long string_number(writer* w, PyObject* text) {
  PyObject* known = PyDict_GetItemWithError(w->numbers, text);
  if (known != NULL) return PyLong_AsLong(known);
  if (PyErr_Occurred()) return -1;
  PyObject* number = PyLong_FromSsize_t(PyList_GET_SIZE(w->strings));
  if (number == NULL) return -1;
  const int failed = PyDict_SetItem(w->numbers, text, number) < 0 || PyList_Append(w->strings, text) < 0;
  const long result = failed ? -1 : PyLong_AsLong(number);
  Py_DECREF(number);
  return result;
}

static int write_string(writer* w, PyObject* text) {
  const long number = string_number(w, text);
  if (number < 0) return -1;
  put_varint(&w->out, (uint64_t)number);
  return 0;
}

static int write_bytes(writer* w, PyObject* bytes) {
  put_varint(&w->out, (uint64_t)PyBytes_GET_SIZE(bytes));
  put(&w->out, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
  return 0;
}

static int write_value(writer* w, PyObject* value);

static int write_tuple(writer* w, PyObject* tuple, int (*item)(writer*, PyObject*)) {
  put_varint(&w->out, (uint64_t)PyTuple_GET_SIZE(tuple));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (item(w, PyTuple_GET_ITEM(tuple, i)) < 0) return -1;
  }
  return 0;
}

/* Without inline caches, which are zeros in fresh code: the reader puts them back. */
static int write_instructions(writer* w, PyCodeObject* code) {
  PyObject* bytes = _PyCode_GetCode(code);
  if (bytes == NULL) return -1;
  const uint8_t* full = (const uint8_t*)PyBytes_AS_STRING(bytes);
  const Py_ssize_t size = PyBytes_GET_SIZE(bytes);
  Py_ssize_t packed = 0;
  for (Py_ssize_t i = 0; i < size; i += 2 + 2 * _PyOpcode_Caches[full[i]]) packed += 2;
  put_varint(&w->out, (uint64_t)packed);
  for (Py_ssize_t i = 0; i < size; i += 2 + 2 * _PyOpcode_Caches[full[i]]) put(&w->out, full + i, 2);
  Py_DECREF(bytes);
  return 0;
}

/* Nearly all qualified names follow from the scope and need not be stored (see code_reader.c). 1, 0 or -1. */
static int name_follows(const writer* w, const PyCodeObject* code) {
  const int is_function = w->inside != NULL && (w->inside->co_flags & CO_OPTIMIZED);
  PyObject* derived = w->inside == NULL ? Py_NewRef(code->co_name)
                                        : PyUnicode_FromFormat(is_function ? "%U.<locals>.%U" : "%U.%U",
                                                               w->inside->co_qualname, code->co_name);
  if (derived == NULL) return -1;
  const int follows = (w->inside == NULL || PyUnicode_GET_LENGTH(derived) <= WVM_DERIVED_NAME) &&
                      PyUnicode_Compare(derived, code->co_qualname) == 0;
  Py_DECREF(derived);
  return follows;
}

static int write_qualified_name(writer* w, PyCodeObject* code) {
  const int follows = name_follows(w, code);
  const long number = follows == 0 ? string_number(w, code->co_qualname) : -1;
  if (follows < 0 || (follows == 0 && number < 0)) return -1;
  put_varint(&w->out, (uint64_t)(number + 1));
  return 0;
}

static int write_constants(writer* w, const PyCodeObject* code) {
  const writer outer = *w; /* the scope to come back to */
  w->inside = w->is_module ? NULL : code;
  w->is_module = 0;
  const int status = write_tuple(w, code->co_consts, write_value);
  w->inside = outer.inside;
  w->is_module = outer.is_module;
  return status;
}

static int write_code(writer* w, PyCodeObject* code) {
  put_varint(&w->out, (uint64_t)code->co_argcount);
  put_varint(&w->out, (uint64_t)code->co_posonlyargcount);
  put_varint(&w->out, (uint64_t)code->co_kwonlyargcount);
  put_varint(&w->out, (uint64_t)code->co_stacksize);
  put_varint(&w->out, (uint64_t)code->co_flags);
  put_varint(&w->out, (uint64_t)code->co_firstlineno);
  if (write_string(w, code->co_name) < 0 || write_qualified_name(w, code) < 0 ||
      write_instructions(w, code) < 0 || write_constants(w, code) < 0 ||
      write_tuple(w, code->co_names, write_string) < 0 ||
      write_tuple(w, code->co_localsplusnames, write_string) < 0) {
    return -1;
  }
  put(&w->out, PyBytes_AS_STRING(code->co_localspluskinds),
      (size_t)PyBytes_GET_SIZE(code->co_localspluskinds));
  if (w->keep_lines)
    write_bytes(w, code->co_linetable);
  else
    put_varint(&w->out, 0);
  return write_bytes(w, code->co_exceptiontable);
}

static int write_long(writer* w, PyObject* value) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) {
    put_byte(&w->out, 'i'); /* zigzag, so that small negative numbers are short as well */
    put_varint(&w->out, ((uint64_t)small << 1) ^ (uint64_t)(small >> 63));
    return 0;
  }
  const size_t size = _PyLong_NumBits(value) / 8 + 1; /* with room for the sign */
  uint8_t* bytes = malloc(size);
  int status = bytes == NULL ? -1 : _PyLong_AsByteArray((PyLongObject*)value, bytes, size, 1, 1, 1);
  if (status == 0) {
    put_byte(&w->out, 'I');
    put_varint(&w->out, size);
    put(&w->out, bytes, size);
  }
  free(bytes);
  return status;
}

/* Frozen sets iterate in hash order, which differs from run to run; sorted by representation the build is
 * reproducible. */
static int write_set(writer* w, PyObject* set) {
  PyObject* items = PySequence_List(set);
  PyObject* builtins = items ? PyEval_GetBuiltins() : NULL;
  PyObject* key = builtins ? PyDict_GetItemString(builtins, "repr") : NULL;
  PyObject* sort = key ? PyObject_GetAttrString(items, "sort") : NULL;
  PyObject* named = sort ? Py_BuildValue("{sO}", "key", key) : NULL;
  PyObject* none = PyTuple_New(0);
  PyObject* done = named && none ? PyObject_Call(sort, none, named) : NULL;
  PyObject* tuple = done ? PyList_AsTuple(items) : NULL;
  int status = -1;
  if (tuple != NULL) {
    put_byte(&w->out, '<');
    status = write_tuple(w, tuple, write_value);
  }
  PyObject* parts[] = {items, sort, named, none, done, tuple};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) Py_XDECREF(parts[i]);
  return status;
}

static int write_value(writer* w, PyObject* value) {
  if (value == Py_None || value == Py_True || value == Py_False || value == Py_Ellipsis) {
    put_byte(&w->out, value == Py_None ? 'N' : value == Py_True ? 'T' : value == Py_False ? 'F' : 'E');
    return 0;
  }
  if (PyLong_CheckExact(value)) return write_long(w, value);
  if (PyFloat_CheckExact(value) || PyComplex_CheckExact(value)) {
    const double parts[2] = {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    put_byte(&w->out, PyFloat_CheckExact(value) ? 'd' : 'c');
    put(&w->out, parts, PyFloat_CheckExact(value) ? 8 : 16);
    return 0;
  }
  if (PyUnicode_CheckExact(value)) {
    /* Interned strings stay so: comparing names by identity is what makes attributes fast. */
    put_byte(&w->out, PyUnicode_CHECK_INTERNED(value) ? 'n' : 's');
    return write_string(w, value);
  }
  if (PyBytes_CheckExact(value)) {
    put_byte(&w->out, 'b');
    return write_bytes(w, value);
  }
  if (PyTuple_CheckExact(value)) {
    put_byte(&w->out, '(');
    return write_tuple(w, value, write_value);
  }
  if (PyFrozenSet_CheckExact(value)) return write_set(w, value);
  if (PyCode_Check(value)) {
    put_byte(&w->out, 'C');
    return write_code(w, (PyCodeObject*)value);
  }
  PyErr_Format(PyExc_TypeError, "constant of type %.100s", Py_TYPE(value)->tp_name);
  return -1;
}

static int write_module(writer* w, const wvm_source* source, int library) {
  PyCompilerFlags flags = {.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE,
                           .cf_feature_version = PY_MINOR_VERSION};
  PyObject* file = PyUnicode_FromString(source->file);
  if (file == NULL) return -1;
  /* The compiler takes text up to its first zero: what comes after one would silently be no code. Level 2
   * drops docstrings and asserts. */
  PyObject* code = strlen(source->text) == source->size
                       ? Py_CompileStringObject(source->text, file, Py_file_input, &flags, library ? 2 : 0)
                       : PyErr_Format(PyExc_SyntaxError, "source contains a null byte");
  Py_DECREF(file);
  w->is_module = 1;
  const int status = code == NULL ? -1 : write_value(w, code);
  Py_XDECREF(code);
  return status;
}

static int write_string_table(writer* w, buffer* table) {
  const Py_ssize_t count = PyList_GET_SIZE(w->strings);
  for (int pass = 0; pass < 2;
       ++pass) { /* all lengths, then all bytes: positions are known before the text is read */
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* bytes = PyUnicode_AsEncodedString(PyList_GET_ITEM(w->strings, i), "utf-8", "surrogatepass");
      if (bytes == NULL) return -1;
      if (pass == 0)
        put_varint(table, (uint64_t)PyBytes_GET_SIZE(bytes));
      else
        put(table, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
      Py_DECREF(bytes);
    }
  }
  return 0;
}

static void write_header(buffer* out, const writer* w, const buffer* table, size_t modules) {
  char id[32] = {0};
  memcpy(id, wvm_id, strlen(wvm_id));
  put(out, "WVMB\1\0\0\0", 8);
  put(out, id, sizeof id);
  put_u32(out, 0); /* checksum, filled in at the end */
  put_u32(out, (uint32_t)PyList_GET_SIZE(w->strings));
  put_u32(out, (uint32_t)table->size);
  put_u32(out, (uint32_t)table->size);
  put_u32(out, (uint32_t)modules);
  put(out, table->data, table->size);
}

static int write_all(writer* w, const wvm_source* sources, size_t count, int library, buffer* out) {
  buffer entries = {0}, table = {0};
  int status = 0;
  for (size_t i = 0; status == 0 && i < count; ++i) {
    PyObject* name = PyUnicode_FromString(sources[i].name);
    PyObject* file = PyUnicode_FromString(sources[i].file);
    const long name_number = name ? string_number(w, name) : -1,
               file_number = file ? string_number(w, file) : -1;
    const size_t before = w->out.size;
    if (name_number < 0 || file_number < 0 || write_module(w, &sources[i], library) < 0) status = -1;
    const uint32_t size = (uint32_t)(w->out.size - before);
    /* Packed and raw size are equal: nothing is deflated here; the build deflates the library afterwards. */
    const uint32_t entry[5] = {(uint32_t)name_number, (uint32_t)file_number,
                               (uint32_t)(sources[i].is_package != 0), size, size};
    for (int j = 0; j < 5; ++j) put_u32(&entries, entry[j]);
    Py_XDECREF(name);
    Py_XDECREF(file);
  }
  if (status == 0) status = write_string_table(w, &table);
  if (status == 0) {
    write_header(out, w, &table, count);
    put(out, entries.data, entries.size);
    put(out, w->out.data, w->out.size);
    if (out->failed || entries.failed || table.failed || w->out.failed) {
      PyErr_NoMemory();
      status = -1;
    }
  }
  if (status == 0) {
    /* The checksum stands at 40 and covers what lies behind it. */
    const uint32_t crc = wvm_checksum(out->data + 44, out->size - 44);
    for (int i = 0; i < 4; ++i) out->data[40 + i] = (uint8_t)(crc >> (8 * i));
  }
  free(entries.data);
  free(table.data);
  return status;
}

int wvm_write_container(const wvm_source* sources, size_t count, int library, wvm_blob* blob) {
  writer w = {.numbers = PyDict_New(), .strings = PyList_New(0), .keep_lines = !library};
  buffer out = {0};
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
