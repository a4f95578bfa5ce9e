/* Functions of a task by name. */
#ifndef WALLE_VM_FUNCTIONS_H
#define WALLE_VM_FUNCTIONS_H

#include "vm/inside/run/state.h"

PyObject* wvm_find_function(wvm_isolate* isolate, const char* module, const char* function);
void wvm_forget_functions(wvm_isolate* isolate);

#endif
