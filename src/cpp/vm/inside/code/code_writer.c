/* Values and code objects, written the way code_reader.c reads them. Strings of all that one writer writes
 * share one table. */
#include "vm/inside/code/code_writer.h"
#include "vm/inside/code/bundle.h"

#include <internal/pycore_code.h>
#include <internal/pycore_opcode_metadata.h>

/* Errors are sticky: once memory was short nothing more is written, and write_all() asks at the end. */
void wvm_put(wvm_buffer* b, const void* data, size_t size) {
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

static void put_byte(wvm_buffer* b, uint8_t byte) { wvm_put(b, &byte, 1); }

void wvm_put_u32(wvm_buffer* b, uint32_t value) {
  const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                            (uint8_t)(value >> 24)};
  wvm_put(b, bytes, 4);
}

/* Seven bits a byte, lowest first: most numbers in code are below 128. */
void wvm_put_varint(wvm_buffer* b, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(b, (uint8_t)(value | 0x80));
  put_byte(b, (uint8_t)value);
}

long wvm_string_number(wvm_writer* w, PyObject* text) {
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

static int write_string(wvm_writer* w, PyObject* text) {
  const long number = wvm_string_number(w, text);
  if (number < 0) return -1;
  wvm_put_varint(&w->out, (uint64_t)number);
  return 0;
}

static int write_bytes(wvm_writer* w, PyObject* bytes) {
  wvm_put_varint(&w->out, (uint64_t)PyBytes_GET_SIZE(bytes));
  wvm_put(&w->out, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
  return 0;
}

/* As much as a bundle may hold once it is inflated (container.c). */
enum { kMaxWritten = 64 << 20 };

int wvm_write_value(wvm_writer* w, PyObject* value);

static int write_tuple(wvm_writer* w, PyObject* tuple, int (*item)(wvm_writer*, PyObject*)) {
  wvm_put_varint(&w->out, (uint64_t)PyTuple_GET_SIZE(tuple));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (item(w, PyTuple_GET_ITEM(tuple, i)) < 0) return -1;
  }
  return 0;
}

/* Without inline caches, which are zeros in fresh code: the reader puts them back. */
static int write_instructions(wvm_writer* w, PyCodeObject* code) {
  PyObject* bytes = _PyCode_GetCode(code);
  if (bytes == NULL) return -1;
  const uint8_t* full = (const uint8_t*)PyBytes_AS_STRING(bytes);
  const Py_ssize_t size = PyBytes_GET_SIZE(bytes);
  Py_ssize_t packed = 0;
  for (Py_ssize_t i = 0; i < size; i += 2 + 2 * _PyOpcode_Caches[full[i]]) packed += 2;
  wvm_put_varint(&w->out, (uint64_t)packed);
  for (Py_ssize_t i = 0; i < size; i += 2 + 2 * _PyOpcode_Caches[full[i]]) wvm_put(&w->out, full + i, 2);
  Py_DECREF(bytes);
  return 0;
}

/* Nearly all qualified names follow from the scope and need not be stored (see code_reader.c). 1, 0 or -1. */
static int name_follows(const wvm_writer* w, const PyCodeObject* code) {
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

static int write_qualified_name(wvm_writer* w, PyCodeObject* code) {
  const int follows = name_follows(w, code);
  const long number = follows == 0 ? wvm_string_number(w, code->co_qualname) : -1;
  if (follows < 0 || (follows == 0 && number < 0)) return -1;
  wvm_put_varint(&w->out, (uint64_t)(number + 1));
  return 0;
}

static int write_constants(wvm_writer* w, const PyCodeObject* code) {
  const wvm_writer outer = *w; /* the scope to come back to */
  w->inside = w->is_module ? NULL : code;
  w->is_module = 0;
  const int status = write_tuple(w, code->co_consts, wvm_write_value);
  w->inside = outer.inside;
  w->is_module = outer.is_module;
  return status;
}

static int write_code(wvm_writer* w, PyCodeObject* code) {
  wvm_put_varint(&w->out, (uint64_t)code->co_argcount);
  wvm_put_varint(&w->out, (uint64_t)code->co_posonlyargcount);
  wvm_put_varint(&w->out, (uint64_t)code->co_kwonlyargcount);
  wvm_put_varint(&w->out, (uint64_t)code->co_stacksize);
  wvm_put_varint(&w->out, (uint64_t)code->co_flags);
  wvm_put_varint(&w->out, (uint64_t)code->co_firstlineno);
  if (write_string(w, code->co_name) < 0 || write_qualified_name(w, code) < 0 ||
      write_instructions(w, code) < 0 || write_constants(w, code) < 0 ||
      write_tuple(w, code->co_names, write_string) < 0 ||
      write_tuple(w, code->co_localsplusnames, write_string) < 0) {
    return -1;
  }
  wvm_put(&w->out, PyBytes_AS_STRING(code->co_localspluskinds),
          (size_t)PyBytes_GET_SIZE(code->co_localspluskinds));
  if (w->keep_lines)
    write_bytes(w, code->co_linetable);
  else
    wvm_put_varint(&w->out, 0);
  return write_bytes(w, code->co_exceptiontable);
}

static int write_long(wvm_writer* w, PyObject* value) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) {
    put_byte(&w->out, 'i'); /* zigzag, so that small negative numbers are short as well */
    wvm_put_varint(&w->out, ((uint64_t)small << 1) ^ (uint64_t)(small >> 63));
    return 0;
  }
  const size_t size = _PyLong_NumBits(value) / 8 + 1; /* with room for the sign */
  uint8_t* bytes = malloc(size);
  int status = bytes == NULL ? -1 : _PyLong_AsByteArray((PyLongObject*)value, bytes, size, 1, 1, 1);
  if (status == 0) {
    put_byte(&w->out, 'I');
    wvm_put_varint(&w->out, size);
    wvm_put(&w->out, bytes, size);
  }
  free(bytes);
  return status;
}

/* Frozen sets iterate in hash order, which differs from run to run; sorted by representation the build is
 * reproducible. */
static int write_set(wvm_writer* w, PyObject* set) {
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
    status = write_tuple(w, tuple, wvm_write_value);
  }
  PyObject* parts[] = {items, sort, named, none, done, tuple};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) Py_XDECREF(parts[i]);
  return status;
}

static int write_nested(wvm_writer* w, PyObject* value) {
  if (PyFrozenSet_CheckExact(value)) return write_set(w, value);
  const int is_code = PyCode_Check(value);
  put_byte(&w->out, is_code ? 'C' : '(');
  return is_code ? write_code(w, (PyCodeObject*)value) : write_tuple(w, value, wvm_write_value);
}

int wvm_write_value(wvm_writer* w, PyObject* value) {
  if (value == Py_None || value == Py_True || value == Py_False || value == Py_Ellipsis) {
    put_byte(&w->out, value == Py_None ? 'N' : value == Py_True ? 'T' : value == Py_False ? 'F' : 'E');
    return 0;
  }
  if (PyLong_CheckExact(value)) return write_long(w, value);
  if (PyFloat_CheckExact(value) || PyComplex_CheckExact(value)) {
    const double parts[2] = {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    put_byte(&w->out, PyFloat_CheckExact(value) ? 'd' : 'c');
    wvm_put(&w->out, parts, PyFloat_CheckExact(value) ? 8 : 16);
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
  if (PyTuple_CheckExact(value) || PyFrozenSet_CheckExact(value) || PyCode_Check(value)) {
    if (w->out.size > kMaxWritten) {
      PyErr_SetString(PyExc_ValueError,
                      "constants of more than 64 MB, shared parts counted as often as named");
      return -1;
    }
    if (Py_EnterRecursiveCall(" while writing a constant")) return -1;
    const int status = write_nested(w, value);
    Py_LeaveRecursiveCall();
    return status;
  }
  PyErr_Format(PyExc_TypeError, "constant of type %.100s", Py_TYPE(value)->tp_name);
  return -1;
}

int wvm_write_strings(const wvm_writer* w, wvm_buffer* table, uint32_t* offsets) {
  const Py_ssize_t count = PyList_GET_SIZE(w->strings);
  uint32_t end = 0;
  /* All lengths, then all bytes: positions are known before the text is read. */
  for (int pass = 0; pass < 2; ++pass) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* bytes = PyUnicode_AsEncodedString(PyList_GET_ITEM(w->strings, i), "utf-8", "surrogatepass");
      if (bytes == NULL) return -1;
      if (pass == 1)
        wvm_put(table, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
      else if (offsets == NULL)
        wvm_put_varint(table, (uint64_t)PyBytes_GET_SIZE(bytes));
      else
        offsets[i + 1] = end += (uint32_t)PyBytes_GET_SIZE(bytes);
      Py_DECREF(bytes);
    }
  }
  return 0;
}
