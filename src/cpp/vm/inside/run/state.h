/* State: the isolate, as all of vm/inside/ sees it. These files are compiled against CPython's internal
 * headers and live in the VM library; nothing here is visible outside it. run/ is what every isolate
 * stands on (memory, interrupts, failures), values/ and code/ are what goes in and out, boot/ puts them
 * together.
 *
 * The isolate of the running thread is in a thread-local: allocators and long loops ask it. `state` is the
 * only field that another thread writes; it may read the counters. */
#ifndef WALLE_VM_STATE_H
#define WALLE_VM_STATE_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include "vm/abi.h"

/* Of the values of one call that leave. */
enum { WVM_MAX_TENSORS = 10000 };

/* Isolate state; above zero: a wvm_reason, the task is unwinding. kNudged: running, and the host wants to be
 * asked. */
enum { kIdle = 0, kRunning = -1, kNudged = -2 };

/* What was called lately: two names and their interned Python strings. */
typedef struct wvm_target {
  char *module, *function;
  PyObject *module_name, *function_name;
} wvm_target;
enum { WVM_KEPT_TARGETS = 4 }; /* the three phases of a task, and one more */

/* An import that C code of the library has under way: what it asked for, and in whose frame. Lives on the C
 * stack of PyImport_Import, whose edit holds room for it as three pointers. */
typedef struct wvm_question {
  PyObject* name;
  const struct _PyInterpreterFrame* frame;
  struct wvm_question* outer;
} wvm_question;

/* Written by the isolate's thread, read by any: relaxed, and never a locked instruction. */
typedef _Atomic uint64_t wvm_counter;

static inline uint64_t wvm_count(const wvm_counter* counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}
static inline void wvm_set_count(wvm_counter* counter, uint64_t value) {
  atomic_store_explicit(counter, value, memory_order_relaxed);
}
static inline void wvm_tally(wvm_counter* counter) { wvm_set_count(counter, wvm_count(counter) + 1); }

struct wvm_isolate {
  PyThreadState* thread;
  PyInterpreterState* interp;
  atomic_int state;
  wvm_counter heap, heap_peak, denied, calls, cancels;
  size_t heap_cap, stack_cap;
  uint64_t collect_at;  /* heap bytes beyond which garbage is looked for; 0: the next call decides */
  int wants_collection; /* at the next safe place between two instructions */
  uint64_t denied_before;
  void* user;
  wvm_bundle** bundles;
  size_t bundle_count;
  char** imports;      /* NULL: all allowed; ends with NULL */
  uint8_t* host_calls; /* NULL: all allowed */
  int refused;         /* the reason of the last refusal: import or host call */
  wvm_question* question;
  PyObject* tensor_type;
  wvm_target targets[WVM_KEPT_TARGETS];
  size_t next_target;
  /* Calls must not fail: its modules and types are being taken apart, or the exception that ends it is made.
   */
  int ending, raising;
  size_t leaving;      /* bytes of the values that are being converted for the host */
  int leaving_tensors; /* how many are in them */
  int charging;        /* tensors that enter now were made for the task: answers of host calls */
  /* Whose host call the host was in when it called this one on the same thread; leaving goes back there. */
  struct wvm_isolate* outer;
};

extern _Thread_local wvm_isolate* wvm_current;

#endif
