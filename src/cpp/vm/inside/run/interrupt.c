/* Stopping a task from outside: the reason goes into the isolate's state, the eval breaker makes the
 * interpreter look, and from then on every exception handler is skipped (an edit in ceval.c), so the task
 * unwinds whatever it tries. */
#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/host.h"
#include "vm/inside/stack.h"

#include <pthread.h>
#include <time.h>

#include <internal/pycore_ceval.h>
#include <internal/pycore_lock.h>
#include <internal/pycore_time.h>

/* C stack per counted recursion level, measured over repr, json, re, pickling-like and __getattr__
 * recursions: at most 1.2 KB; and what the deepest leaf may use without counting. */
enum { kBytesPerLevel = 1536, kReserve = 96 * 1024, kFloor = 64 * 1024 };

void wvm_interrupt(wvm_isolate* isolate, int reason) {
  int expected = kRunning;
  while (!atomic_compare_exchange_weak(&isolate->state, &expected, reason)) {
    if (expected != kRunning && expected != kNudged) return;
  }
  _Py_set_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
}

void wvm_nudge(wvm_isolate* isolate) {
  int expected = kRunning;
  if (!atomic_compare_exchange_strong(&isolate->state, &expected, kNudged)) return;
  _Py_set_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
}

static void ask_host(wvm_isolate* isolate) {
  /* The bit goes first: an interrupt that comes between the two lines has changed the state. */
  _Py_unset_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
  int expected = kNudged;
  if (!atomic_compare_exchange_strong(&isolate->state, &expected, kRunning)) {
    _Py_set_eval_breaker_bit(isolate->thread, _PY_SIGNALS_PENDING_BIT);
    return;
  }
  if (wvm_host_table()->must_stop(isolate->user)) wvm_interrupt(isolate, WVM_REASON_CANCELLED);
}

int wvm_must_stop(void) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL) return 0;
  const int state = atomic_load_explicit(&isolate->state, memory_order_relaxed);
  if (state == kRunning || state == kIdle) return 0;
  if (state == kNudged) ask_host(isolate);
  return wvm_unwinding();
}

int wvm_unwinding(void) {
  const wvm_isolate* isolate = wvm_current;
  return isolate != NULL && atomic_load_explicit(&isolate->state, memory_order_relaxed) > 0;
}

int wvm_raise_if_interrupted(void) {
  if (!wvm_must_stop()) return 0;
  wvm_isolate* isolate = wvm_current;
  /* In a host call that gave the interpreter away: nobody could see the exception. */
  if (isolate->thread != _PyThreadState_GET()) return 0;
  /* Where memory has ended, making the exception fails, and the note about that asks again. */
  if (isolate->raising) return 0;
  wvm_tally(&isolate->cancels);
  isolate->raising = 1;
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  isolate->raising = 0;
  return -1;
}

int wvm_interrupted(void) { return wvm_must_stop() && wvm_raise_if_interrupted() < 0; }

int wvm_interrupted_call(void) {
  const wvm_isolate* isolate = wvm_current;
  return isolate != NULL && !isolate->ending && !isolate->raising && wvm_interrupted();
}

/* Called where CPython would abort the process: recursion inside the handling of a recursion error. */
void wvm_stack_exhausted(void) {
  if (wvm_current != NULL) wvm_interrupt(wvm_current, WVM_REASON_STACK);
  PyErr_NoMemory();
}

/* Found once per thread: asking takes microseconds, and on a process's first thread a read of /proc. */
static _Thread_local char* stack_low;
_Thread_local char* wvm_stack_floor;

void wvm_stack_error(void) { PyErr_SetString(PyExc_RecursionError, "the C stack of this thread is used up"); }

static char* find_stack_low(void) {
#if defined(__APPLE__)
  char* high = pthread_get_stackaddr_np(pthread_self());
  return high - pthread_get_stacksize_np(pthread_self());
#else
  pthread_attr_t attributes;
  void* low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return low;
#endif
}

int wvm_stack_levels(size_t cap) {
  if (stack_low == NULL) {
    stack_low = find_stack_low();
    if (stack_low != NULL) wvm_stack_floor = stack_low + kFloor;
  }
  const char* here = __builtin_frame_address(0);
  ptrdiff_t room = here - stack_low - kReserve;
  if (stack_low == NULL || room < 0) return 0;
  if (cap && room > (ptrdiff_t)cap - kReserve) room = (ptrdiff_t)cap - kReserve;
  const ptrdiff_t levels = room / kBytesPerLevel;
  return levels < Py_C_RECURSION_LIMIT ? (int)levels : Py_C_RECURSION_LIMIT;
}

/* Waiting happens in slices, each of which looks at the interrupt: there is no signal that could end a wait.
 * 5 ms are how late a cancelled sleeper may end, and 200 wake-ups a second of one that nobody cancels. */
enum { kSliceMicroseconds = 5000 };

static void wait_slice(PyTime_t nanoseconds) {
  const struct timespec slice = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
  nanosleep(&slice, NULL);
}

int wvm_sleep(PyTime_t timeout) {
  PyTime_t now, slice = kSliceMicroseconds * 1000LL;
  if (PyTime_MonotonicRaw(&now) < 0) return 0;
  for (const PyTime_t deadline = _PyTime_Add(now, timeout); now < deadline; PyTime_MonotonicRaw(&now)) {
    if (wvm_raise_if_interrupted() < 0) return -1;
    wait_slice(deadline - now < slice ? deadline - now : slice);
  }
  return wvm_raise_if_interrupted();
}

PyLockStatus wvm_wait_for_lock(PyThread_type_lock lock, long long microseconds) {
  while (microseconds != 0) {
    if (wvm_must_stop()) return PY_LOCK_INTR;
    const long long slice =
        microseconds < 0 || microseconds > kSliceMicroseconds ? kSliceMicroseconds : microseconds;
    if (PyThread_acquire_lock_timed(lock, slice, 0) == PY_LOCK_ACQUIRED) return PY_LOCK_ACQUIRED;
    if (microseconds > 0) microseconds -= slice;
  }
  return PY_LOCK_FAILURE;
}

PyLockStatus wvm_lock(PyMutex* mutex, PyTime_t timeout, int flags) {
  const PyTime_t slice = kSliceMicroseconds * 1000LL;
  for (;;) {
    const PyTime_t wait = timeout < 0 || timeout > slice ? slice : timeout;
    const PyLockStatus status = _PyMutex_LockTimed(mutex, wait, (_PyLockFlags)flags);
    if (status != PY_LOCK_FAILURE || timeout == 0) return status;
    if (wvm_raise_if_interrupted() < 0) return PY_LOCK_INTR;
    if (timeout > 0) timeout -= wait;
  }
}
