/* Host functions as Python functions: one generic METH_FASTCALL entry converts the arguments, calls the host
 * and converts the answer. The function's number travels as the bound `self`, a small integer. */
#include "vm/inside/inside.h"

enum { kInlineArgs = 8 };

static const walle_vm_host_function* functions;
static PyMethodDef* definitions; /* one per host function, made while the VM starts */

static PyObject* answer(int status, walle_vm_host_result* result) {
  PyObject* object = NULL;
  if (status == 0 && result->free_result == NULL) {
    if (result->value.kind == WALLE_VM_FLOAT) return PyFloat_FromDouble(result->value.as.real);
    if (result->value.kind == WALLE_VM_INT) return PyLong_FromLongLong(result->value.as.integer);
  }
  walle_vm_current->charging = 1;
  if (status == 0)
    object = walle_vm_to_python(&result->value);
  else
    PyErr_SetString(PyExc_RuntimeError, result->error);
  walle_vm_current->charging = 0;
  if (result->free_result != NULL) result->free_result(result->state);
  return object;
}

static int invoke(const walle_vm_host_function* function, walle_vm_isolate* isolate,
                  const walle_vm_value* args, size_t count, walle_vm_host_result* result) {
  if (!function->blocking) return function->call(isolate->user, args, count, result);
  walle_vm_release_interpreter();
  const int status = function->call(isolate->user, args, count, result);
  walle_vm_regain_interpreter(isolate);
  return status;
}

/* Numbers take a short way: most arguments and results of host calls are numbers. */
static int take_argument(PyObject* object, walle_vm_value* value, void** arena) {
  if (PyFloat_CheckExact(object)) {
    value->kind = WALLE_VM_FLOAT;
    value->as.real = PyFloat_AS_DOUBLE(object);
    return 0;
  }
  if (PyLong_CheckExact(object) && _PyLong_IsCompact((PyLongObject*)object)) {
    value->kind = WALLE_VM_INT;
    value->as.integer = _PyLong_CompactValue((PyLongObject*)object);
    return 0;
  }
  return walle_vm_from_python(object, value, arena);
}

static PyObject* host_call(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  const size_t number = (size_t)_PyLong_CompactValue((PyLongObject*)self);
  const walle_vm_host_function* function = &functions[number];
  walle_vm_isolate* isolate = walle_vm_current;
  if (isolate->host_calls != NULL && !isolate->host_calls[number]) {
    isolate->refused = WALLE_VM_REASON_HOST_CALL;
    return PyErr_Format(PyExc_PermissionError, "%s.%s is not allowed for this task", function->module,
                        function->name);
  }
  if ((size_t)count < function->min_args || (size_t)count > function->max_args || count > kInlineArgs) {
    return PyErr_Format(PyExc_TypeError, "%s.%s takes %u to %u arguments, got %zd", function->module,
                        function->name, function->min_args, function->max_args, count);
  }
  walle_vm_value values[kInlineArgs];
  void* arena = NULL;
  PyObject* object = NULL;
  Py_ssize_t converted = 0;
  while (converted < count && take_argument(args[converted], &values[converted], &arena) == 0) ++converted;
  if (converted == count) {
    walle_vm_host_result result;
    result.free_result = NULL;
    result.error[0] = 0;
    object = answer(invoke(function, isolate, values, (size_t)count, &result), &result);
  }
  if (arena != NULL) walle_vm_arena_free(arena);
  return object;
}

/* Once, while the VM starts. */
int walle_vm_prepare_host_calls(void) {
  const walle_vm_host* host = walle_vm_host_table();
  if (host->function_count == 0) return 0;
  PyMethodDef* made = calloc(host->function_count, sizeof(PyMethodDef));
  if (made == NULL) return -1;
  for (size_t i = 0; i < host->function_count; ++i) {
    made[i] = (PyMethodDef){host->functions[i].name, (PyCFunction)(void*)host_call, METH_FASTCALL,
                            host->functions[i].doc};
  }
  functions = host->functions;
  definitions = made;
  return 0;
}

PyObject* walle_vm_host_module(const char* name) {
  const walle_vm_host* host = walle_vm_host_table();
  PyObject* module = NULL;
  for (size_t i = 0; i < host->function_count; ++i) {
    if (strcmp(host->functions[i].module, name) != 0) continue;
    if (module == NULL) module = PyModule_New(name);
    PyObject* number = module ? PyLong_FromSize_t(i) : NULL;
    PyObject* function = number ? PyCFunction_NewEx(&definitions[i], number, NULL) : NULL;
    Py_XDECREF(number);
    if (function == NULL || PyModule_Add(module, host->functions[i].name, function) < 0) {
      Py_XDECREF(module);
      return NULL;
    }
  }
  return module;
}
