/* Host functions as Python functions: one generic METH_FASTCALL entry converts the arguments, calls the host
 * and converts the answer. The function's number travels as the bound `self`, a small integer. */
#include "vm/inside/boot/host_calls.h"
#include "vm/inside/run/arena.h"
#include "vm/inside/run/attach.h"
#include "vm/inside/run/failure.h"
#include "vm/inside/run/host.h"
#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/memory.h"
#include "vm/inside/values/values.h"

static const wvm_host_function* functions;
static PyMethodDef* definitions; /* one per host function, made while the VM starts */

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
  if (!function->blocking) return function->call(function, isolate->user, args, count, result);
  wvm_attach_thread(NULL);
  const int status = function->call(function, isolate->user, args, count, result);
  wvm_attach_thread(isolate);
  return status;
}

static int invoke_afresh(const wvm_host_function* function, wvm_isolate* isolate, const wvm_value* args,
                         size_t count, wvm_host_result* result) {
  result->free_result = NULL;
  result->exhausted = 0;
  return invoke(function, isolate, args, count, result);
}

/* Where the parameter `name` stands, or -1. */
static int place_of(const wvm_host_function* function, PyObject* name) {
  for (int i = 0; function->keywords != NULL && i < function->max_args; ++i) {
    if (PyUnicode_EqualToUTF8(name, function->keywords[i])) return i;
  }
  return -1;
}

/* Arguments by keyword to their places in `all`, behind the `count` that came by position. Gives how many
 * there are, with NULL for those left out; -1 with a TypeError. */
static Py_ssize_t place(const wvm_host_function* function, PyObject* const* args, Py_ssize_t count,
                        PyObject* names, PyObject** all) {
  Py_ssize_t last = count;
  memset(all, 0, WVM_MAX_HOST_ARGS * sizeof *all);
  memcpy(all, args, (size_t)count * sizeof *all);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const int at = place_of(function, name);
    if (at < 0 || all[at] != NULL) {
      PyErr_Format(PyExc_TypeError, at < 0 ? "%s.%s has no parameter %R" : "%s.%s got %R twice",
                   function->module, function->name, name);
      return -1;
    }
    all[at] = args[count + i];
    if (at >= last) last = at + 1;
  }
  for (Py_ssize_t i = 0; i < function->min_args; ++i) {
    if (all[i] != NULL) continue;
    PyErr_Format(PyExc_TypeError, "%s.%s needs '%s'", function->module, function->name,
                 function->keywords[i]);
    return -1;
  }
  return last;
}

static PyObject* host_call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const size_t number = (size_t)_PyLong_CompactValue((PyLongObject*)self);
  const wvm_host_function* function = &functions[number];
  wvm_isolate* isolate = wvm_current;
  if (isolate->host_calls != NULL && !isolate->host_calls[number]) {
    isolate->refused = WVM_REASON_HOST_CALL;
    return PyErr_Format(PyExc_PermissionError, "%s.%s is not allowed for this task", function->module,
                        function->name);
  }
  if (names != NULL && PyTuple_GET_SIZE(names) == 0) names = NULL;
  if (count > function->max_args || (names == NULL && count < function->min_args)) {
    return PyErr_Format(PyExc_TypeError, "%s.%s takes %u to %u arguments, got %zd", function->module,
                        function->name, function->min_args, function->max_args, count);
  }
  PyObject* placed[WVM_MAX_HOST_ARGS];
  if (names != NULL) {
    count = place(function, args, count, names, placed);
    if (count < 0) return NULL;
    args = placed;
  }
  /* On the C stack, so that a call of 10 ns allocates nothing. */
  wvm_value values[WVM_MAX_HOST_ARGS];
  void* arena = NULL;
  PyObject* object = NULL;
  Py_ssize_t converted = 0;
  while (converted < count &&
         wvm_number_from_python(args[converted] ? args[converted] : Py_None, &values[converted], &arena) == 0)
    ++converted;
  if (converted == count) {
    wvm_host_result result;
    int status = invoke_afresh(function, isolate, values, (size_t)count, &result);
    /* What stands in the way may be garbage of the task. A second refusal is final. */
    if (status != 0 && result.exhausted && !wvm_must_stop()) {
      free(result.error.text);
      wvm_collect_garbage();
      status = invoke_afresh(function, isolate, values, (size_t)count, &result);
    }
    object = answer(status, &result);
  }
  if (isolate->leaving | isolate->leaving_tensors) wvm_values_left(isolate);
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
    made[i] = (PyMethodDef){host->functions[i].name, (PyCFunction)(void*)host_call,
                            METH_FASTCALL | METH_KEYWORDS, host->functions[i].doc};
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
