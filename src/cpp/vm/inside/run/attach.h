/* Attaching: which isolate the running thread is in; NULL for none, as around a host call that takes long. */
#ifndef WALLE_VM_ATTACH_H
#define WALLE_VM_ATTACH_H

#include "vm/inside/run/state.h"

/* An isolate starts no threads and is entered by one at a time (the boundary's rule), so its own lock can
 * have no second customer: it is taken once, when the interpreter is made, and from then on entering means to
 * become the current thread. Taking and dropping it per call cost 0.2 us in two mutexes and two signals. */
static inline void wvm_attach_thread(wvm_isolate* isolate) {
  wvm_current = isolate;
  _Py_tss_tstate = isolate == NULL ? NULL : isolate->thread;
}

#endif
