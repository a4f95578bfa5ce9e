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

enum { kIdle = 0, kRunning = -1 }; /* isolate state; above zero: a walle_vm_reason, the task is unwinding */

/* What was called lately: two names and their interned Python strings. */
typedef struct walle_vm_target {
  char *module, *function;
  PyObject *module_name, *function_name;
} walle_vm_target;
enum { WALLE_VM_KEPT_TARGETS = 4 }; /* the three phases of a task, and one more */

/* Written by the isolate's thread, read by any: relaxed, and never a locked instruction. */
typedef _Atomic uint64_t walle_vm_counter;

static inline uint64_t walle_vm_count(const walle_vm_counter* counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}
static inline void walle_vm_set_count(walle_vm_counter* counter, uint64_t value) {
  atomic_store_explicit(counter, value, memory_order_relaxed);
}
static inline void walle_vm_tally(walle_vm_counter* counter) {
  walle_vm_set_count(counter, walle_vm_count(counter) + 1);
}

struct walle_vm_isolate {
  PyThreadState* thread;
  PyInterpreterState* interp;
  atomic_int state;
  walle_vm_counter heap, heap_peak, denied, calls, cancels;
  size_t heap_cap, stack_cap;
  uint64_t denied_before;
  void* user;
  walle_vm_bundle** bundles;
  size_t bundle_count;
  char** imports; /* NULL: all allowed */
  size_t import_count;
  uint8_t* host_calls; /* NULL: all allowed */
  int refused;         /* the reason of the last refusal: import or host call */
  PyObject* tensor_type;
  walle_vm_target targets[WALLE_VM_KEPT_TARGETS];
  size_t next_target;
  size_t leaving; /* bytes of the value that is being converted for the host */
  int charging;   /* tensors that enter now were made for the task: answers of host calls */
};

extern _Thread_local walle_vm_isolate* walle_vm_current;

/* isolate.c: around host calls that take long */
void walle_vm_release_interpreter(void);
void walle_vm_regain_interpreter(walle_vm_isolate* isolate);

/* functions.c */
PyObject* walle_vm_find_function(walle_vm_isolate* isolate, const char* module, const char* function);
void walle_vm_forget_functions(walle_vm_isolate* isolate);

/* memory.c */
int walle_vm_charge(size_t bytes); /* counts native memory against the heap limit; -1 with MemoryError set */
void walle_vm_discharge(size_t bytes);
void walle_vm_install_allocators(void);
void walle_vm_install_arenas(void);

/* interrupt.c */
int walle_vm_interrupted(void);          /* 1 with an exception set */
int walle_vm_raise_if_interrupted(void); /* -1 with an exception set */
int walle_vm_unwinding(void);
void walle_vm_interrupt(walle_vm_isolate* isolate, int reason);
void walle_vm_stack_exhausted(void);
int walle_vm_stack_levels(
    size_t cap); /* C recursion levels the running thread has room for, within `cap` bytes unless 0 */

/* boot.c */
int walle_vm_start(const walle_vm_host* host, char* error, size_t error_size);
int walle_vm_prepare_interpreter(PyThreadState* thread);
const walle_vm_host* walle_vm_host_table(void);
PyThreadState* walle_vm_main_thread(void);

/* importer.c */
PyObject* walle_vm_importer_module(void);
PyObject* walle_vm_host_module(
    const char* name); /* in host_calls.c; NULL without an exception: no such module */

/* host_calls.c */
int walle_vm_prepare_host_calls(void);

/* container.c, code_reader.c, code_verify.c, code_writer.c */
typedef struct walle_vm_module {
  uint32_t name, file; /* string numbers */
  uint32_t is_package;
  uint32_t raw_size, stored_size;
  const uint8_t* stored;
  _Atomic(const uint8_t*) raw; /* inflated on first import, shared by all isolates */
} walle_vm_module;

struct walle_vm_bundle {
  atomic_int references;
  const uint8_t* string_pool; /* inflated */
  uint8_t* string_memory;
  uint32_t* string_offsets; /* count + 1 */
  uint32_t string_count;
  walle_vm_module* modules;
  uint32_t module_count;
};

/* What the modules of one container will become: few bytes can name one long string, or deflate to one
 * constant, very often. */
typedef struct {
  uint64_t objects, string_bytes;
} walle_vm_weight;

/* Longer qualified names are stored: a bundle of few bytes could otherwise ask for gigabytes of derived ones.
 */
enum { WALLE_VM_DERIVED_NAME = 4096 };

extern const char walle_vm_id[];
walle_vm_bundle* walle_vm_library(void); /* the built-in container */
walle_vm_bundle* walle_vm_bundle_open_checked(const uint8_t* data, size_t size, int trusted, char* error,
                                              size_t error_size);
void walle_vm_bundle_drop(walle_vm_bundle* bundle);
walle_vm_module* walle_vm_bundle_find(walle_vm_bundle* bundle, const char* name, size_t size);
uint32_t walle_vm_checksum(const uint8_t* data, size_t size); /* CRC-32 */
const uint8_t* walle_vm_module_bytes(walle_vm_module* module);
int walle_vm_inflate(const uint8_t* data, size_t size, uint8_t* out,
                     size_t out_size); /* 0 only when exactly filled */
int walle_vm_verify_module(const walle_vm_bundle* bundle, const uint8_t* data, size_t size,
                           walle_vm_weight* weight, char* error, size_t error_size);
PyObject* walle_vm_read_module(walle_vm_bundle* bundle, walle_vm_module* module);
int walle_vm_write_container(const walle_vm_source* sources, size_t count, int library, walle_vm_blob* blob);

/* values.c, tensor.c */
PyObject* walle_vm_to_python(const walle_vm_value* value);
int walle_vm_from_python(PyObject* object, walle_vm_value* value, void** arena);
PyObject* walle_vm_tensor_wrap(walle_vm_tensor* tensor,
                               int charged);           /* retains; charged: counts as the task's memory */
walle_vm_tensor* walle_vm_tensor_of(PyObject* object); /* NULL without an exception: not a tensor */
PyObject* walle_vm_tensor_type(void);                  /* borrowed */

/* arena.c: what results live in */
void* walle_vm_arena_take(void** arena, size_t size);
char* walle_vm_arena_text(void** arena, const char* text, size_t size);
void walle_vm_arena_free(void* arena);

/* failure.c: turns the pending exception (or the interrupt) into a failed result */
void walle_vm_fail(walle_vm_isolate* isolate, walle_vm_result* result);
void walle_vm_fail_plain(walle_vm_result* result, const char* type, const char* message);

#endif
