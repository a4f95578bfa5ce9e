/* Operators of walle.Tensor, and functions by element. */
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
    if (wvm_arrays_of_host()->binary(op, &left, &right, &wvm_task_budget, &out, &error) == 0)
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
  const int status = wvm_arrays_of_host()->assign(&self->view, &value, 1, &wvm_task_budget, &error);
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

PyObject* wvm_nb_matrix_multiply(PyObject* x, PyObject* y) { return binary(WVM_MATRIX_MULTIPLY, x, y); }

static PyObject* unary(int op, PyObject* x) {
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->unary(op, &((tensor_object*)x)->view, &wvm_task_budget, &out, &error) == 0)
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

PyObject* wvm_tensor_exp(PyObject* x, PyObject* unused) {
  (void)unused;
  return unary(WVM_EXP, x);
}

PyObject* wvm_tensor_log(PyObject* x, PyObject* unused) {
  (void)unused;
  return unary(WVM_LOG, x);
}

static PyObject* no_operand(PyObject* result, const char* method, PyObject* given) {
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  return PyErr_Format(PyExc_TypeError, "%s() takes tensors, numbers and lists, not %T", method, given);
}

/* Steals x. */
static PyObject* limited(int op, PyObject* x, PyObject* limit) {
  if (x == NULL || limit == Py_None) return x;
  PyObject* result = no_operand(binary(op, x, limit), "clip", limit);
  Py_DECREF(x);
  return result;
}

PyObject* wvm_tensor_clip(PyObject* x, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"min", "max", NULL};
  PyObject *low = Py_None, *high = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:clip", names, &low, &high)) return NULL;
  if (low == Py_None && high == Py_None) return wvm_nb_positive(x);
  return limited(WVM_MINIMUM, limited(WVM_MAXIMUM, Py_NewRef(x), low), high);
}

static PyObject* selected(const wvm_operand* condition, PyObject* x, const wvm_operand* other) {
  const wvm_operand self = {.view = &((tensor_object*)x)->view};
  wvm_view out;
  wvm_error error;
  if (wvm_arrays_of_host()->where(condition, &self, other, &wvm_task_budget, &out, &error) == 0)
    return wvm_tensor_result(&out);
  wvm_raise(&error);
  return NULL;
}

PyObject* wvm_tensor_where(PyObject* x, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"condition", "other", NULL};
  PyObject *given[2], *kept[2] = {NULL, NULL}, *result = NULL;
  wvm_operand read[2];
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:where", names, &given[0], &given[1])) return NULL;
  int known = 1;
  for (int i = 0; known > 0 && i < 2; ++i) {
    known = wvm_operand_from(given[i], &read[i], &kept[i]);
    if (known == 0) no_operand(Py_NewRef(Py_NotImplemented), "where", given[i]);
  }
  if (known > 0) result = selected(&read[0], x, &read[1]);
  Py_XDECREF(kept[0]);
  Py_XDECREF(kept[1]);
  return result;
}
