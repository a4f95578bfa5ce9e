/* Values across the boundary, each way once. values.c has all kinds; the short ways for numbers, which most
 * arguments and results of host calls are, stand here to be inlined. */
#ifndef WALLE_VM_VALUES_H
#define WALLE_VM_VALUES_H

#include "vm/inside/run/state.h"

PyObject* wvm_to_python(const wvm_value* value);
/* Tensors in `value` are borrowed from `object`; whoever keeps the value longer retains them first (isolate.c
 * does). What is copied lies in `arena`, and counts as the task's memory until wvm_values_left(). -1 with an
 * exception set, also when the task is to stop. */
int wvm_from_python(PyObject* object, wvm_value* value, void** arena);
void wvm_values_left(wvm_isolate* isolate);

static inline PyObject* wvm_number_to_python(const wvm_value* value) {
  if (value->kind == WVM_FLOAT) return PyFloat_FromDouble(value->as.real);
  if (value->kind == WVM_INT) return PyLong_FromLongLong(value->as.integer);
  return wvm_to_python(value);
}

/* Without a look at the interrupt, which the loop around a call takes anyway. */
static inline int wvm_number_from_python(PyObject* object, wvm_value* value, void** arena) {
  if (PyFloat_CheckExact(object)) {
    value->kind = WVM_FLOAT;
    value->as.real = PyFloat_AS_DOUBLE(object);
    return 0;
  }
  if (PyLong_CheckExact(object) && _PyLong_IsCompact((PyLongObject*)object)) {
    value->kind = WVM_INT;
    value->as.integer = _PyLong_CompactValue((PyLongObject*)object);
    return 0;
  }
  return wvm_from_python(object, value, arena);
}

#endif
