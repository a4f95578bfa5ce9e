// Python's lock for threads that Python does not wait for, up to the end of Python and no further.
//
// A thread that asks for the lock of an interpreter that is being finalised never gets it: CPython up to 3.13
// ends such a thread (pthread_exit, which unwinds through C++ that must not be unwound: std::terminate),
// later ones stop it for ever. So whoever is not sure to come first asks through this header. Behind it
// stands one count of the threads that hold or want the lock; a hook of atexit, which runs before
// finalisation begins, lets nobody in any more and waits until the count is zero. The thread that ends Python
// is always let in: it owns the lock.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

namespace walle::pybind {

// Holds the lock while it lives, on any thread, or is false: then nothing of Python may be touched any more.
class PythonLock {
 public:
  PythonLock();
  ~PythonLock();
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;
  explicit operator bool() const { return held_.has_value(); }

 private:
  std::optional<pybind11::gil_scoped_acquire> held_;
};

// Keeps Python from being finalised while it lives, without its lock, or is false: then it is too late.
class PythonStays {
 public:
  PythonStays();
  ~PythonStays();
  PythonStays(const PythonStays&) = delete;
  PythonStays& operator=(const PythonStays&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

// Python's main thread, which is the one that ends it and so never comes too late: it need not be counted,
// and a warm call of an isolate takes 121 ns there instead of 131. nullptr: not known, everybody is counted.
extern PyThreadState* main_thread;

// Gives the lock away while it lives; pybind11's guard also looks its own thread table up, twice. A thread
// that comes back when Python has ended stays here for ever, as CPython 3.14 does it.
class PythonUnlocked {
 public:
  PythonUnlocked() : thread_(PyEval_SaveThread()) {}
  ~PythonUnlocked() {
    if (on_main_thread())
      PyEval_RestoreThread(thread_);
    else
      come_back();
  }
  PythonUnlocked(const PythonUnlocked&) = delete;
  PythonUnlocked& operator=(const PythonUnlocked&) = delete;
  bool on_main_thread() const { return thread_ == main_thread; }

 private:
  void come_back();

  PyThreadState* thread_;
};

// For holders of objects whose destructor may wait for a thread that waits for the lock.
struct DeleteUnlocked {
  template <class T>
  void operator()(T* object) const {
    const PythonUnlocked unlocked;
    delete object;
  }
};

// With Python's lock: whether this is the thread on which Python runs signal handlers.
inline bool on_main_thread() { return PyThreadState_Get() == main_thread; }

// Calls it with the lock. A callee that is still under way when Python ends keeps its thread here for ever:
// ended by CPython, it would run destructors of C++ frames without the lock.
PyObject* call_or_stay(PyObject* callable, PyObject* arguments);

// Drops a reference on any thread; a Python that ends keeps the object.
void drop_reference(PyObject* object);

// Registers the hook; once, while the module is imported.
void end_with_python();

}  // namespace walle::pybind
