/* Element-wise operators of walle.Tensor. */
#include "vm/inside/run/failure.h"
#include "vm/inside/values/tensor.h"

static int integer_operand(PyObject* object, wvm_operand* out) {
  int overflow = 0;
  out->number = (wvm_value){.kind = WVM_INT, .as.integer = PyLong_AsLongLongAndOverflow(object, &overflow)};
  out->range = WVM_IN_INT64;
  if (overflow < 0) out->range = WVM_BELOW;
  if (overflow > 0) {
    const unsigned long long bits = PyLong_AsUnsignedLongLong(object);
    out->range = PyErr_Occurred() ? WVM_ABOVE : WVM_IN_UINT64;
    PyErr_Clear();
    memcpy(&out->number.as.integer, &bits, sizeof bits);
  }
  return 1;
}

int wvm_operand_from(PyObject* object, wvm_operand* out, PyObject** kept) {
  *out = (wvm_operand){0};
  if (PyList_Check(object) || PyTuple_Check(object)) {
    object = *kept = wvm_tensor_from_nested(object, 0);
    if (object == NULL) return -1;
  }
  if (wvm_is_tensor(object)) {
    out->view = &((tensor_object*)object)->view;
    return 1;
  }
  if (PyFloat_Check(object)) {
    out->number = (wvm_value){.kind = WVM_FLOAT, .as.real = PyFloat_AS_DOUBLE(object)};
    return 1;
  }
  if (PyBool_Check(object)) {
    out->number = (wvm_value){.kind = WVM_BOOL, .as.integer = object == Py_True};
    return 1;
  }
  return PyLong_Check(object) ? integer_operand(object, out) : 0;
}

static PyObject* binary(int op, PyObject* x, PyObject* y) {
  wvm_operand left, right;
  PyObject *kept_left = NULL, *kept_right = NULL, *result = NULL;
  const int known_left = wvm_operand_from(x, &left, &kept_left);
  const int known_right = known_left > 0 ? wvm_operand_from(y, &right, &kept_right) : known_left;
  if (known_right > 0) {
    wvm_view out;
    wvm_error error;
    if (wvm_arrays_of_host()->binary(op, &left, &right, &wvm_task_memory, &out, &error) == 0)
      result = wvm_tensor_result(&out);
    else
      wvm_raise(&error);
  } else if (known_right == 0) {
    result = Py_NewRef(Py_NotImplemented);
  }
  Py_XDECREF(kept_left);
  Py_XDECREF(kept_right);
  return result;
}

/* x op= y: computed apart and written back, so that views of one memory may overlap. */
static PyObject* in_place(int op, PyObject* x, PyObject* y) {
  tensor_object* self = (tensor_object*)x;
  if (wvm_refuse_write(self) < 0) return NULL;
  PyObject* result = binary(op, x, y);
  if (result == NULL || result == Py_NotImplemented) return result;
  const wvm_operand value = {.view = &((tensor_object*)result)->view};
  wvm_error error;
  const int status = wvm_arrays_of_host()->assign(&self->view, &value, 1, &wvm_task_memory, &error);
  Py_DECREF(result);
  if (status == 0) return Py_NewRef(x);
  wvm_raise(&error);
  return NULL;
}

#define DEFINE(name, op)                                                         \
  PyObject* wvm_nb_##name(PyObject* x, PyObject* y) { return binary(op, x, y); } \
  PyObject* wvm_nb_inplace_##name(PyObject* x, PyObject* y) { return in_place(op, x, y); }
WVM_TENSOR_OPERATORS(DEFINE)

static int has_modulus(PyObject* modulus) {
  if (modulus == Py_None) return 0;
  PyErr_SetString(PyExc_TypeError, "pow() of a tensor takes no modulus");
  return 1;
}

PyObject* wvm_nb_power(PyObject* x, PyObject* y, PyObject* modulus) {
  return has_modulus(modulus) ? NULL : binary(WVM_POWER, x, y);
}

PyObject* wvm_nb_inplace_power(PyObject* x, PyObject* y, PyObject* modulus) {
  return has_modulus(modulus) ? NULL : in_place(WVM_POWER, x, y);
}

PyObject* wvm_nb_divmod(PyObject* x, PyObject* y) {
  PyObject* quotient = binary(WVM_FLOOR_DIVIDE, x, y);
  if (quotient == NULL || quotient == Py_NotImplemented) return quotient;
  PyObject* rest = binary(WVM_REMAINDER, x, y);
  PyObject* pair = rest ? PyTuple_Pack(2, quotient, rest) : NULL;
  Py_DECREF(quotient);
  Py_XDECREF(rest);
  return pair;
}

static PyObject* unary(int op, PyObject* x) {
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->unary(op, &((tensor_object*)x)->view, &wvm_task_memory, &out, &error) == 0)
    return wvm_tensor_result(&out);
  wvm_raise(&error);
  return NULL;
}

PyObject* wvm_nb_negative(PyObject* x) { return unary(WVM_NEGATIVE, x); }
PyObject* wvm_nb_absolute(PyObject* x) { return unary(WVM_ABSOLUTE, x); }
PyObject* wvm_nb_invert(PyObject* x) { return unary(WVM_INVERT, x); }
PyObject* wvm_nb_positive(PyObject* x) { return PyObject_CallMethod(x, "copy", NULL); }

PyObject* wvm_tensor_compare(PyObject* x, PyObject* y, int op) {
  static const int kOperators[] = {
      [Py_LT] = WVM_LESS,      [Py_LE] = WVM_LESS_EQUAL, [Py_EQ] = WVM_EQUAL,
      [Py_NE] = WVM_NOT_EQUAL, [Py_GT] = WVM_GREATER,    [Py_GE] = WVM_GREATER_EQUAL};
  return binary(kOperators[op], x, y);
}
