/* Elements of walle.Tensor as Python's numbers, lists and text. */
#include "vm/inside/run/interrupt.h"
#include "vm/inside/values/tensor.h"

/* A tensor of more elements is shown by the first and last of each axis, as NumPy does. */
enum { kShownWhole = 1000, kEdge = 3, kFloat32Digits = 9 };

static double half_to_double(const char* at) { return PyFloat_Unpack2(at, PY_LITTLE_ENDIAN); }

/* The upper half of a float32. */
static double bfloat_to_double(const char* at) {
  uint16_t bits;
  memcpy(&bits, at, sizeof bits);
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

#define READ(type, make)              \
  {                                   \
    type value;                       \
    memcpy(&value, at, sizeof value); \
    return make(value);               \
  }

PyObject* wvm_tensor_element(int dtype, const char* at) {
  switch (dtype) {
    case WVM_float32: READ(float, PyFloat_FromDouble)
    case WVM_float64: READ(double, PyFloat_FromDouble)
    case WVM_float16: return PyFloat_FromDouble(half_to_double(at));
    case WVM_bfloat16: return PyFloat_FromDouble(bfloat_to_double(at));
    case WVM_int8: READ(int8_t, PyLong_FromLong)
    case WVM_int16: READ(int16_t, PyLong_FromLong)
    case WVM_int32: READ(int32_t, PyLong_FromLong)
    case WVM_int64: READ(int64_t, PyLong_FromLongLong)
    case WVM_uint8: READ(uint8_t, PyLong_FromLong)
    case WVM_uint16: READ(uint16_t, PyLong_FromLong)
    case WVM_uint32: READ(uint32_t, PyLong_FromLongLong)
    case WVM_uint64: READ(uint64_t, PyLong_FromUnsignedLongLong)
    default: return PyBool_FromLong(*at != 0);
  }
}

static PyObject* list_of(const wvm_view* view, int axis, const char* at) {
  if (axis == view->rank) return wvm_tensor_element(view->tensor->dtype, at);
  if (wvm_interrupted()) return NULL;
  const int64_t step = view->stride[axis] * wvm_dtypes[view->tensor->dtype].size;
  PyObject* list = PyList_New((Py_ssize_t)view->shape[axis]);
  for (int64_t i = 0; list != NULL && i < view->shape[axis]; ++i) {
    PyObject* item = list_of(view, axis + 1, at + i * step);
    if (item == NULL)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

PyObject* wvm_tensor_tolist(PyObject* object, PyObject* unused) {
  (void)unused;
  const wvm_view* view = &((tensor_object*)object)->view;
  return list_of(view, 0, wvm_first(view));
}

PyObject* wvm_tensor_tobytes(PyObject* object, PyObject* unused) {
  (void)unused;
  PyObject* view = PyMemoryView_FromObject(object);
  PyObject* bytes = view ? PyObject_CallMethod(view, "tobytes", NULL) : NULL;
  Py_XDECREF(view);
  return bytes;
}

/* The fewest digits that give the same float32 again; repr() of the double would show 0.10000000149011612. */
static PyObject* text_of_float32(float value) {
  for (int digits = 6; digits <= kFloat32Digits; ++digits) {
    char* text = PyOS_double_to_string(value, 'g', digits, Py_DTSF_ADD_DOT_0, NULL);
    if (text == NULL) return PyErr_NoMemory();
    const int same = digits == kFloat32Digits || (float)PyOS_string_to_double(text, NULL, NULL) == value;
    PyObject* made = same ? PyUnicode_FromString(text) : NULL;
    PyMem_Free(text);
    if (same) return made;
  }
  return NULL;
}

static PyObject* text_of_element(int dtype, const char* at) {
  if (dtype == WVM_float32) {
    float value;
    memcpy(&value, at, sizeof value);
    return text_of_float32(value);
  }
  if (dtype == WVM_float16) return text_of_float32((float)half_to_double(at));
  if (dtype == WVM_bfloat16) return text_of_float32((float)bfloat_to_double(at));
  PyObject* element = wvm_tensor_element(dtype, at);
  PyObject* text = element ? PyObject_Repr(element) : NULL;
  Py_XDECREF(element);
  return text;
}

static PyObject* text_of(const wvm_view* view, int axis, const char* at, int whole) {
  if (axis == view->rank) return text_of_element(view->tensor->dtype, at);
  const int64_t size = view->shape[axis];
  const int64_t step = view->stride[axis] * wvm_dtypes[view->tensor->dtype].size;
  PyObject* parts = PyList_New(0);
  for (int64_t i = 0; parts != NULL && i < size; ++i) {
    const int gap = !whole && size > 2 * kEdge && i == kEdge;
    PyObject* part = gap ? PyUnicode_FromString("...") : text_of(view, axis + 1, at + i * step, whole);
    if (gap) i = size - kEdge - 1;
    if (part == NULL || PyList_Append(parts, part) < 0) Py_CLEAR(parts);
    Py_XDECREF(part);
  }
  PyObject* comma = parts ? PyUnicode_FromString(", ") : NULL;
  PyObject* joined = comma ? PyUnicode_Join(comma, parts) : NULL;
  PyObject* text = joined ? PyUnicode_FromFormat("[%U]", joined) : NULL;
  Py_XDECREF(parts);
  Py_XDECREF(comma);
  Py_XDECREF(joined);
  return text;
}

PyObject* wvm_tensor_repr(PyObject* object) {
  const wvm_view* view = &((tensor_object*)object)->view;
  const int64_t elements = wvm_elements(view);
  const char* dtype = wvm_dtypes[view->tensor->dtype].name;
  PyObject* values = text_of(view, 0, wvm_first(view), elements <= kShownWhole);
  PyObject* shape = values ? PyObject_GetAttrString(object, "shape") : NULL;
  PyObject* text = NULL;
  if (shape != NULL && (elements == 0 || elements > kShownWhole)) /* what the values do not say */
    text = PyUnicode_FromFormat("walle.Tensor(%U, shape=%R, dtype='%s')", values, shape, dtype);
  else if (shape != NULL)
    text = PyUnicode_FromFormat("walle.Tensor(%U, dtype='%s')", values, dtype);
  Py_XDECREF(values);
  Py_XDECREF(shape);
  return text;
}
