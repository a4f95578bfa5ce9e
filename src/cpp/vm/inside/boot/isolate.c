/* One isolate: an interpreter with its own lock and its own memory. Entered by one thread at a time, any
 * thread. Creation and destruction are serialised by one mutex, because CPython 3.13 shares type and
 * interpreter lists between them. */
#include <pthread.h>

#include "vm/inside/boot/boot.h"
#include "vm/inside/boot/functions.h"
#include "vm/inside/boot/isolate.h"
#include "vm/inside/code/bundle.h"
#include "vm/inside/run/arena.h"
#include "vm/inside/run/attach.h"
#include "vm/inside/run/failure.h"
#include "vm/inside/run/host.h"
#include "vm/inside/run/interrupt.h"
#include "vm/inside/values/values.h"

#include <internal/pycore_ceval.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_runtime.h>

/* 60 levels and the reserve are 186 KB (interrupt.c): what a thread of 256 KB has left below its host's
 * frames. */
enum { kMinLevels = 60 };

static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;

/* The thread may be inside another isolate, in a host call of its: that one stands aside and comes back with
 * wvm_attach_thread(). */
static wvm_isolate* step_aside(void) {
  wvm_isolate* outer = wvm_current;
  wvm_attach_thread(NULL);
  return outer;
}

/* The failure is cleared where one is told (failure.c), and left alone by a call that ends well: beyond 80
 * bytes g++ clears with `rep stos`, which takes longer to start than everything else here. */
static inline void clear(wvm_result* result) {
  result->ok = 0;
  result->value = (wvm_value){0};
  result->reason = WVM_REASON_NONE;
  result->arena = NULL;
}

static int enter(wvm_isolate* isolate, wvm_result* result) {
  const int room = wvm_stack_levels(isolate->stack_cap);
  if (room < kMinLevels) {
    if (result != NULL) {
      wvm_fail_plain(result, "LimitExceeded",
                     "this thread's stack is too small to run a task: 256 KB at least");
      result->reason = WVM_REASON_STACK;
    }
    return -1;
  }
  isolate->outer = step_aside();
  wvm_attach_thread(isolate);
  /* With every call, because each may come on another thread, at another depth of the host's stack. */
  isolate->thread->c_recursion_remaining = room;
  isolate->denied_before = wvm_count(&isolate->denied);
  isolate->refused = 0;
  /* Nothing is handed over with it: the host's own lock orders one call after the other. */
  atomic_store_explicit(&isolate->state, kRunning, memory_order_relaxed);
  return 0;
}

static void leave(wvm_isolate* isolate) {
  /* A cancel between the two lines finds nothing running; one before left its bit. */
  if (atomic_exchange(&isolate->state, kIdle) != kRunning)
    _Py_unset_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
  wvm_attach_thread(isolate->outer);
}

static void free_names(char** names) {
  for (size_t i = 0; names != NULL && names[i] != NULL; ++i) free(names[i]);
  free(names);
}

/* With a NULL behind them; NULL: no memory. */
static char** copy_names(const char* const* names, size_t count) {
  char** copy = calloc(count + 1, sizeof(char*));
  for (size_t i = 0; copy != NULL && i < count; ++i) {
    if ((copy[i] = strdup(names[i])) != NULL) continue;
    free_names(copy);
    return NULL;
  }
  return copy;
}

static void free_shell(wvm_isolate* isolate) {
  free_names(isolate->imports);
  for (size_t i = 0; i < isolate->bundle_count; ++i) wvm_bundle_drop(isolate->bundles[i]);
  free(isolate->bundles);
  free(isolate->host_calls);
  free(isolate);
}

int wvm_limit(wvm_isolate* isolate, const wvm_limits* limits) {
  const size_t functions = wvm_host_table()->function_count;
  char** imports = limits->allow_all_imports ? NULL : copy_names(limits->imports, limits->import_count);
  uint8_t* host_calls = limits->host_calls ? malloc(functions + 1) : NULL;
  if ((imports == NULL && !limits->allow_all_imports) || (host_calls == NULL && limits->host_calls != NULL)) {
    free_names(imports);
    free(host_calls);
    return -1;
  }
  if (host_calls != NULL) memcpy(host_calls, limits->host_calls, functions);
  free_names(isolate->imports);
  free(isolate->host_calls);
  isolate->imports = imports;
  isolate->host_calls = host_calls;
  isolate->stack_cap = limits->stack_bytes;
  isolate->heap_cap = limits->heap_bytes;
  isolate->collect_at = 0;
  wvm_isolate* outer = step_aside();
  wvm_attach_thread(isolate);
  Py_SetRecursionLimit(limits->python_depth ? (int)limits->python_depth : Py_DEFAULT_RECURSION_LIMIT);
  wvm_attach_thread(outer);
  return 0;
}

static int new_interpreter(wvm_isolate* isolate) {
  /* Its own allocator, so that its arenas are counted and go with it; its own lock, so that isolates run side
   * by side. Without threads no second customer of the lock can come up (see attach_thread). */
  const PyInterpreterConfig config = {.use_main_obmalloc = 0,
                                      .allow_fork = 0,
                                      .allow_exec = 0,
                                      .allow_threads = 0,
                                      .allow_daemon_threads = 0,
                                      .check_multi_interp_extensions = 1,
                                      .gil = PyInterpreterConfig_OWN_GIL};
  const PyStatus status = Py_NewInterpreterFromConfig(&isolate->thread, &config);
  if (PyStatus_Exception(status) || isolate->thread == NULL) return -1;
  isolate->interp = isolate->thread->interp;
  isolate->thread->c_recursion_remaining = wvm_stack_levels(0);
  return 0;
}

static void end_interpreter(wvm_isolate* isolate) {
  /* Unwinding from the first instruction: no destructor of the task can keep its interpreter alive. */
  /* Ending takes memory here and there, and nobody could be told that there is none. */
  isolate->heap_cap = 0;
  isolate->ending = 1;
  atomic_store(&isolate->state, WVM_REASON_CANCELLED);
  _Py_set_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
  Py_CLEAR(isolate->tensor_type);
  wvm_forget_functions(isolate);
  Py_EndInterpreter(isolate->thread);
  wvm_current = NULL;
}

/* Nothing made here becomes garbage before the isolate ends: no collection while it is made, and all of it
 * goes straight to the oldest generation. */
static int prepare_quietly(wvm_isolate* isolate) {
  isolate->interp->gc.enabled = 0;
  _Py_unset_eval_breaker_bit(isolate->thread, _PY_GC_SCHEDULED_BIT);
  const int status = wvm_prepare_interpreter(isolate->thread);
  _PyGC_Freeze(isolate->interp);
  _PyGC_Unfreeze(isolate->interp);
  isolate->interp->gc.enabled = 1;
  return status;
}

static wvm_isolate* create_locked(wvm_isolate* isolate, wvm_result* failure) {
  wvm_current = isolate;
  if (new_interpreter(isolate) < 0) {
    wvm_current = NULL;
    wvm_fail_plain(failure, "MemoryError", "no memory for another isolate");
    free_shell(isolate);
    return NULL;
  }
  atomic_store(&isolate->state, kRunning);
  if (prepare_quietly(isolate) < 0) {
    wvm_fail(isolate, failure);
    end_interpreter(isolate);
    free_shell(isolate);
    return NULL;
  }
  leave(isolate);
  return isolate;
}

wvm_isolate* wvm_create(void* user, wvm_result* failure) {
  memset(failure, 0, sizeof *failure);
  wvm_isolate* isolate = wvm_stack_levels(0) < kMinLevels ? NULL : calloc(1, sizeof *isolate);
  if (isolate == NULL) {
    wvm_fail_plain(failure, "MemoryError",
                   "no memory for another isolate, or this thread's stack is below 256 KB");
    return NULL;
  }
  isolate->user = user;
  wvm_isolate* outer = step_aside();
  pthread_mutex_lock(&lifecycle);
  isolate = create_locked(isolate, failure);
  pthread_mutex_unlock(&lifecycle);
  wvm_attach_thread(outer);
  return isolate;
}

void wvm_destroy(wvm_isolate* isolate) {
  wvm_isolate* outer = step_aside();
  pthread_mutex_lock(&lifecycle);
  wvm_attach_thread(isolate);
  isolate->thread->c_recursion_remaining = wvm_stack_levels(0);
  end_interpreter(isolate);
  pthread_mutex_unlock(&lifecycle);
  wvm_attach_thread(outer);
  free_shell(isolate);
}

int wvm_attach(wvm_isolate* isolate, wvm_bundle* bundle, wvm_result* result) {
  memset(result, 0, sizeof *result);
  wvm_bundle** grown = realloc(isolate->bundles, (isolate->bundle_count + 1) * sizeof(wvm_bundle*));
  if (grown == NULL) {
    wvm_fail_plain(result, "MemoryError", "no memory");
    return -1;
  }
  isolate->bundles = grown;
  atomic_fetch_add(&bundle->references, 1);
  grown[isolate->bundle_count++] = bundle;
  result->ok = 1;
  return 0;
}

static void retain_tensors(wvm_value* value, int retain);

/* Tensors outlive the call: the result holds its own references until release. */
static inline void retain(wvm_value* value, int retain) {
  if (value->kind >= WVM_LIST) retain_tensors(value, retain);
}

static void retain_tensors(wvm_value* value, int retain) {
  if (value->kind == WVM_TENSOR || value->kind == WVM_BUFFER)
    retain ? value->as.tensor->retain(value->as.tensor) : value->as.tensor->release(value->as.tensor);
  const size_t items = value->kind == WVM_LIST ? value->size : value->kind == WVM_MAP ? 2 * value->size : 0;
  for (size_t i = 0; i < items; ++i) retain_tensors(&value->as.items[i], retain);
}

static void finish(wvm_isolate* isolate, PyObject* object, wvm_result* result) {
  if (object != NULL && !wvm_unwinding() &&
      wvm_number_from_python(object, &result->value, &result->arena) == 0) {
    retain(&result->value, 1);
    result->ok = 1;
  } else {
    wvm_fail(isolate, result);
  }
  if (isolate->leaving | isolate->leaving_tensors) wvm_values_left(isolate);
  Py_XDECREF(object); /* may run destructors of the task, which may be cut short */
  /* Unwinding skips the end of an except block, too: what it was handling must not be there for the next call
   * to raise again. */
  isolate->thread->exc_info = &isolate->thread->exc_state;
  Py_CLEAR(isolate->thread->exc_state.exc_value);
  if (isolate->thread->delete_later != NULL) _PyTrash_thread_destroy_chain(isolate->thread);
  if (isolate->thread->current_exception != NULL) PyErr_Clear();
}

/* Made on the C stack, 0.5 KB of it, so that a warm call allocates nothing for them. */
enum { kMaxArgs = 64 };

static PyObject* call_inside(wvm_isolate* isolate, const char* module, const char* function_name,
                             const wvm_value* args, size_t count) {
  PyObject* function = wvm_find_function(isolate, module, function_name);
  if (function == NULL) return NULL;
  if (count > kMaxArgs) return PyErr_Format(PyExc_TypeError, "%zu arguments; at most %d", count, kMaxArgs);
  PyObject* objects[kMaxArgs];
  PyObject* answer = NULL;
  size_t made = 0;
  while (made < count && (objects[made] = wvm_to_python(&args[made])) != NULL) ++made;
  if (made == count) {
    /* The call may rebind the name that holds it. */
    Py_INCREF(function);
    answer = PyObject_Vectorcall(function, objects, count, NULL);
    Py_DECREF(function);
  }
  for (size_t i = 0; i < made; ++i) Py_DECREF(objects[i]);
  return answer;
}

void wvm_call(wvm_isolate* isolate, const char* module, const char* function, const wvm_value* args,
              size_t count, wvm_result* result) {
  clear(result);
  if (enter(isolate, result) < 0) return;
  wvm_tally(&isolate->calls);
  finish(isolate, call_inside(isolate, module, function, args, count), result);
  leave(isolate);
}

static PyObject* run_inside(const wvm_source* source) {
  PyCompilerFlags flags = {.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE,
                           .cf_feature_version = PY_MINOR_VERSION};
  PyObject* file = PyUnicode_FromString(source->file);
  PyObject* code = file ? Py_CompileStringObject(source->text, file, Py_file_input, &flags, 0) : NULL;
  Py_XDECREF(file);
  PyObject* module = code ? PyImport_AddModuleRef(source->name) : NULL;
  PyObject* answer = NULL;
  if (module != NULL) {
    PyObject* scope = PyModule_GetDict(module);
    if (PyDict_SetItemString(scope, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(scope, "__file__", ((PyCodeObject*)code)->co_filename) == 0)
      answer = PyEval_EvalCode(code, scope, scope);
  }
  Py_XDECREF(code);
  Py_XDECREF(module);
  return answer;
}

void wvm_run_source(wvm_isolate* isolate, const wvm_source* source, wvm_result* result) {
  clear(result);
  if (enter(isolate, result) < 0) return;
  wvm_tally(&isolate->calls);
  finish(isolate, run_inside(source), result);
  leave(isolate);
}

void wvm_release_result(wvm_result* result) {
  if (result->ok) retain(&result->value, 0);
  wvm_arena_free(result->arena);
  memset(result, 0, sizeof *result);
}

void wvm_read_stats(const wvm_isolate* isolate, wvm_stats* stats) {
  *stats = (wvm_stats){.heap_bytes = wvm_count(&isolate->heap),
                       .heap_peak = wvm_count(&isolate->heap_peak),
                       .calls = wvm_count(&isolate->calls),
                       .cancels = wvm_count(&isolate->cancels),
                       .denied_allocations = wvm_count(&isolate->denied)};
}

#if WALLE_VM_FULL
int wvm_compile(const wvm_source* sources, size_t count, void* user, wvm_blob* blob, wvm_result* failure) {
  wvm_isolate* isolate = wvm_create(user, failure);
  if (isolate == NULL) return -1;
  int status = enter(isolate, failure);
  if (status == 0) {
    status = wvm_write_container(sources, count, 0, blob);
    if (status < 0) wvm_fail(isolate, failure);
    leave(isolate);
  }
  wvm_destroy(isolate);
  return status;
}
#endif
