/* Failures: exceptions as plain data, and back. */
#ifndef WALLE_VM_FAILURE_H
#define WALLE_VM_FAILURE_H

#include "vm/inside/run/state.h"

/* Turns the pending exception (or the interrupt) into a failed result. */
void wvm_fail(wvm_isolate* isolate, wvm_result* result);
void wvm_fail_plain(wvm_result* result, const char* type, const char* message);
void wvm_raise(const wvm_error* error); /* frees its text; an exception that is set already stays */

#endif
