/* From "module" and "function" to the function object. The names' Python strings are kept per isolate,
 * because making and interning them took half of a warm call; the objects behind them are looked up every
 * time, since a task may rebind. */
#include "vm/inside/boot/functions.h"

#include <internal/pycore_interp.h>
#include <internal/pycore_moduleobject.h>

static void forget(wvm_target* target) {
  free(target->module);
  free(target->function);
  Py_XDECREF(target->module_name);
  Py_XDECREF(target->function_name);
  *target = (wvm_target){0};
}

void wvm_forget_functions(wvm_isolate* isolate) {
  for (size_t i = 0; i < WVM_KEPT_TARGETS; ++i) forget(&isolate->targets[i]);
}

static wvm_target* new_target(wvm_isolate* isolate, const char* module, const char* function) {
  wvm_target fresh = {strdup(module), strdup(function), PyUnicode_InternFromString(module),
                      PyUnicode_InternFromString(function)};
  if (!fresh.module || !fresh.function || !fresh.module_name || !fresh.function_name) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
    forget(&fresh);
    return NULL;
  }
  wvm_target* place = &isolate->targets[isolate->next_target++ % WVM_KEPT_TARGETS];
  forget(place);
  *place = fresh;
  return place;
}

/* Valid until others have pushed it out. */
static wvm_target* target_of(wvm_isolate* isolate, const char* module, const char* function) {
  for (size_t i = 0; i < WVM_KEPT_TARGETS; ++i) {
    wvm_target* target = &isolate->targets[i];
    if (target->function != NULL && strcmp(target->function, function) == 0 &&
        strcmp(target->module, module) == 0)
      return target;
  }
  return new_target(isolate, module, function);
}

static PyObject* import_module(PyObject* name) {
  /* Out of the table, which keeps it: what is returned is borrowed. */
  PyObject* imported = PyImport_Import(name);
  Py_XDECREF(imported);
  return imported == NULL ? NULL : PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
}

/* Borrowed. A warm call stays among the functions that tasks run in: each page of code that it goes to beyond
 * them has to be found again with every call, so the two dictionaries are read where they are. */
PyObject* wvm_find_function(wvm_isolate* isolate, const char* module_name, const char* function_name) {
  const wvm_target* target = target_of(isolate, module_name, function_name);
  if (target == NULL) return NULL;
  PyObject* module = PyDict_GetItemWithError(isolate->interp->imports.modules, target->module_name);
  if (module == NULL && !PyErr_Occurred()) module = import_module(target->module_name);
  if (module == NULL) return NULL;
  if (!PyModule_Check(module))
    return PyErr_Format(PyExc_TypeError, "sys.modules['%s'] is no module any more", module_name);
  PyObject* function = PyDict_GetItemWithError(_PyModule_GetDict(module), target->function_name);
  if (function == NULL && !PyErr_Occurred())
    PyErr_Format(PyExc_AttributeError, "module '%s' has no function '%s'", module_name, function_name);
  return function;
}
