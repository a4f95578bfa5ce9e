/* Methods of walle.Tensor, and its conversions to single numbers. */
#include "vm/inside/run/failure.h"
#include "vm/inside/values/tensor.h"

static PyObject* raised(const wvm_error* error) {
  wvm_raise(error);
  return NULL;
}

static const wvm_view* view_of(PyObject* object) { return &((tensor_object*)object)->view; }

/* One axis as written, from the end when negative. */
static int read_axis(PyObject* object, int rank) {
  const long axis = PyLong_AsLong(object);
  if (axis == -1 && PyErr_Occurred()) return -1;
  if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
  PyErr_Format(PyExc_IndexError, "axis %ld; the tensor has %d", axis, rank);
  return -1;
}

/* None: all axes. Otherwise one or a tuple of them, each once. */
static int read_axes(PyObject* object, int rank, uint32_t* mask) {
  *mask = (1u << rank) - 1;
  if (object == NULL || object == Py_None) return 0;
  const int many = PyTuple_Check(object);
  *mask = 0;
  for (Py_ssize_t i = 0; i < (many ? PyTuple_GET_SIZE(object) : 1); ++i) {
    const int axis = read_axis(many ? PyTuple_GET_ITEM(object, i) : object, rank);
    if (axis < 0) return -1;
    if (*mask >> axis & 1) {
      PyErr_Format(PyExc_ValueError, "axis %d is named twice", axis);
      return -1;
    }
    *mask |= 1u << axis;
  }
  return 0;
}

/* A number where no axis is left, as for t.sum(). */
static PyObject* number_or_tensor(const wvm_view* out) {
  PyObject* made = wvm_tensor_result(out);
  if (made == NULL || out->rank > 0) return made;
  PyObject* number = wvm_tensor_element(out->tensor->dtype, wvm_first(out));
  Py_DECREF(made);
  return number;
}

static PyObject* reduce(int op, PyObject* self, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"axis", "keepdims", NULL};
  PyObject* axis = NULL;
  int keep = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$p", names, &axis, &keep)) return NULL;
  wvm_view out;
  wvm_error error;
  uint32_t mask;
  if (read_axes(axis, view_of(self)->rank, &mask) < 0) return NULL;
  const int one = op == WVM_ARGMIN || op == WVM_ARGMAX;
  if (one && axis != NULL && PyTuple_Check(axis))
    return PyErr_Format(PyExc_TypeError, "argmin and argmax work along one axis or None");
  if (wvm_arrays_of_host()->reduce(op, view_of(self), mask, keep, &wvm_task_budget, &out, &error) < 0)
    return raised(&error);
  return number_or_tensor(&out);
}

#define DEFINE(name, op)                                                    \
  static PyObject* name(PyObject* self, PyObject* args, PyObject* kwargs) { \
    return reduce(op, self, args, kwargs);                                  \
  }
DEFINE(tensor_sum, WVM_SUM)
DEFINE(tensor_prod, WVM_PROD)
DEFINE(tensor_mean, WVM_MEAN)
DEFINE(tensor_min, WVM_MIN)
DEFINE(tensor_max, WVM_MAX)
DEFINE(tensor_any, WVM_ANY)
DEFINE(tensor_all, WVM_ALL)
DEFINE(tensor_argmin, WVM_ARGMIN)
DEFINE(tensor_argmax, WVM_ARGMAX)

/* The arguments, or the one tuple or list among them, as a tuple. */
static PyObject* spread(PyObject* args) {
  if (PyTuple_GET_SIZE(args) != 1) return Py_NewRef(args);
  PyObject* only = PyTuple_GET_ITEM(args, 0);
  return PyTuple_Check(only) || PyList_Check(only) ? PySequence_Tuple(only) : Py_NewRef(args);
}

static PyObject* tensor_reshape(PyObject* self, PyObject* args) {
  PyObject* sizes = spread(args);
  if (sizes == NULL) return NULL;
  int64_t shape[WVM_MAX_RANK];
  const Py_ssize_t rank = PyTuple_GET_SIZE(sizes);
  if (rank > WVM_MAX_RANK) PyErr_Format(PyExc_ValueError, "rank %zd; at most %d", rank, WVM_MAX_RANK);
  for (Py_ssize_t i = 0; rank <= WVM_MAX_RANK && !PyErr_Occurred() && i < rank; ++i)
    shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i));
  Py_DECREF(sizes);
  if (PyErr_Occurred()) return NULL;
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->reshape(view_of(self), shape, (int)rank, &wvm_task_budget, &out, &error) < 0)
    return raised(&error);
  if (out.tensor == view_of(self)->tensor) return wvm_tensor_window((tensor_object*)self, &out);
  return wvm_tensor_result(&out);
}

static PyObject* transposed(PyObject* self, const int* axes) {
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->transpose(view_of(self), axes, &out, &error) < 0) return raised(&error);
  return wvm_tensor_window((tensor_object*)self, &out);
}

PyObject* wvm_tensor_reversed(PyObject* self) {
  int axes[WVM_MAX_RANK];
  for (int i = 0; i < view_of(self)->rank; ++i) axes[i] = view_of(self)->rank - 1 - i;
  return transposed(self, axes);
}

static PyObject* tensor_transpose(PyObject* self, PyObject* args) {
  const int rank = view_of(self)->rank;
  if (PyTuple_GET_SIZE(args) == 0) return wvm_tensor_reversed(self);
  PyObject* order = spread(args);
  if (order == NULL) return NULL;
  int axes[WVM_MAX_RANK];
  uint32_t mask;
  const int fits = PyTuple_GET_SIZE(order) == rank && read_axes(order, rank, &mask) == 0;
  if (!fits && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "%zd axes; the tensor has %d", PyTuple_GET_SIZE(order), rank);
  for (int i = 0; fits && i < rank; ++i) axes[i] = read_axis(PyTuple_GET_ITEM(order, i), rank);
  Py_DECREF(order);
  return PyErr_Occurred() ? NULL : transposed(self, axes);
}

static PyObject* cast(PyObject* self, int dtype) {
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->astype(view_of(self), (uint8_t)dtype, &wvm_task_budget, &out, &error) < 0)
    return raised(&error);
  return wvm_tensor_result(&out);
}

static PyObject* tensor_astype(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  if (text == NULL)
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "astype() takes the name of a dtype");
  const int dtype = wvm_dtype_named(text);
  return dtype < 0 ? NULL : cast(self, dtype);
}

static PyObject* tensor_copy(PyObject* self, PyObject* unused) {
  (void)unused;
  return cast(self, view_of(self)->tensor->dtype);
}

static PyObject* only_element(PyObject* self, const char* what) {
  if (wvm_elements(view_of(self)) == 1)
    return wvm_tensor_element(view_of(self)->tensor->dtype, wvm_first(view_of(self)));
  return PyErr_Format(PyExc_ValueError, "%s needs a tensor of one element; this one has %lld", what,
                      (long long)wvm_elements(view_of(self)));
}

static PyObject* tensor_item(PyObject* self, PyObject* unused) {
  (void)unused;
  return only_element(self, "item()");
}

int wvm_nb_bool(PyObject* self) {
  PyObject* element = only_element(self, "the truth of a tensor (use any() or all())");
  const int truth = element ? PyObject_IsTrue(element) : -1;
  Py_XDECREF(element);
  return truth;
}

PyObject* wvm_nb_int(PyObject* self) {
  PyObject* element = only_element(self, "int()");
  PyObject* number = element ? PyNumber_Long(element) : NULL;
  Py_XDECREF(element);
  return number;
}

PyObject* wvm_nb_float(PyObject* self) {
  PyObject* element = only_element(self, "float()");
  PyObject* number = element ? PyNumber_Float(element) : NULL;
  Py_XDECREF(element);
  return number;
}

PyObject* wvm_nb_index(PyObject* self) {
  if (view_of(self)->rank > 0)
    return PyErr_Format(PyExc_TypeError, "only an integer tensor of rank 0 is an index");
  PyObject* element = only_element(self, "an index");
  PyObject* number = element ? PyNumber_Index(element) : NULL;
  Py_XDECREF(element);
  return number;
}

/* As NumPy: whether any element equals the value. */
int wvm_tensor_contains(PyObject* self, PyObject* value) {
  PyObject* equal = PyObject_RichCompare(self, value, Py_EQ);
  PyObject* any = equal && wvm_is_tensor(equal) ? PyObject_CallMethod(equal, "any", NULL) : Py_XNewRef(equal);
  const int found = any ? PyObject_IsTrue(any) : -1;
  Py_XDECREF(equal);
  Py_XDECREF(any);
  return found;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS
PyMethodDef wvm_tensor_methods[] = {{"tolist", wvm_tensor_tolist, METH_NOARGS, NULL},
                                    {"tobytes", wvm_tensor_tobytes, METH_NOARGS, NULL},
                                    {"item", tensor_item, METH_NOARGS, NULL},
                                    {"copy", tensor_copy, METH_NOARGS, NULL},
                                    {"astype", tensor_astype, METH_O, NULL},
                                    {"reshape", tensor_reshape, METH_VARARGS, NULL},
                                    {"transpose", tensor_transpose, METH_VARARGS, NULL},
                                    {"sum", WITH_KEYWORDS(tensor_sum), NULL},
                                    {"prod", WITH_KEYWORDS(tensor_prod), NULL},
                                    {"mean", WITH_KEYWORDS(tensor_mean), NULL},
                                    {"min", WITH_KEYWORDS(tensor_min), NULL},
                                    {"max", WITH_KEYWORDS(tensor_max), NULL},
                                    {"any", WITH_KEYWORDS(tensor_any), NULL},
                                    {"all", WITH_KEYWORDS(tensor_all), NULL},
                                    {"argmin", WITH_KEYWORDS(tensor_argmin), NULL},
                                    {"argmax", WITH_KEYWORDS(tensor_argmax), NULL},
                                    {"exp", wvm_tensor_exp, METH_NOARGS, NULL},
                                    {"log", wvm_tensor_log, METH_NOARGS, NULL},
                                    {"clip", WITH_KEYWORDS(wvm_tensor_clip), NULL},
                                    {"where", WITH_KEYWORDS(wvm_tensor_where), NULL},
                                    {0}};
