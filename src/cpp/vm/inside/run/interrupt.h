/* Interrupts: whether the task is to stop, and how. */
#ifndef WALLE_VM_INTERRUPT_H
#define WALLE_VM_INTERRUPT_H

#include "vm/inside/run/state.h"

int wvm_must_stop(void);            /* 1 without an exception; asks the host where it wants to be asked */
int wvm_interrupted(void);          /* 1 with an exception set */
int wvm_interrupted_call(void);     /* the same for calls, but for those that must not fail */
int wvm_raise_if_interrupted(void); /* -1 with an exception set */
int wvm_unwinding(void);
void wvm_interrupt(wvm_isolate* isolate, int reason);
void wvm_nudge(wvm_isolate* isolate);
void wvm_stack_exhausted(void);
int wvm_stack_levels(
    size_t cap); /* C recursion levels the running thread has room for, within `cap` bytes unless 0 */

#endif
