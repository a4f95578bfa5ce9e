/* walle.Tensor(values, dtype=None) and walle.Tensor(dtype, shape, data=None). Numbers come from lists,
 * tuples, other tensors and anything with a buffer. */
#include "vm/inside/run/failure.h"
#include "vm/inside/run/host.h"
#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/memory.h"
#include "vm/inside/values/tensor.h"

static tensor_object* allocate(int dtype, int rank, const int64_t* shape) {
  wvm_view view = {.rank = (uint8_t)rank};
  int64_t bytes = wvm_dtypes[dtype].size;
  for (int axis = rank - 1; axis >= 0; --axis) {
    view.shape[axis] = shape[axis];
    view.stride[axis] = bytes / wvm_dtypes[dtype].size;
    if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) {
      PyErr_SetString(PyExc_MemoryError,
                      "a tensor of more bytes than 64 bits count: give it a smaller shape");
      return NULL;
    }
  }
  if (wvm_charge((size_t)bytes, 1) < 0) {
    PyErr_Format(PyExc_MemoryError, "a tensor of %lld bytes, beyond the heap limit of the task",
                 (long long)bytes);
    return NULL;
  }
  view.tensor = wvm_host_table()->allocate_tensor((uint8_t)dtype, (uint8_t)rank, shape);
  if (view.tensor == NULL) {
    wvm_discharge((size_t)bytes);
    PyErr_NoMemory();
    return NULL;
  }
  return (tensor_object*)wvm_tensor_result(&view);
}

/* The shape of nested lists, from the first item of each level. -1 with an exception set. */
static int nested_shape(PyObject* values, int64_t* shape) {
  int rank = 0;
  while (PyList_Check(values) || PyTuple_Check(values)) {
    if (rank == WVM_MAX_RANK) {
      PyErr_Format(PyExc_ValueError, "lists nest deeper than %d", WVM_MAX_RANK);
      return -1;
    }
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(values);
    shape[rank++] = size;
    if (size == 0) break;
    values = PySequence_Fast_GET_ITEM(values, 0);
  }
  return rank;
}

/* What walking nested lists does with each number. Nothing in it runs code of the task, so that no list can
 * change meanwhile; but allocating may, hence every size is looked at again. */
typedef struct {
  const int64_t* shape;
  int rank;
  int dtype; /* bool, int64 or float64: grows as numbers ask for it, while `out` is NULL */
  char* out; /* where the numbers go */
} nested;

static int take_number(nested* into, PyObject* number) {
  const int is_float = PyFloat_Check(number);
  const int is_bool = PyBool_Check(number);
  if (!is_float && !PyLong_Check(number)) {
    const int deep = PyList_Check(number) || PyTuple_Check(number);
    PyErr_Format(deep ? PyExc_ValueError : PyExc_TypeError,
                 deep ? "the lists are not equally deep" : "a tensor is made of numbers, not %.100s",
                 Py_TYPE(number)->tp_name);
    return -1;
  }
  if (into->out == NULL) {
    if (is_float) into->dtype = WVM_float64;
    if (!is_float && !is_bool && into->dtype == WVM_boolean) into->dtype = WVM_int64;
    return 0;
  }
  if (into->dtype == WVM_boolean) {
    *into->out++ = number == Py_True;
    return 0;
  }
  if (into->dtype == WVM_float64) {
    const double value = is_float ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred()) return -1;
    memcpy(into->out, &value, sizeof value);
  } else {
    const long long value = is_float ? (long long)PyFloat_AS_DOUBLE(number) : PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred()) return -1;
    memcpy(into->out, &value, sizeof value);
  }
  into->out += sizeof(double);
  return 0;
}

static int walk(nested* into, PyObject* values, int axis) {
  if (axis == into->rank) return take_number(into, values);
  if (wvm_interrupted()) return -1;
  const int sequence = PyList_Check(values) || PyTuple_Check(values);
  if (!sequence || PySequence_Fast_GET_SIZE(values) != into->shape[axis]) {
    PyErr_SetString(PyExc_ValueError, "the lists are not equally long and deep");
    return -1;
  }
  for (int64_t i = 0; i < into->shape[axis]; ++i) {
    if (walk(into, PySequence_Fast_GET_ITEM(values, (Py_ssize_t)i), axis + 1) < 0) return -1;
  }
  return 0;
}

/* `self` as `dtype`; integers that it cannot hold are an error, as each number alone would be. */
static PyObject* as_dtype(tensor_object* self, int dtype) {
  if (self == NULL || dtype == 0 || dtype == wvm_dtype_of(self)) return (PyObject*)self;
  wvm_view out;
  wvm_error error;
  PyObject* result = NULL;
  if (wvm_arrays_of_host()->convert(&self->view, (uint8_t)dtype, &wvm_task_budget, &out, &error) == 0)
    result = wvm_tensor_result(&out);
  else
    wvm_raise(&error);
  Py_DECREF(self);
  return result;
}

PyObject* wvm_tensor_from_nested(PyObject* values, int dtype) {
  int64_t shape[WVM_MAX_RANK];
  nested into = {.shape = shape, .rank = nested_shape(values, shape), .dtype = WVM_boolean};
  if (into.rank < 0 || walk(&into, values, 0) < 0) return NULL;
  int64_t elements = 1;
  for (int axis = 0; axis < into.rank; ++axis) elements *= shape[axis];
  if (elements == 0) into.dtype = WVM_float64;
  tensor_object* self = allocate(into.dtype, into.rank, shape);
  if (self == NULL) return NULL;
  into.out = self->view.tensor->data;
  if (walk(&into, values, 0) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return as_dtype(self, dtype);
}

static int dtype_of_format(const char* format) {
  const char code = format == NULL ? 'B' : format[format[0] == '@' || format[0] == '=' || format[0] == '<'];
  if (code == 'l') return WVM_int64; /* what array.array calls a long */
  if (code == 'L') return WVM_uint64;
  for (int dtype = 1; dtype <= WVM_boolean; ++dtype) {
    if (wvm_dtypes[dtype].format[0] == code && dtype != WVM_bfloat16) return dtype;
  }
  PyErr_Format(PyExc_TypeError, "a buffer of format '%.20s' holds no numbers of a known dtype", format);
  return -1;
}

static PyObject* from_buffer(PyObject* values, int dtype) {
  Py_buffer view;
  if (PyObject_GetBuffer(values, &view, PyBUF_FULL_RO) < 0) return NULL;
  const int found = dtype_of_format(view.format);
  int64_t shape[WVM_MAX_RANK];
  tensor_object* self = NULL;
  if (found > 0 && (view.ndim > WVM_MAX_RANK || view.itemsize != wvm_dtypes[found].size)) {
    PyErr_SetString(PyExc_ValueError, "a buffer of too many axes, or of elements of another size");
  } else if (found > 0) {
    for (int axis = 0; axis < view.ndim; ++axis) shape[axis] = view.shape[axis];
    self = allocate(found, view.ndim, shape);
    if (self != NULL && PyBuffer_ToContiguous(self->view.tensor->data, &view, view.len, 'C') < 0)
      Py_CLEAR(self);
  }
  PyBuffer_Release(&view);
  return as_dtype(self, dtype);
}

static PyObject* from_values(PyObject* values, int dtype) {
  if (wvm_is_tensor(values)) {
    PyObject* copy = PyObject_CallMethod(values, "copy", NULL);
    return as_dtype((tensor_object*)copy, dtype);
  }
  if (PyObject_CheckBuffer(values)) return from_buffer(values, dtype);
  return wvm_tensor_from_nested(values, dtype);
}

static int shape_from(PyObject* object, int64_t* shape) {
  PyObject* items = PyLong_Check(object) ? PyTuple_Pack(1, object)
                                         : PySequence_Fast(object, "shape is a sequence of integers");
  if (items != NULL && PyList_Check(items))
    Py_SETREF(items, PyList_AsTuple(items)); /* an item's __index__ could shorten a list */
  if (items == NULL) return -1;
  const Py_ssize_t rank = PySequence_Fast_GET_SIZE(items);
  int ok = rank <= WVM_MAX_RANK;
  if (!ok) PyErr_Format(PyExc_ValueError, "rank %zd; at most %d", rank, WVM_MAX_RANK);
  for (Py_ssize_t i = 0; ok && i < rank; ++i) {
    shape[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i));
    if (shape[i] < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "dimensions are not negative");
      ok = 0;
    }
  }
  Py_DECREF(items);
  return ok ? (int)rank : -1;
}

static int fill_from(wvm_tensor* tensor, PyObject* data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return -1;
  const int fits = view.len == tensor->bytes;
  if (fits)
    memcpy(tensor->data, view.buf, (size_t)view.len);
  else
    PyErr_Format(PyExc_ValueError, "%zd bytes given; the shape needs %lld", view.len,
                 (long long)tensor->bytes);
  PyBuffer_Release(&view);
  return fits ? 0 : -1;
}

/* Zeros, or a copy of contiguous bytes. */
static PyObject* from_shape(const char* dtype_name, PyObject* shape_object, PyObject* data) {
  int64_t shape[WVM_MAX_RANK];
  const int dtype = wvm_dtype_named(dtype_name);
  const int rank = dtype < 0 ? -1 : shape_from(shape_object, shape);
  tensor_object* self = rank < 0 ? NULL : allocate(dtype, rank, shape);
  if (self == NULL) return NULL;
  wvm_tensor* tensor = self->view.tensor;
  if (data == Py_None)
    memset(tensor->data, 0, (size_t)tensor->bytes);
  else if (fill_from(tensor, data) < 0)
    Py_CLEAR(self);
  return (PyObject*)self;
}

PyObject* wvm_tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)type; /* has no subclasses */
  static char* by_shape[] = {"dtype", "shape", "data", NULL};
  static char* by_values[] = {"values", "dtype", NULL};
  PyObject *first = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL, *data = Py_None;
  const int named = first == NULL && kwargs != NULL && PyDict_GetItemString(kwargs, "values") == NULL;
  const char* dtype_name = NULL;
  if (named || (first != NULL && PyUnicode_Check(first))) {
    PyObject* shape;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|O", by_shape, &dtype_name, &shape, &data)) return NULL;
    return from_shape(dtype_name, shape, data);
  }
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|z", by_values, &first, &dtype_name)) return NULL;
  const int dtype = dtype_name ? wvm_dtype_named(dtype_name) : 0;
  return dtype < 0 ? NULL : from_values(first, dtype);
}
