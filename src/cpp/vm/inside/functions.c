/* From "module" and "function" to the function object. The names' Python strings are kept per isolate, because making and
 * interning them took half of a warm call; the objects behind them are looked up every time, since a task may rebind. */
#include "vm/inside/inside.h"

static void forget(walle_vm_name* name) {
  free(name->text);
  Py_XDECREF(name->object);
  *name = (walle_vm_name){0};
}

void walle_vm_forget_functions(walle_vm_isolate* isolate) {
  for (size_t i = 0; i < WALLE_VM_KEPT_NAMES; ++i) forget(&isolate->names[i]);
}

/* Borrowed, until other names have pushed this one out. */
static PyObject* interned(walle_vm_isolate* isolate, const char* text) {
  for (size_t i = 0; i < WALLE_VM_KEPT_NAMES; ++i) {
    if (isolate->names[i].text != NULL && strcmp(isolate->names[i].text, text) == 0) return isolate->names[i].object;
  }
  walle_vm_name fresh = {strdup(text), PyUnicode_InternFromString(text)};
  if (fresh.text == NULL || fresh.object == NULL) {
    if (fresh.object != NULL) PyErr_NoMemory();
    forget(&fresh);
    return NULL;
  }
  walle_vm_name* place = &isolate->names[isolate->next_name++ % WALLE_VM_KEPT_NAMES];
  forget(place);
  *place = fresh;
  return fresh.object;
}

static PyObject* import_module(PyObject* name) {
  PyObject* imported = PyImport_Import(name);
  Py_XDECREF(imported);
  return imported == NULL ? NULL : PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
}

/* Borrowed. */
PyObject* walle_vm_find_function(walle_vm_isolate* isolate, const char* module_name, const char* function_name) {
  PyObject* name = interned(isolate, module_name);
  if (name == NULL) return NULL;
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (module == NULL && !PyErr_Occurred()) module = import_module(name);
  PyObject* key = module != NULL ? interned(isolate, function_name) : NULL;
  if (key == NULL) return NULL;
  PyObject* function = PyDict_GetItemWithError(PyModule_GetDict(module), key);
  if (function == NULL && !PyErr_Occurred())
    PyErr_Format(PyExc_AttributeError, "module '%s' has no function '%s'", module_name, function_name);
  return function;
}
