/* ABI: the boundary between the VM library (CPython, C, every symbol hidden) and the C++ room that loads
 * it.
 *
 * Plain C, no allocation contract across it except where a release function is named. One exported function
 * returns the table below; both sides compare WVM_ABI first. Thread rules: an isolate is used by one
 * thread at a time (any thread); cancel() alone may come from any thread while a call runs.
 *
 * Names here and behind here begin with wvm_ or WVM_, after the magic number of the VM's bytecode containers.
 * walle_vm_ belongs to the public C API (walle/vm.h), whose walle_vm_value_t is another struct than
 * wvm_value: an application never sees this header, and neither side of this boundary includes that one. The
 * single exported symbol is walle_vm_entry, because whatever our libraries export begins with walle_. */
#ifndef WALLE_VM_ABI_H
#define WALLE_VM_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WVM_ABI 6u
#define WVM_MAX_RANK 8
#define WVM_MAX_HOST_ARGS 16

typedef enum {
  WVM_NONE = 0,
  WVM_BOOL = 1,
  WVM_INT = 2,
  WVM_FLOAT = 3,
  WVM_STR = 4, /* UTF-8 */
  WVM_BYTES = 5,
  WVM_LIST = 6, /* `size` items */
  WVM_MAP = 7,  /* 2 * `size` items: key, value, key, value */
  WVM_TENSOR = 8,
  WVM_BUFFER = 9 /* bytes that are shared instead of copied, through `tensor`; inside: a memoryview */
} wvm_kind;

/* A reference-counted native buffer with element type and shape; dtype numbers are those of tensor/dtype.h.
 * Whoever stores the pointer retains it. */
typedef struct wvm_tensor {
  void (*retain)(struct wvm_tensor*);
  void (*release)(struct wvm_tensor*);
  void* data;
  int64_t bytes;
  int64_t shape[WVM_MAX_RANK];
  uint8_t rank;
  uint8_t dtype;
  uint8_t read_only;
} wvm_tensor;

typedef struct wvm_value {
  uint64_t kind;
  uint64_t size; /* bytes of str/bytes, items of list, pairs of map */
  union {
    int64_t integer; /* also bool */
    double real;
    const char* text; /* str and bytes */
    struct wvm_value* items;
    wvm_tensor* tensor;
  } as;
} wvm_value;

/* Why a call ended early. Order is part of the boundary. */
typedef enum {
  WVM_REASON_NONE = 0,
  WVM_REASON_CANCELLED = 1,
  WVM_REASON_WALL = 2,
  WVM_REASON_CPU = 3,
  WVM_REASON_HEAP = 4,
  WVM_REASON_STACK = 5,
  WVM_REASON_IMPORT = 6,
  WVM_REASON_HOST_CALL = 7
} wvm_reason;

typedef struct wvm_frame {
  const char* file;
  const char* function;
  int32_t line; /* 0: unknown */
} wvm_frame;

/* How an exception belongs to the one that names it in `related`. */
typedef enum {
  WVM_CAUSE = 0,   /* raise ... from it */
  WVM_CONTEXT = 1, /* raised while it was handled */
  WVM_MEMBER = 2   /* in an exception group */
} wvm_relation;

typedef struct wvm_failure {
  uint32_t relation; /* wvm_relation, to the one that names it */
  const char* type;  /* "ZeroDivisionError" */
  const char* message;
  const wvm_frame* frames; /* outermost first */
  size_t frame_count;
  const char* const* notes;
  size_t note_count;
  const struct wvm_failure* related; /* a cause or a context, then members */
  size_t related_count;
} wvm_failure;

/* What a call leaves behind: on success `value`, otherwise the failure. Everything it points to lives in
 * `arena` until release_result(). */
typedef struct wvm_result {
  int ok;
  wvm_value value;
  int reason; /* wvm_reason */
  wvm_failure failure;
  void* arena;
} wvm_result;

typedef struct wvm_limits {
  uint64_t heap_bytes;        /* Python objects and native buffers that the task made; 0: unlimited */
  uint64_t stack_bytes;       /* C stack of a call; 0: what the calling thread has left */
  uint32_t python_depth;      /* Python frames; 0: the default, 1000 */
  uint32_t allow_all_imports; /* 0: only the names below (and what the library itself imports) */
  const char* const* imports;
  size_t import_count;
  const uint8_t* host_calls; /* one flag per host function; NULL: all allowed */
} wvm_limits;

typedef struct wvm_stats {
  uint64_t heap_bytes;
  uint64_t heap_peak;
  uint64_t calls;
  uint64_t cancels;
  uint64_t denied_allocations;
} wvm_stats;

typedef struct wvm_isolate wvm_isolate;
typedef struct wvm_bundle wvm_bundle;

/* What a host call's error is in the task: the exception of that name. */
typedef enum {
  WVM_RUNTIME_ERROR = 0,
  WVM_TYPE_ERROR = 1,
  WVM_VALUE_ERROR = 2,
  WVM_KEY_ERROR = 3,
  WVM_INDEX_ERROR = 4,
  WVM_OVERFLOW_ERROR = 5,
  WVM_OS_ERROR = 6,
  WVM_MEMORY_ERROR = 7,
  WVM_PERMISSION_ERROR = 8,
  WVM_TIMEOUT_ERROR = 9,
  WVM_LOOKUP_ERROR = 10,
  WVM_FILE_NOT_FOUND_ERROR = 11,
  WVM_FILE_EXISTS_ERROR = 12,
  WVM_CONNECTION_ERROR = 13,
  WVM_NOT_IMPLEMENTED_ERROR = 14
} wvm_error_kind;

/* Whoever is given one frees its text with free(): it may be of any length. */
typedef struct wvm_error {
  int kind;   /* wvm_error_kind */
  char* text; /* from malloc(); NULL where there was no memory for it */
} wvm_error;

/* What the host fills in and the VM has cleared. `free_result` is called right after conversion. */
typedef struct wvm_host_result {
  wvm_value value;
  void (*free_result)(void* state);
  void* state;
  int exhausted; /* with an error: there may be room once the task's garbage is gone */
  wvm_error error;
} wvm_host_result;

/* One function that the host lends to tasks; lives as long as the process. Arguments are borrowed for the
 * call. Those that come by keyword stand in their places, and what was left out in front of them is WVM_NONE;
 * `count` ends with the last one given. call() returns 0, or -1 with the result's `error` filled in, which
 * names the function. */
typedef struct wvm_host_function {
  const char* module; /* "walle.kv" */
  const char* name;
  const char* doc;
  const char* const* keywords; /* max_args names of the parameters; NULL: by position alone */
  uint16_t min_args;
  uint16_t max_args; /* at most WVM_MAX_HOST_ARGS */
  uint32_t blocking; /* nonzero: the interpreter is released around the call; costs about 0.1 us */
  int (*call)(const struct wvm_host_function* self, void* isolate_user, const wvm_value* args, size_t count,
              wvm_host_result* result);
} wvm_host_function;

/* A window of a tensor: its element (i, j, ...) is the tensor's element offset + i * stride[0] + j *
 * stride[1]
 * ... Functions below that make tensors give them with one reference, the caller's. */
typedef struct wvm_view {
  wvm_tensor* tensor;
  int64_t offset;
  int64_t shape[WVM_MAX_RANK];
  int64_t stride[WVM_MAX_RANK];
  uint8_t rank;
} wvm_view;

/* How an integer lies to int64: in it, above it but in uint64 (its bits in `integer`), above, or below. */
typedef enum { WVM_IN_INT64 = 0, WVM_IN_UINT64 = 1, WVM_ABOVE = 2, WVM_BELOW = 3 } wvm_range;

/* One side of an operator: a view, or where that is NULL a number of Python's: bool, int or float. */
typedef struct wvm_operand {
  const wvm_view* view;
  wvm_value number;
  uint8_t range; /* wvm_range, of an int */
} wvm_operand;

/* The first is added to, the second taken from what counts against the task's heap limit. charge() gives -1
 * with a MemoryError set in the task. must_stop(): nonzero once the call is to end; what takes longer than
 * its operands take to be read asks every few milliseconds. */
typedef struct wvm_budget {
  int (*charge)(size_t bytes);
  void (*discharge)(size_t bytes);
  int (*must_stop)(void);
} wvm_budget;

/* Operators and reductions; the order is that of array/operators.h, with the product of matrices behind its
 * binary ones, and of array/reduce.h. */
typedef enum {
  WVM_ADD,
  WVM_SUBTRACT,
  WVM_MULTIPLY,
  WVM_DIVIDE,
  WVM_FLOOR_DIVIDE,
  WVM_REMAINDER,
  WVM_POWER,
  WVM_AND,
  WVM_OR,
  WVM_XOR,
  WVM_LEFT_SHIFT,
  WVM_RIGHT_SHIFT,
  WVM_MAXIMUM,
  WVM_MINIMUM,
  WVM_EQUAL,
  WVM_NOT_EQUAL,
  WVM_LESS,
  WVM_LESS_EQUAL,
  WVM_GREATER,
  WVM_GREATER_EQUAL,
  WVM_MATRIX_MULTIPLY
} wvm_binary;
typedef enum { WVM_NEGATIVE, WVM_ABSOLUTE, WVM_INVERT, WVM_EXP, WVM_LOG } wvm_unary;
typedef enum {
  WVM_SUM,
  WVM_PROD,
  WVM_MEAN,
  WVM_MIN,
  WVM_MAX,
  WVM_ANY,
  WVM_ALL,
  WVM_ARGMIN,
  WVM_ARGMAX
} wvm_reduction;

/* An item of t[1, ::2, None, ...]; start, stop and step of a slice as written (PySlice_Unpack). */
typedef enum { WVM_INTEGER, WVM_SLICE, WVM_NEW_AXIS, WVM_ELLIPSIS } wvm_index_kind;
typedef struct wvm_index {
  uint8_t kind; /* wvm_index_kind */
  int64_t start, stop, step;
} wvm_index;
enum { WVM_MAX_INDEX = 2 * WVM_MAX_RANK + 1 };

/* What walle.Tensor computes with, the host's kernels. Views are read where they lie; results are dense and
 * their bytes are charged. Functions give 0, or -1 with `error` filled in. Those that only describe another
 * view of the same memory leave its reference count alone. */
typedef struct wvm_arrays {
  int (*binary)(int op, const wvm_operand* x, const wvm_operand* y, const wvm_budget*, wvm_view* out,
                wvm_error*);
  int (*unary)(int op, const wvm_view* x, const wvm_budget*, wvm_view* out, wvm_error*);
  /* x where the condition is true, y elsewhere. */
  int (*where)(const wvm_operand* condition, const wvm_operand* x, const wvm_operand* y, const wvm_budget*,
               wvm_view* out, wvm_error*);
  int (*reduce)(int op, const wvm_view* x, uint32_t axes, int keep_axes, const wvm_budget*, wvm_view* out,
                wvm_error*);
  int (*astype)(const wvm_view* x, uint8_t dtype, const wvm_budget*, wvm_view* out, wvm_error*);
  /* Of numbers that were written down: what the dtype cannot hold is an error. */
  int (*convert)(const wvm_view* x, uint8_t dtype, const wvm_budget*, wvm_view* out, wvm_error*);
  /* x[...] = y. `same_kind`: only where no kind of number is lost, as for in-place operators. */
  int (*assign)(const wvm_view* x, const wvm_operand* y, int same_kind, const wvm_budget*, wvm_error*);
  int (*index)(const wvm_view* x, const wvm_index* items, size_t count, wvm_view* out, wvm_error*);
  int (*transpose)(const wvm_view* x, const int* axes, wvm_view* out, wvm_error*);
  /* `out->tensor` is x's own where no copy is needed; one size of `shape` may be -1. */
  int (*reshape)(const wvm_view* x, const int64_t* shape, int rank, const wvm_budget*, wvm_view* out,
                 wvm_error*);
  /* A tensor of just these elements: over the same memory where they lie densely. NULL: no memory. */
  wvm_tensor* (*dense)(const wvm_view* x);
} wvm_arrays;

typedef struct wvm_host {
  void (*log)(void* isolate_user, int level, const char* text, size_t size);
  wvm_tensor* (*allocate_tensor)(uint8_t dtype, uint8_t rank, const int64_t* shape); /* NULL: no memory */
  const wvm_arrays* arrays;
  /* Asked by the thread that runs a nudged call: nonzero ends the call as cancelled. It may call isolates. */
  int (*must_stop)(void* isolate_user);
  const wvm_host_function* functions; /* lives as long as the process */
  size_t function_count;
} wvm_host;

typedef struct wvm_source {
  const char* name; /* dotted module name */
  const char* file; /* shown in tracebacks */
  const char* text;
  size_t size;
  int is_package;
} wvm_source;

typedef struct wvm_blob {
  const uint8_t* data;
  size_t size;
  void* arena;
} wvm_blob;

typedef struct wvm_api {
  uint32_t abi;
  const char* id;      /* bytecode compiled for another id is refused */
  const char* flavour; /* "device" or "full" */
  const char* python;  /* "3.13.5" */
  /* Once per process and library; later calls return the first answer. 0 or -1 with `error`. */
  int (*start)(const wvm_host* host, char* error, size_t error_size);
  /* Without limits; `user` is what host calls and the log are given. */
  wvm_isolate* (*create)(void* user, wvm_result* failure);
  void (*destroy)(wvm_isolate*);
  /* The limits of an isolate that is idle, from its next call on; what it has imported stays. -1: no memory,
   * and nothing has changed. */
  int (*limit)(wvm_isolate*, const wvm_limits* limits);
  /* Makes a bundle's modules importable; the isolate keeps its own reference. */
  int (*attach)(wvm_isolate*, wvm_bundle*, wvm_result*);
  void (*call)(wvm_isolate*, const char* module, const char* function, const wvm_value* args, size_t count,
               wvm_result*);
  /* Full flavour only: runs source as module `name`; NULL in the device flavour. */
  void (*run_source)(wvm_isolate*, const wvm_source*, wvm_result*);
  void (*cancel)(wvm_isolate*, int reason);
  /* The running call asks the host's must_stop() soon. From any thread, as cancel(). */
  void (*nudge)(wvm_isolate*);
  void (*stats)(const wvm_isolate*, wvm_stats*);
  void (*release_result)(wvm_result*);
  /* Checks structure and every code object before anything is built from it. `data` must outlive the bundle.
   */
  wvm_bundle* (*bundle_open)(const uint8_t* data, size_t size, char* error, size_t error_size);
  void (*bundle_release)(wvm_bundle*);
  /* Up to `room` names; each is the caller's to free(). Return how many there are. */
  size_t (*bundle_modules)(const wvm_bundle*, const char** names, size_t room);
  size_t (*library_modules)(const char** names, size_t room); /* built-in modules included */
  /* Full flavour only; NULL in the device flavour. Errors as a failed result. Warnings are lines of the log,
   * "file:line: SyntaxWarning: text", for `user`. */
  int (*compile)(const wvm_source* sources, size_t count, void* user, wvm_blob* blob, wvm_result* failure);
  void (*release_blob)(wvm_blob*);
} wvm_api;

/* The only exported symbol. NULL when `abi` is not served. */
const wvm_api* walle_vm_entry(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
