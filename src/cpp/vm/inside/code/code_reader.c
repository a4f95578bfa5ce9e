/* Builds code objects out of checked container bytes: inline caches, which the container leaves out, come
 * back as zeros, names are interned. Structure was verified (bundles) or is our own build's (library), but
 * memory may still run out. */
#include "vm/inside/code/bundle.h"
#include "vm/inside/code/bytes.h"

#include <internal/pycore_code.h>
#include <internal/pycore_opcode_metadata.h>

/* The function or class around a code object. */
typedef struct {
  PyObject* name;
  int is_function;
  PyObject* prefix; /* "name.<locals>." or "name.", made when first asked for */
} scope;

typedef struct {
  wvm_reader r;
  const wvm_bundle* bundle;
  PyObject* file;
  scope* inside; /* NULL: directly in the module */
  int is_module;
} build;

static PyObject* string_at(const build* b, uint32_t number, int intern) {
  if (number >= b->bundle->string_count) {
    PyErr_SetString(PyExc_ImportError, "damaged string number");
    return NULL;
  }
  const uint32_t at = b->bundle->string_offsets[number];
  PyObject* text =
      PyUnicode_DecodeUTF8((const char*)b->bundle->string_pool + at,
                           (Py_ssize_t)(b->bundle->string_offsets[number + 1] - at), "surrogatepass");
  if (text != NULL && intern) PyUnicode_InternInPlace(&text);
  return text;
}

static PyObject* take_string(build* b, int intern) { return string_at(b, take_varint(&b->r), intern); }

static PyObject* scope_prefix(scope* s) {
  if (s->prefix == NULL) s->prefix = PyUnicode_FromFormat(s->is_function ? "%U.<locals>." : "%U.", s->name);
  return s->prefix;
}

/* 0: follows from the scope and the name, as it does in all but a few cases; otherwise a string's number plus
 * one. */
static PyObject* take_qualified_name(build* b, PyObject* name) {
  const uint32_t stored = take_varint(&b->r);
  if (stored != 0) return string_at(b, stored - 1, 1);
  if (b->inside == NULL) return Py_NewRef(name);
  PyObject* prefix = scope_prefix(b->inside);
  PyObject* full = prefix ? PyUnicode_Concat(prefix, name) : NULL;
  /* Nested scopes of long names would make texts that grow with the square of a file. */
  if (full != NULL && PyUnicode_GET_LENGTH(full) > WVM_DERIVED_NAME) {
    Py_DECREF(full);
    return PyErr_Format(PyExc_ImportError, "a qualified name is too long to be derived");
  }
  if (full != NULL) PyUnicode_InternInPlace(&full);
  return full;
}

static PyObject* take_bytes(build* b) {
  const uint32_t size = take_count(&b->r);
  return PyBytes_FromStringAndSize((const char*)take_block(&b->r, size), size);
}

static PyObject* take_value(build* b);

static PyObject* take_tuple(build* b, PyObject* (*item)(build*)) {
  const uint32_t count = take_count(&b->r);
  PyObject* tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple != NULL && i < count; ++i) {
    PyObject* value = item(b);
    if (value == NULL)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, i, value);
  }
  return tuple;
}

static PyObject* take_name(build* b) { return take_string(b, 1); }

/* Every instruction is followed by as many zero units as its inline cache needs. */
static PyObject* take_instructions(build* b) {
  const uint32_t size = take_count(&b->r);
  const uint8_t* packed = take_block(&b->r, size);
  Py_ssize_t full = 0;
  for (uint32_t i = 0; i + 1 < size; i += 2) full += 2 + 2 * _PyOpcode_Caches[packed[i]];
  PyObject* code = PyBytes_FromStringAndSize(NULL, full);
  if (code == NULL) return NULL;
  char* out = PyBytes_AS_STRING(code);
  memset(out, 0, (size_t)full);
  for (uint32_t i = 0; i + 1 < size; i += 2) {
    out[0] = (char)packed[i];
    out[1] = (char)packed[i + 1];
    out += 2 + 2 * _PyOpcode_Caches[packed[i]];
  }
  return code;
}

static PyObject* finish_code(struct _PyCodeConstructor* c) {
  PyObject* code = NULL;
  const int complete = c->name && c->qualname && c->code && c->consts && c->names && c->localsplusnames &&
                       c->localspluskinds && c->linetable && c->exceptiontable;
  /* CPython's own check as well: it knows what its next version will want of a code object. */
  if (complete && _PyCode_Validate(c) == 0) code = (PyObject*)_PyCode_New(c);
  PyObject* parts[] = {
      c->name,      c->qualname,      c->code, c->consts, c->names, c->localsplusnames, c->localspluskinds,
      c->linetable, c->exceptiontable};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) Py_XDECREF(parts[i]);
  if (code == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "damaged code object");
  return code;
}

/* Among a code object's constants are those of its inner functions and classes; what a module holds has no
 * prefix. */
static PyObject* take_constants(build* b, const struct _PyCodeConstructor* c) {
  scope here = {.name = c->qualname, .is_function = (c->flags & CO_OPTIMIZED) != 0};
  scope* outer = b->inside;
  const int is_module = b->is_module;
  b->inside = is_module ? NULL : &here;
  b->is_module = 0;
  PyObject* constants = take_tuple(b, take_value);
  b->inside = outer;
  b->is_module = is_module;
  Py_XDECREF(here.prefix);
  return constants;
}

static PyObject* take_code(build* b) {
  struct _PyCodeConstructor c = {.filename = b->file};
  c.argcount = (int)take_varint(&b->r);
  c.posonlyargcount = (int)take_varint(&b->r);
  c.kwonlyargcount = (int)take_varint(&b->r);
  c.stacksize = (int)take_varint(&b->r);
  c.flags = (int)take_varint(&b->r) & ~WVM_LIBRARY_CODE;
  if (b->bundle == wvm_library()) c.flags |= WVM_LIBRARY_CODE;
  c.firstlineno = (int)take_varint(&b->r);
  if ((c.name = take_string(b, 1)) && (c.qualname = take_qualified_name(b, c.name)) &&
      (c.code = take_instructions(b)) && (c.consts = take_constants(b, &c)) &&
      (c.names = take_tuple(b, take_name)) && (c.localsplusnames = take_tuple(b, take_name))) {
    const size_t kinds = (size_t)PyTuple_GET_SIZE(c.localsplusnames);
    c.localspluskinds = PyBytes_FromStringAndSize((const char*)take_block(&b->r, kinds), (Py_ssize_t)kinds);
    c.linetable = take_bytes(b);
    c.exceptiontable = take_bytes(b);
  }
  return finish_code(&c);
}

static PyObject* take_number(build* b, uint8_t tag) {
  if (tag == 'i') {
    const uint64_t zigzag = take_varint64(&b->r);
    return PyLong_FromLongLong((long long)(zigzag >> 1) ^ -(long long)(zigzag & 1));
  }
  if (tag == 'I') {
    const uint32_t size = take_count(&b->r);
    return _PyLong_FromByteArray(take_block(&b->r, size), size, 1, 1);
  }
  double parts[2] = {0, 0};
  const size_t size = tag == 'd' ? 8 : 16;
  /* The library is not verified, and the bytes are copied. */
  if (reader_left(&b->r) < size) return PyErr_Format(PyExc_ImportError, "damaged number");
  memcpy(parts, take_block(&b->r, size), size);
  return tag == 'd' ? PyFloat_FromDouble(parts[0]) : PyComplex_FromDoubles(parts[0], parts[1]);
}

static PyObject* take_value(build* b) {
  const uint8_t tag = take_byte(&b->r);
  switch (tag) {
    case 'N': return Py_NewRef(Py_None);
    case 'T': return Py_NewRef(Py_True);
    case 'F': return Py_NewRef(Py_False);
    case 'E': return Py_NewRef(Py_Ellipsis);
    case 'i':
    case 'I':
    case 'd':
    case 'c': return take_number(b, tag);
    case 's': return take_string(b, 0);
    case 'n': return take_string(b, 1);
    case 'b': return take_bytes(b);
    case '(': return take_tuple(b, take_value);
    case '<': {
      PyObject* items = take_tuple(b, take_value);
      PyObject* set = items ? PyFrozenSet_New(items) : NULL;
      Py_XDECREF(items);
      return set;
    }
    case 'C': return take_code(b);
    default: return PyErr_Format(PyExc_ImportError, "unknown value tag %d", tag);
  }
}

PyObject* wvm_read_module(wvm_bundle* bundle, wvm_module* module) {
  const uint8_t* raw = wvm_module_bytes(module);
  if (raw == NULL) return PyErr_Format(PyExc_ImportError, "a module of the container does not inflate");
  build b = {.r = {raw, raw + module->raw_size, NULL}, .bundle = bundle, .is_module = 1};
  b.file = string_at(&b, module->file, 1);
  if (b.file == NULL) return NULL;
  PyObject* code = take_value(&b);
  Py_DECREF(b.file);
  /* A reader that ran over its end gave zeros: whatever was made of them is thrown away. */
  if (code != NULL && (b.r.failed != NULL || !PyCode_Check(code))) {
    PyErr_Format(PyExc_ImportError, "damaged module: %s", b.r.failed ? b.r.failed : "not code");
    Py_CLEAR(code);
  }
  return code;
}
