/* Host calls: functions of the host as modules that a task imports. */
#ifndef WALLE_VM_HOST_CALLS_H
#define WALLE_VM_HOST_CALLS_H

#include "vm/inside/run/state.h"

int wvm_prepare_host_calls(void);
PyObject* wvm_host_module(const char* name); /* NULL without an exception: no such module */

#endif
