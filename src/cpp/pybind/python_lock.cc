#include "pybind/python_lock.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "vm/reaper.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

// What ending the last isolates and the log callbacks under way may take. One isolate takes 0.6 ms; a
// callback that is stuck for longer must not keep the process from ending.
constexpr std::chrono::seconds kPatience{5};
// Once per process, at its end, so waking up costs nothing; finer would not end sooner than
// one isolate takes.
constexpr std::chrono::milliseconds kLookEvery{1};

// Both are written and read in one total order (the default of std::atomic): either a thread that enters sees
// the gate closed, or the one that closes it sees the thread.
std::atomic<int64_t> inside{0};
std::atomic<bool> closed{false};
std::atomic<std::thread::id> closer{};
bool enter() {
  ++inside;
  // The closing thread goes on with exit handlers registered before ours and with objects of dying modules.
  if (!closed || closer.load() == std::this_thread::get_id()) return true;
  --inside;
  return false;
}

void leave() { --inside; }

// For threads that come back when there is no interpreter any more. Ending the thread would unwind it through
// C++ frames that hold Python objects; sleeping until the process is gone harms nobody.
[[noreturn]] void stay() {
  for (;;) pause();
}

void close(pid_t owner) {
  PyThreadState* thread = PyEval_SaveThread();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  // A forked child has neither the reaper's thread nor those that were inside.
  const bool alone = getpid() != owner;
  if (!alone) vm::Reaper::instance().drain_until(end);
  closer = std::this_thread::get_id();
  closed = true;
  while (!alone && inside != 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kLookEvery);
  PyEval_RestoreThread(thread);
}

}  // namespace

PyThreadState* main_thread = nullptr;

PythonLock::PythonLock() {
  if (Py_IsInitialized() && enter()) held_.emplace();
}

PythonLock::~PythonLock() {
  if (!held_) return;
  held_.reset();
  leave();
}

PythonStays::PythonStays() : entered_(Py_IsInitialized() && enter()) {}

PythonStays::~PythonStays() {
  if (entered_) leave();
}

[[gnu::hot]] void PythonUnlocked::come_back() {
  if (!enter()) stay();
  PyEval_RestoreThread(thread_);
  leave();
}

PyObject* call_or_stay(PyObject* callable, PyObject* arguments) {
  // Innermost, before any frame that holds something of Python. C throws nothing; what arrives is
  // pthread_exit.
  try {
    return PyObject_CallObject(callable, arguments);
  } catch (...) {
    stay();
  }
}

void drop_reference(PyObject* object) {
  if (const PythonLock lock; lock) Py_DECREF(object);
}

void end_with_python() {
  const py::module_ threading = py::module_::import("threading");
  if (threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident")))
    main_thread = PyThreadState_Get();
  closed = false;  // a host may have ended one interpreter and begun another
  py::module_::import("atexit").attr("register")(py::cpp_function([owner = getpid()] { close(owner); }));
}

}  // namespace walle::pybind
