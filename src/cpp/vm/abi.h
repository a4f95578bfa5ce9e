/* The boundary between the VM library (CPython, C, every symbol hidden) and the C++ room that loads it.
 *
 * Plain C, no allocation contract across it except where a release function is named. One exported function
 * returns the table below; both sides compare WALLE_VM_ABI first. Thread rules: an isolate is used by one
 * thread at a time (any thread); cancel() alone may come from any thread while a call runs. */
#ifndef WALLE_VM_ABI_H
#define WALLE_VM_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WALLE_VM_ABI 2u
#define WALLE_VM_MAX_RANK 8

typedef enum {
  WALLE_VM_NONE = 0,
  WALLE_VM_BOOL = 1,
  WALLE_VM_INT = 2,
  WALLE_VM_FLOAT = 3,
  WALLE_VM_STR = 4, /* UTF-8 */
  WALLE_VM_BYTES = 5,
  WALLE_VM_LIST = 6, /* `size` items */
  WALLE_VM_MAP = 7,  /* 2 * `size` items: key, value, key, value */
  WALLE_VM_TENSOR = 8,
  WALLE_VM_BUFFER = 9 /* bytes that are shared instead of copied, through `tensor`; inside: a memoryview */
} walle_vm_kind;

/* A reference-counted native buffer with element type and shape; dtype numbers are those of tensor/dtype.h.
 * Whoever stores the pointer retains it. */
typedef struct walle_vm_tensor {
  void (*retain)(struct walle_vm_tensor*);
  void (*release)(struct walle_vm_tensor*);
  void* data;
  int64_t bytes;
  int64_t shape[WALLE_VM_MAX_RANK];
  uint8_t rank;
  uint8_t dtype;
  uint8_t read_only;
} walle_vm_tensor;

typedef struct walle_vm_value {
  uint64_t kind;
  uint64_t size; /* bytes of str/bytes, items of list, pairs of map */
  union {
    int64_t integer; /* also bool */
    double real;
    const char* text; /* str and bytes */
    struct walle_vm_value* items;
    walle_vm_tensor* tensor;
  } as;
} walle_vm_value;

/* Why a call ended early. Order is part of the boundary. */
typedef enum {
  WALLE_VM_REASON_NONE = 0,
  WALLE_VM_REASON_CANCELLED = 1,
  WALLE_VM_REASON_WALL = 2,
  WALLE_VM_REASON_CPU = 3,
  WALLE_VM_REASON_HEAP = 4,
  WALLE_VM_REASON_STACK = 5,
  WALLE_VM_REASON_IMPORT = 6,
  WALLE_VM_REASON_HOST_CALL = 7
} walle_vm_reason;

typedef struct walle_vm_frame {
  const char* file;
  const char* function;
  int32_t line; /* 0: unknown */
} walle_vm_frame;

/* What a call leaves behind: on success `value`, otherwise the failure. Everything it points to lives in
 * `arena` until release_result(). */
typedef struct walle_vm_result {
  int ok;
  walle_vm_value value;
  int reason;       /* walle_vm_reason */
  const char* type; /* "ZeroDivisionError" */
  const char* message;
  const walle_vm_frame* frames; /* outermost first */
  size_t frame_count;
  void* arena;
} walle_vm_result;

typedef struct walle_vm_limits {
  uint64_t heap_bytes;        /* Python objects and native buffers that the task made; 0: unlimited */
  uint64_t stack_bytes;       /* C stack of a call; 0: what the calling thread has left */
  uint32_t python_depth;      /* Python frames; 0: the default, 1000 */
  uint32_t allow_all_imports; /* 0: only the names below (and what the library itself imports) */
  const char* const* imports;
  size_t import_count;
  const uint8_t* host_calls; /* one flag per host function; NULL: all allowed */
} walle_vm_limits;

typedef struct walle_vm_stats {
  uint64_t heap_bytes;
  uint64_t heap_peak;
  uint64_t calls;
  uint64_t cancels;
  uint64_t denied_allocations;
} walle_vm_stats;

typedef struct walle_vm_isolate walle_vm_isolate;
typedef struct walle_vm_bundle walle_vm_bundle;

/* One function that the host lends to tasks. `module` is "walle.kv", arguments are borrowed for the call. The
 * host fills `result` and may set `free_result` (called right after conversion). Returns 0, or -1 with
 * `error` filled in (becomes a RuntimeError in the task). */
typedef struct walle_vm_host_result {
  walle_vm_value value;
  void (*free_result)(void* state);
  void* state;
  char error[512];
} walle_vm_host_result;

typedef struct walle_vm_host_function {
  const char* module;
  const char* name;
  const char* doc;
  uint32_t min_args;
  uint32_t max_args;
  uint32_t blocking; /* nonzero: the interpreter is released around the call; costs about 0.1 us */
  int (*call)(void* isolate_user, const walle_vm_value* args, size_t count, walle_vm_host_result* result);
} walle_vm_host_function;

typedef struct walle_vm_host {
  void (*log)(void* isolate_user, int level, const char* text, size_t size);
  walle_vm_tensor* (*allocate_tensor)(uint8_t dtype, uint8_t rank,
                                      const int64_t* shape); /* NULL: no memory */
  const walle_vm_host_function* functions;                   /* lives as long as the process */
  size_t function_count;
} walle_vm_host;

typedef struct walle_vm_source {
  const char* name; /* dotted module name */
  const char* file; /* shown in tracebacks */
  const char* text;
  size_t size;
  int is_package;
} walle_vm_source;

typedef struct walle_vm_blob {
  const uint8_t* data;
  size_t size;
  void* arena;
} walle_vm_blob;

typedef struct walle_vm_api {
  uint32_t abi;
  const char* id;      /* bytecode compiled for another id is refused */
  const char* flavour; /* "device" or "full" */
  const char* python;  /* "3.13.5" */
  /* Once per process and library; later calls return the first answer. 0 or -1 with `error`. */
  int (*start)(const walle_vm_host* host, char* error, size_t error_size);
  walle_vm_isolate* (*create)(const walle_vm_limits* limits, void* user, walle_vm_result* failure);
  void (*destroy)(walle_vm_isolate*);
  /* Makes a bundle's modules importable; the isolate keeps its own reference. */
  int (*attach)(walle_vm_isolate*, walle_vm_bundle*, walle_vm_result*);
  void (*call)(walle_vm_isolate*, const char* module, const char* function, const walle_vm_value* args,
               size_t count, walle_vm_result*);
  /* Full flavour only: runs source as module `name`; NULL in the device flavour. */
  void (*run_source)(walle_vm_isolate*, const walle_vm_source*, walle_vm_result*);
  void (*cancel)(walle_vm_isolate*, int reason);
  void (*stats)(const walle_vm_isolate*, walle_vm_stats*);
  void (*release_result)(walle_vm_result*);
  /* Checks structure and every code object before anything is built from it. `data` must outlive the bundle.
   */
  walle_vm_bundle* (*bundle_open)(const uint8_t* data, size_t size, char* error, size_t error_size);
  void (*bundle_release)(walle_vm_bundle*);
  /* Up to `room` names; each is the caller's to free(). Return how many there are. */
  size_t (*bundle_modules)(const walle_vm_bundle*, const char** names, size_t room);
  size_t (*library_modules)(const char** names, size_t room); /* built-in modules included */
  /* Full flavour only; NULL in the device flavour. Errors as a failed result. */
  int (*compile)(const walle_vm_source* sources, size_t count, walle_vm_blob* blob, walle_vm_result* failure);
  void (*release_blob)(walle_vm_blob*);
} walle_vm_api;

/* The only exported symbol. NULL when `abi` is not served. */
const walle_vm_api* walle_vm_entry(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
