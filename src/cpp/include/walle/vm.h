/* vm.h: run Python tasks in isolates. C99; part of libwalle, beside walle.h, whose rules on errors and
 * ownership hold.
 *
 * A VM library (libwalle_vm_device.so, or _full with a compiler) is opened once; bundles (.wtask files) are
 * opened for it; isolates run them. An isolate may be used by any thread, one at a time; walle_vm_cancel and
 * walle_vm_get_stats may come from any thread while a call runs. What a task does wrong is data: the call
 * returns WALLE_TASK and a result that says what happened and where, and the isolate stays usable.
 */
#ifndef WALLE_VM_H
#define WALLE_VM_H

#include <walle/walle.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct walle_vm_t walle_vm_t;
typedef struct walle_vm_bundle_t walle_vm_bundle_t;
typedef struct walle_vm_isolate_t walle_vm_isolate_t;
typedef struct walle_vm_result_t walle_vm_result_t;
typedef struct walle_vm_buffer_t walle_vm_buffer_t;

typedef enum walle_vm_kind_t {
  WALLE_KIND_NONE = 0,
  WALLE_KIND_BOOL = 1,   /* as.integer */
  WALLE_KIND_INT = 2,    /* as.integer */
  WALLE_KIND_FLOAT = 3,  /* as.real */
  WALLE_KIND_STR = 4,    /* as.text, size bytes of UTF-8; results end with a zero besides */
  WALLE_KIND_BYTES = 5,  /* as.text, size bytes; copied on the way in */
  WALLE_KIND_LIST = 6,   /* as.items, size of them */
  WALLE_KIND_MAP = 7,    /* as.items, 2 * size of them: key, value, key, value; keys are str */
  WALLE_KIND_TENSOR = 8, /* as.tensor */
  WALLE_KIND_BUFFER = 9  /* as.buffer: bytes that are shared; the task sees a memoryview */
} walle_vm_kind_t;

/* A dense row-major tensor over a buffer, from its first byte on. Both sides see the same memory. */
typedef struct walle_vm_tensor_t {
  walle_dtype_t dtype;
  int32_t rank;
  int64_t shape[WALLE_MAX_RANK];
  walle_vm_buffer_t* buffer;
} walle_vm_tensor_t;

typedef struct walle_vm_value_t {
  walle_vm_kind_t kind;
  size_t size;
  union {
    int64_t integer;
    double real;
    const char* text;
    const struct walle_vm_value_t* items;
    const walle_vm_tensor_t* tensor;
    walle_vm_buffer_t* buffer;
  } as;
} walle_vm_value_t;

/* Level 0 debug, 1 info, 2 warning, 3 error. Called by the thread that runs the task. */
typedef void (*walle_vm_log_t)(void* user, int level, const char* text, size_t size);

/* Set struct_size to sizeof(walle_vm_options_t) and everything else to zero: no limit, no log, no walle.kv.
 */
typedef struct walle_vm_options_t {
  size_t struct_size;
  uint64_t heap_bytes;
  uint32_t wall_ms;     /* per call */
  uint32_t cpu_ms;      /* per call */
  uint32_t depth;       /* nested Python calls; 0: 1000 */
  uint32_t stack_bytes; /* C stack of a call; 0: all that the calling thread has */
  /* Top-level modules that the task may import and host calls ("walle.kv" or "walle.kv.get") that it may use.
   * A NULL list allows everything, a list of no names nothing. */
  const char* const* imports;
  size_t import_count;
  const char* const* host_calls;
  size_t host_call_count;
  walle_vm_log_t log;
  void* log_user;
  const char* state_path; /* file of walle.kv; "": kept in memory; NULL: walle.kv refuses */
  uint64_t state_bytes;   /* what walle.kv may keep; 0: 1 MB */
  uint64_t log_bytes;     /* what one call may log, 64 bytes a line beside its text; 0: 1 MB */
} walle_vm_options_t;

typedef struct walle_vm_stats_t {
  uint64_t heap_bytes;
  uint64_t heap_peak;
  uint64_t calls;
  uint64_t cancels;
  uint64_t denied_allocations;
} walle_vm_stats_t;

typedef struct walle_vm_frame_t {
  const char* file;
  const char* function;
  int32_t line; /* 0: not known */
} walle_vm_frame_t;

/* How a call ended that did not return. Strings belong to the result. */
typedef struct walle_vm_failure_t {
  const char* type; /* "ZeroDivisionError", "LimitExceeded", "Cancelled" */
  const char* message;
  const char* limit; /* "", or "heap", "wall", "cpu", "stack", "import", "host_call", "cancelled" */
  const walle_vm_frame_t* frames; /* outermost first */
  size_t frame_count;
} walle_vm_failure_t;

/* Loads a VM library; it stays loaded as long as the process. */
WALLE_API walle_status_t walle_vm_open(const char* library_path, walle_vm_t** vm, walle_error_t* error);
WALLE_API void walle_vm_free(walle_vm_t* vm);
/* What bundles must be compiled for; "device" or "full"; "3.13.5". */
WALLE_API const char* walle_vm_id(const walle_vm_t* vm);
WALLE_API const char* walle_vm_flavour(const walle_vm_t* vm);
WALLE_API const char* walle_vm_python(const walle_vm_t* vm);

/* The file stays mapped while the bundle or an isolate that has it lives. Everything in it is checked first.
 */
WALLE_API walle_status_t walle_vm_bundle_load(walle_vm_t* vm, const char* path, walle_vm_bundle_t** bundle,
                                              walle_error_t* error);
/* The bytes are copied. */
WALLE_API walle_status_t walle_vm_bundle_parse(walle_vm_t* vm, const void* data, size_t bytes,
                                               walle_vm_bundle_t** bundle, walle_error_t* error);
WALLE_API void walle_vm_bundle_free(walle_vm_bundle_t* bundle);

/* options may be NULL. */
WALLE_API walle_status_t walle_vm_create(walle_vm_t* vm, const walle_vm_options_t* options,
                                         walle_vm_isolate_t** isolate, walle_error_t* error);
/* The interpreter ends on another thread. */
WALLE_API void walle_vm_destroy(walle_vm_isolate_t* isolate);
/* The bundle's modules become importable; the isolate keeps it alive. */
WALLE_API walle_status_t walle_vm_load(walle_vm_isolate_t* isolate, const walle_vm_bundle_t* bundle,
                                       walle_error_t* error);
/* Imports `module` if needed and calls its function on the calling thread. *result is set when the call
 * returned (WALLE_OK) and when the task failed (WALLE_TASK; see walle_vm_result_failure), otherwise NULL. */
WALLE_API walle_status_t walle_vm_call(walle_vm_isolate_t* isolate, const char* module, const char* function,
                                       const walle_vm_value_t* args, size_t count, walle_vm_result_t** result,
                                       walle_error_t* error);
/* Stops the call that runs now, if any. */
WALLE_API void walle_vm_cancel(walle_vm_isolate_t* isolate);
/* A fresh interpreter under the same options with the same bundles. */
WALLE_API walle_status_t walle_vm_reset(walle_vm_isolate_t* isolate, walle_error_t* error);
WALLE_API walle_status_t walle_vm_get_stats(const walle_vm_isolate_t* isolate, walle_vm_stats_t* stats,
                                            walle_error_t* error);

/* NULL when the task failed. The value belongs to the result. */
WALLE_API const walle_vm_value_t* walle_vm_result_value(const walle_vm_result_t* result);
/* WALLE_ARGUMENT when the call returned. */
WALLE_API walle_status_t walle_vm_result_failure(const walle_vm_result_t* result, walle_vm_failure_t* failure,
                                                 walle_error_t* error);
/* A failure as Python prints it: traceback with the lines of the sources, causes, notes, members of exception
 * groups. Belongs to the result; "" when the call returned. */
WALLE_API const char* walle_vm_result_text(const walle_vm_result_t* result);
WALLE_API void walle_vm_result_free(walle_vm_result_t* result);

/* Reference-counted memory. A task may keep what it was given: release(user) is called, on any thread, when
 * the last holder lets go. walle_vm_buffer_free gives up the caller's reference. */
WALLE_API walle_status_t walle_vm_buffer_allocate(size_t bytes, walle_vm_buffer_t** buffer,
                                                  walle_error_t* error);
WALLE_API walle_status_t walle_vm_buffer_wrap(void* data, size_t bytes, int writable,
                                              void (*release)(void* user), void* user,
                                              walle_vm_buffer_t** buffer, walle_error_t* error);
WALLE_API void* walle_vm_buffer_data(const walle_vm_buffer_t* buffer);
WALLE_API size_t walle_vm_buffer_size(const walle_vm_buffer_t* buffer);
WALLE_API void walle_vm_buffer_free(walle_vm_buffer_t* buffer);

#ifdef __cplusplus
}
#endif

#endif /* WALLE_VM_H */
