/* Values across the boundary: none, bool, int (64 bit), float, str, bytes, list, map with str keys, tensor,
 * and large bytes as a shared buffer that a task sees as a memoryview. Anything else is an error that names
 * the type; nesting is bounded so that a self-containing list is an error too. */
#include "vm/inside/values/values.h"
#include "vm/inside/run/arena.h"
#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/memory.h"
#include "vm/inside/values/tensor.h"

/* As deep as the host's converters go (pybind/vm_values.cc, capi/vm_values.cc): they recurse over the same
 * value, on a stack that this side does not know. */
enum { kMaxDepth = 64 };

static PyObject* list_to_python(const wvm_value* value) {
  PyObject* list = PyList_New((Py_ssize_t)value->size);
  for (size_t i = 0; list != NULL && i < value->size; ++i) {
    PyObject* item = wvm_to_python(&value->as.items[i]);
    if (item == NULL) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject* map_to_python(const wvm_value* value) {
  PyObject* map = PyDict_New();
  for (size_t i = 0; map != NULL && i < value->size; ++i) {
    PyObject* key = wvm_to_python(&value->as.items[2 * i]);
    PyObject* item = key ? wvm_to_python(&value->as.items[2 * i + 1]) : NULL;
    if (item == NULL || PyDict_SetItem(map, key, item) < 0) Py_CLEAR(map);
    Py_XDECREF(key);
    Py_XDECREF(item);
  }
  return map;
}

static PyObject* buffer_to_python(wvm_tensor* shared) {
  PyObject* tensor = wvm_tensor_wrap(shared, 0);
  PyObject* view = tensor ? PyMemoryView_FromObject(tensor) : NULL;
  Py_XDECREF(tensor);
  return view;
}

PyObject* wvm_to_python(const wvm_value* value) {
  switch (value->kind) {
    case WVM_NONE: return Py_NewRef(Py_None);
    case WVM_BOOL: return PyBool_FromLong(value->as.integer != 0);
    case WVM_INT: return PyLong_FromLongLong(value->as.integer);
    case WVM_FLOAT: return PyFloat_FromDouble(value->as.real);
    case WVM_STR: return PyUnicode_DecodeUTF8(value->as.text, (Py_ssize_t)value->size, "strict");
    case WVM_BYTES: return PyBytes_FromStringAndSize(value->as.text, (Py_ssize_t)value->size);
    case WVM_LIST: return list_to_python(value);
    case WVM_MAP: return map_to_python(value);
    case WVM_TENSOR: return wvm_tensor_wrap(value->as.tensor, wvm_current && wvm_current->charging);
    case WVM_BUFFER: return buffer_to_python(value->as.tensor);
    default: PyErr_SetString(PyExc_SystemError, "value of unknown kind"); return NULL;
  }
}

static int from_python(PyObject* object, wvm_value* value, void** arena, int depth);

/* Counted against the task's heap limit until wvm_values_left(): a part that is named often is copied as
 * often. */
static void* take(void** arena, size_t size) {
  if (wvm_charge(size, 0) < 0) return NULL; /* finalisers could change what is being converted */
  wvm_current->leaving += size;
  void* piece = wvm_arena_take(arena, size);
  if (piece == NULL) PyErr_NoMemory();
  return piece;
}

static int text_from(const char* text, Py_ssize_t size, int kind, wvm_value* value, void** arena) {
  char* copy = take(arena, (size_t)size + 1);
  if (copy == NULL) return -1;
  memcpy(copy, text, (size_t)size);
  copy[size] = 0;
  *value = (wvm_value){.kind = (uint64_t)kind, .size = (uint64_t)size, .as.text = copy};
  return 0;
}

static int sequence_from(PyObject* object, wvm_value* value, void** arena, int depth) {
  const size_t count = (size_t)PySequence_Fast_GET_SIZE(object);
  wvm_value* items = take(arena, count * sizeof(wvm_value));
  if (items == NULL) return -1;
  for (size_t i = 0; i < count; ++i) {
    if (from_python(PySequence_Fast_GET_ITEM(object, (Py_ssize_t)i), &items[i], arena, depth + 1) < 0)
      return -1;
  }
  *value = (wvm_value){.kind = WVM_LIST, .size = count, .as.items = items};
  return 0;
}

static int map_from(PyObject* object, wvm_value* value, void** arena, int depth) {
  const size_t count = (size_t)PyDict_GET_SIZE(object);
  wvm_value* items = take(arena, 2 * count * sizeof(wvm_value));
  if (items == NULL) return -1;
  PyObject *key, *item;
  Py_ssize_t position = 0;
  for (size_t i = 0; i < count && PyDict_Next(object, &position, &key, &item); ++i) {
    if (!PyUnicode_Check(key)) {
      PyErr_Format(PyExc_TypeError, "maps that leave a task have str keys, not %.100s",
                   Py_TYPE(key)->tp_name);
      return -1;
    }
    if (from_python(key, &items[2 * i], arena, depth + 1) < 0) return -1;
    if (from_python(item, &items[2 * i + 1], arena, depth + 1) < 0) return -1;
  }
  *value = (wvm_value){.kind = WVM_MAP, .size = count, .as.items = items};
  return 0;
}

static int long_from(PyObject* object, wvm_value* value) {
  int overflow = 0;
  const long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow) {
    PyErr_SetString(PyExc_OverflowError, "integers that leave a task fit 64 bits");
    return -1;
  }
  *value = (wvm_value){.kind = WVM_INT, .as.integer = integer};
  return 0;
}

/* The host makes an array of each, in 35 us: when the task has ended, and no limit counts any more. */
static int count_tensor(void) {
  if (++wvm_current->leaving_tensors <= WVM_MAX_TENSORS) return 0;
  PyErr_Format(PyExc_ValueError, "values that leave a task hold at most %d tensors and views of buffers",
               WVM_MAX_TENSORS);
  return -1;
}

/* A view of all bytes of a native buffer shares it; any other view of bytes is copied. */
static int view_from(PyObject* object, wvm_value* value, void** arena) {
  Py_buffer view;
  if (count_tensor() < 0) return -1;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) return -1; /* a released view says so */
  PyObject* exporter = PyMemoryView_GET_BASE(object);
  wvm_tensor* tensor = exporter && wvm_is_tensor(exporter) ? ((tensor_object*)exporter)->view.tensor : NULL;
  int status = -1;
  if (view.itemsize != 1) {
    PyErr_SetString(
        PyExc_TypeError,
        "a memoryview that leaves a task has elements of one byte: use cast('B') or a walle.Tensor");
  } else if (tensor != NULL && view.len == tensor->bytes && PyBuffer_IsContiguous(&view, 'C')) {
    *value = (wvm_value){.kind = WVM_BUFFER, .as.tensor = tensor};
    status = 0;
  } else {
    char* copy = take(arena, (size_t)view.len + 1);
    *value = (wvm_value){.kind = WVM_BYTES, .size = (uint64_t)view.len, .as.text = copy};
    status = copy == NULL ? -1 : PyBuffer_ToContiguous(copy, &view, view.len, 'C');
  }
  PyBuffer_Release(&view);
  return status;
}

/* A view that is not dense leaves as a copy, which is counted while the conversion lasts. */
static int tensor_from(PyObject* object, wvm_value* value, void** arena) {
  const tensor_object* self = (tensor_object*)object;
  if (count_tensor() < 0) return -1;
  if (!wvm_is_dense(&self->view)) {
    const size_t bytes = (size_t)wvm_elements(&self->view) * wvm_dtypes[wvm_dtype_of(self)].size;
    if (wvm_charge(bytes, 0) < 0) return -1;
    wvm_current->leaving += bytes;
  }
  wvm_tensor* tensor = wvm_tensor_of(object, arena);
  *value = (wvm_value){.kind = WVM_TENSOR, .as.tensor = tensor};
  return tensor == NULL ? -1 : 0;
}

static int from_python(PyObject* object, wvm_value* value, void** arena, int depth) {
  if (depth > kMaxDepth) {
    PyErr_Format(PyExc_ValueError, "values that leave a task nest at most %d deep", kMaxDepth);
    return -1;
  }
  if (wvm_interrupted()) return -1;
  if (object == Py_None) {
    *value = (wvm_value){.kind = WVM_NONE};
    return 0;
  }
  if (PyBool_Check(object)) {
    *value = (wvm_value){.kind = WVM_BOOL, .as.integer = object == Py_True};
    return 0;
  }
  if (PyLong_Check(object)) return long_from(object, value);
  if (PyFloat_Check(object)) {
    *value = (wvm_value){.kind = WVM_FLOAT, .as.real = PyFloat_AS_DOUBLE(object)};
    return 0;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    return text == NULL ? -1 : text_from(text, size, WVM_STR, value, arena);
  }
  if (PyBytes_Check(object))
    return text_from(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object), WVM_BYTES, value, arena);
  if (PyByteArray_Check(object)) {
    return text_from(PyByteArray_AS_STRING(object), PyByteArray_GET_SIZE(object), WVM_BYTES, value, arena);
  }
  if (PyList_Check(object) || PyTuple_Check(object)) return sequence_from(object, value, arena, depth);
  if (PyDict_Check(object)) return map_from(object, value, arena, depth);
  if (PyMemoryView_Check(object)) return view_from(object, value, arena);
  if (wvm_is_tensor(object)) return tensor_from(object, value, arena);
  PyErr_Format(
      PyExc_TypeError,
      "a task cannot return %.100s: use None, bool, int, float, str, bytes, list, dict or walle.Tensor",
      Py_TYPE(object)->tp_name);
  return -1;
}

int wvm_from_python(PyObject* object, wvm_value* value, void** arena) {
  return from_python(object, value, arena, 0);
}

void wvm_values_left(wvm_isolate* isolate) {
  if (isolate->leaving != 0) wvm_discharge(isolate->leaving);
  isolate->leaving = 0;
  isolate->leaving_tensors = 0;
}
