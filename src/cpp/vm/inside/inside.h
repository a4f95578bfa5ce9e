/* Shared by the files of this folder only. They are compiled against CPython's internal headers and live in
 * the VM library; nothing here is visible outside it.
 *
 * The isolate of the running thread is in a thread-local: allocators and long loops ask it. `state` is the
 * only field that another thread writes; it may read the counters. */
#ifndef WALLE_VM_INSIDE_H
#define WALLE_VM_INSIDE_H

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
  size_t leaving; /* bytes of the value that is being converted for the host */
  int charging;   /* tensors that enter now were made for the task: answers of host calls */
  /* Whose host call the host was in when it called this one on the same thread; leaving goes back there. */
  struct wvm_isolate* outer;
};

extern _Thread_local wvm_isolate* wvm_current;

/* isolate.c: around host calls that take long */
void wvm_release_interpreter(void);
void wvm_regain_interpreter(wvm_isolate* isolate);

/* functions.c */
PyObject* wvm_find_function(wvm_isolate* isolate, const char* module, const char* function);
void wvm_forget_functions(wvm_isolate* isolate);

/* memory.c */
/* Counts native memory against the heap limit; -1 with MemoryError set. Where it may, it collects garbage
 * first: that runs finalisers of the task, so nothing half made may be in reach. */
int wvm_charge(size_t bytes, int may_collect);
void wvm_collect_garbage(void);
void wvm_discharge(size_t bytes);
void wvm_install_allocators(void);
void wvm_install_arenas(void);

/* interrupt.c */
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

/* boot.c */
int wvm_start(const wvm_host* host, char* error, size_t error_size);
int wvm_prepare_interpreter(PyThreadState* thread);
const wvm_host* wvm_host_table(void);
PyThreadState* wvm_main_thread(void);

/* importer.c */
PyObject* wvm_importer_module(void);
int wvm_check_import(PyObject* name); /* -1 with ImportError: not on the task's list of imports */
void wvm_library_asks(wvm_question* question, PyObject* name);
void wvm_library_asked(const wvm_question* question);
PyObject* wvm_host_module(const char* name); /* in host_calls.c; NULL without an exception: no such module */

/* host_calls.c */
int wvm_prepare_host_calls(void);
void wvm_raise(const wvm_error* error); /* frees its text; an exception that is set already stays */

/* container.c, code_reader.c, code_verify.c, code_writer.c */
typedef struct wvm_module {
  uint32_t name, file; /* string numbers */
  uint32_t is_package;
  uint32_t raw_size, stored_size;
  struct wvm_module* prior; /* the module that it was deflated behind; NULL: none */
  const uint8_t* stored;
  _Atomic(const uint8_t*) raw; /* inflated on first import, shared by all isolates */
} wvm_module;

struct wvm_bundle {
  atomic_int references;
  const uint8_t* string_pool; /* inflated */
  uint8_t* string_memory;
  uint32_t* string_offsets; /* count + 1 */
  uint32_t string_count;
  wvm_module* modules;
  uint32_t module_count;
};

/* What the modules of one container will become: few bytes can name one long string, or deflate to one
 * constant, very often. */
typedef struct {
  uint64_t objects, string_bytes;
} wvm_weight;

/* Longer qualified names are stored: a bundle of few bytes could otherwise ask for gigabytes of derived ones.
 */
enum { WVM_DERIVED_NAME = 4096 };

/* In co_flags of the library's own code, set by code_reader.c alone: who asks for an import goes by it. No
 * flag of CPython's, and none that a bundle or replace() can set. */
enum { WVM_LIBRARY_CODE = 1 << 30 };

extern const char wvm_id[];
wvm_bundle* wvm_library(void); /* the built-in container */
wvm_bundle* wvm_bundle_open_checked(const uint8_t* data, size_t size, int trusted, char* error,
                                    size_t error_size);
void wvm_bundle_drop(wvm_bundle* bundle);
wvm_module* wvm_bundle_find(wvm_bundle* bundle, const char* name, size_t size);
uint32_t wvm_checksum(const uint8_t* data, size_t size); /* CRC-32 */
const uint8_t* wvm_module_bytes(wvm_module* module);
/* 0 only when exactly filled. `prior`: bytes that are thought to come before `out`. */
int wvm_inflate(const uint8_t* data, size_t size, uint8_t* out, size_t out_size, const uint8_t* prior,
                size_t prior_size);
int wvm_verify_module(const wvm_bundle* bundle, const uint8_t* data, size_t size, wvm_weight* weight,
                      char* error, size_t error_size);
PyObject* wvm_read_module(wvm_bundle* bundle, wvm_module* module);
int wvm_write_container(const wvm_source* sources, size_t count, int library, wvm_blob* blob);

/* tensor.c (values.c: vm/inside/values.h) */
PyObject* wvm_tensor_wrap(wvm_tensor* tensor,
                          int charged); /* retains; charged: counts as the task's memory */
int wvm_is_tensor(PyObject* object);
/* A tensor of just its elements, borrowed from the object or held by the arena. NULL with an exception set.
 */
wvm_tensor* wvm_tensor_of(PyObject* object, void** arena);
PyObject* wvm_tensor_type(void); /* borrowed */

/* arena.c: what results live in */
void* wvm_arena_take(void** arena, size_t size);
char* wvm_arena_text(void** arena, const char* text, size_t size);
int wvm_arena_hold(void** arena, wvm_tensor* tensor); /* takes the reference over; -1: no memory */
void wvm_arena_free(void* arena);

/* failure.c: turns the pending exception (or the interrupt) into a failed result */
void wvm_fail(wvm_isolate* isolate, wvm_result* result);
void wvm_fail_plain(wvm_result* result, const char* type, const char* message);

#endif
