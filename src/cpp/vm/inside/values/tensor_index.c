/* t[...], t[...] = ..., and what iterating asks for. */
#include "vm/inside/run/failure.h"
#include "vm/inside/values/tensor.h"

static int read_item(PyObject* key, wvm_index* item) {
  if (key == Py_None) {
    item->kind = WVM_NEW_AXIS;
    return 0;
  }
  if (key == Py_Ellipsis) {
    item->kind = WVM_ELLIPSIS;
    return 0;
  }
  if (PySlice_Check(key)) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return -1;
    *item = (wvm_index){.kind = WVM_SLICE, .start = start, .stop = stop, .step = step};
    return 0;
  }
  const int is_array = wvm_is_tensor(key) && ((tensor_object*)key)->view.rank > 0;
  if (PyIndex_Check(key) && !PyBool_Check(key) && !is_array) {
    item->kind = WVM_INTEGER;
    item->start = PyNumber_AsSsize_t(key, PyExc_IndexError);
    return item->start == -1 && PyErr_Occurred() ? -1 : 0;
  }
  PyErr_Format(PyExc_IndexError,
               "an index is made of integers, slices, ... and None, not %.100s; for masks compute with the "
               "comparison, as in (t > 0) * t",
               Py_TYPE(key)->tp_name);
  return -1;
}

/* The number of items; -1 with an exception set. `integers`: how many of them are. */
static int read_key(PyObject* key, wvm_index* items, int* integers) {
  const int many = PyTuple_Check(key);
  const Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
  int ellipses = 0;
  *integers = 0;
  if (count > WVM_MAX_INDEX) {
    PyErr_Format(PyExc_IndexError, "%zd indices; at most %d", count, WVM_MAX_INDEX);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    items[i] = (wvm_index){0};
    if (read_item(many ? PyTuple_GET_ITEM(key, i) : key, &items[i]) < 0) return -1;
    *integers += items[i].kind == WVM_INTEGER;
    ellipses += items[i].kind == WVM_ELLIPSIS;
  }
  if (ellipses > 1) {
    PyErr_SetString(PyExc_IndexError, "an index has one ellipsis ('...') at most");
    return -1;
  }
  return (int)count;
}

/* 1: `out` is what the key names, `element` says whether that is a number; -1 with an exception set. */
static int look_up(const tensor_object* self, PyObject* key, wvm_view* out, int* element) {
  wvm_index items[WVM_MAX_INDEX];
  wvm_error error;
  int integers;
  const int count = read_key(key, items, &integers);
  if (count < 0) return -1;
  if (wvm_arrays_of_host()->index(&self->view, items, (size_t)count, out, &error) < 0) {
    wvm_raise(&error);
    return -1;
  }
  *element = integers == count && count == self->view.rank;
  return 1;
}

PyObject* wvm_tensor_at(PyObject* object, Py_ssize_t index) {
  tensor_object* self = (tensor_object*)object;
  wvm_view view = self->view;
  if (view.rank == 0) return PyErr_Format(PyExc_TypeError, "a tensor of rank 0 has no items; use item()");
  if (index < 0 || index >= view.shape[0])
    return PyErr_Format(PyExc_IndexError, "index %zd; the first axis has %lld", index,
                        (long long)view.shape[0]);
  view.offset += index * view.stride[0];
  if (view.rank == 1) return wvm_tensor_element(wvm_dtype_of(self), wvm_first(&view));
  --view.rank;
  memmove(view.shape, view.shape + 1, view.rank * sizeof view.shape[0]);
  memmove(view.stride, view.stride + 1, view.rank * sizeof view.stride[0]);
  return wvm_tensor_window(self, &view);
}

PyObject* wvm_tensor_subscript(PyObject* object, PyObject* key) {
  tensor_object* self = (tensor_object*)object;
  if (PyLong_CheckExact(key) && _PyLong_IsCompact((PyLongObject*)key) && self->view.rank > 0) {
    const Py_ssize_t index = _PyLong_CompactValue((PyLongObject*)key);
    return wvm_tensor_at(object, index < 0 ? index + (Py_ssize_t)self->view.shape[0] : index);
  }
  wvm_view view;
  int element;
  if (look_up(self, key, &view, &element) < 0) return NULL;
  if (element) return wvm_tensor_element(wvm_dtype_of(self), wvm_first(&view));
  return wvm_tensor_window(self, &view);
}

int wvm_tensor_set_subscript(PyObject* object, PyObject* key, PyObject* value) {
  tensor_object* self = (tensor_object*)object;
  if (value == NULL) {
    PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
    return -1;
  }
  wvm_view view;
  wvm_operand operand;
  wvm_error error;
  PyObject* kept = NULL;
  int element;
  if (wvm_refuse_write(self) < 0 || look_up(self, key, &view, &element) < 0) return -1;
  const int known = wvm_operand_from(value, &operand, &kept);
  if (known == 0)
    PyErr_Format(PyExc_TypeError, "a tensor holds numbers, not %.100s", Py_TYPE(value)->tp_name);
  int status = -1;
  if (known > 0) {
    status = wvm_arrays_of_host()->assign(&view, &operand, 0, &wvm_task_budget, &error);
    if (status < 0) wvm_raise(&error);
  }
  Py_XDECREF(kept);
  return status;
}
