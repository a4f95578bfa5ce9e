/* Host functions as Python functions: one generic METH_FASTCALL entry converts the arguments, calls the host
 * and converts the answer. The function's number travels as the bound `self`, a small integer. */
#include "vm/inside/values.h"

/* On the C stack, so that a call of 10 ns allocates nothing; no host call takes more than two
 * (host_calls.inc). */
enum { kInlineArgs = 8 };

static const wvm_host_function* functions;
static PyMethodDef* definitions; /* one per host function, made while the VM starts */

void wvm_raise(const wvm_error* error) {
  PyObject* const kinds[] = {
      [WVM_RUNTIME_ERROR] = PyExc_RuntimeError, [WVM_TYPE_ERROR] = PyExc_TypeError,
      [WVM_VALUE_ERROR] = PyExc_ValueError,     [WVM_KEY_ERROR] = PyExc_KeyError,
      [WVM_INDEX_ERROR] = PyExc_IndexError,     [WVM_OVERFLOW_ERROR] = PyExc_OverflowError,
      [WVM_OS_ERROR] = PyExc_OSError,           [WVM_MEMORY_ERROR] = PyExc_MemoryError,
  };
  if (!PyErr_Occurred()) PyErr_SetString(kinds[error->kind], error->text);
}

static PyObject* answer(int status, wvm_host_result* result) {
  if (status == 0 && result->free_result == NULL && result->value.kind < WVM_STR)
    return wvm_number_to_python(&result->value);
  /* Tensors in the answer were made for the task and count as its memory; those that it passed in do not. */
  PyObject* object = NULL;
  wvm_current->charging = 1;
  if (status == 0) {
    object = wvm_to_python(&result->value);
    if (object == NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
      PyErr_Clear();
      wvm_collect_garbage();
      object = wvm_to_python(&result->value);
    }
  } else {
    wvm_raise(&result->error);
  }
  wvm_current->charging = 0;
  if (result->free_result != NULL) result->free_result(result->state);
  return object;
}

static int invoke(const wvm_host_function* function, wvm_isolate* isolate, const wvm_value* args,
                  size_t count, wvm_host_result* result) {
  if (!function->blocking) return function->call(isolate->user, args, count, result);
  wvm_release_interpreter();
  const int status = function->call(isolate->user, args, count, result);
  wvm_regain_interpreter(isolate);
  return status;
}

static int invoke_afresh(const wvm_host_function* function, wvm_isolate* isolate, const wvm_value* args,
                         size_t count, wvm_host_result* result) {
  result->free_result = NULL;
  result->exhausted = 0;
  result->error.kind = WVM_RUNTIME_ERROR;
  result->error.text[0] = 0;
  return invoke(function, isolate, args, count, result);
}

static PyObject* host_call(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  const size_t number = (size_t)_PyLong_CompactValue((PyLongObject*)self);
  const wvm_host_function* function = &functions[number];
  wvm_isolate* isolate = wvm_current;
  if (isolate->host_calls != NULL && !isolate->host_calls[number]) {
    isolate->refused = WVM_REASON_HOST_CALL;
    return PyErr_Format(PyExc_PermissionError, "%s.%s is not allowed for this task", function->module,
                        function->name);
  }
  if ((size_t)count < function->min_args || (size_t)count > function->max_args || count > kInlineArgs) {
    return PyErr_Format(PyExc_TypeError, "%s.%s takes %u to %u arguments, got %zd", function->module,
                        function->name, function->min_args, function->max_args, count);
  }
  wvm_value values[kInlineArgs];
  void* arena = NULL;
  PyObject* object = NULL;
  Py_ssize_t converted = 0;
  while (converted < count && wvm_number_from_python(args[converted], &values[converted], &arena) == 0)
    ++converted;
  if (converted == count) {
    wvm_host_result result;
    int status = invoke_afresh(function, isolate, values, (size_t)count, &result);
    /* What stands in the way may be garbage of the task. A second refusal is final. */
    if (status != 0 && result.exhausted && !wvm_must_stop()) {
      wvm_collect_garbage();
      status = invoke_afresh(function, isolate, values, (size_t)count, &result);
    }
    object = answer(status, &result);
  }
  if (arena != NULL) wvm_arena_free(arena);
  return object;
}

/* Once, while the VM starts. */
int wvm_prepare_host_calls(void) {
  const wvm_host* host = wvm_host_table();
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

PyObject* wvm_host_module(const char* name) {
  const wvm_host* host = wvm_host_table();
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
