// _core.set_log_sink, _core.set_log_level: lines of the core on their way to Python's logging.
//
// A line may be logged with locks of the runtime held, on threads without Python's lock. Asking for that lock
// there could wait for a thread that holds it and waits for ours. So lines queue up, and the interpreter's
// main thread fetches them between two instructions (Py_AddPendingCall, which needs no lock). Refused: a
// thread that delivers (one more thread in every process that imports us, and a fork would lose it).
#include "base/log.h"

#include <pybind11/pybind11.h>

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "pybind/python_lock.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

// A main thread that sits in a long native call fetches nothing meanwhile: what is kept has an end. Some 100
// KB, and more lines than anybody reads.
constexpr size_t kMostWaiting = 1000;

struct Line {
  base::LogLevel level;
  std::string text;
};

struct Queue {
  std::mutex mutex;
  std::deque<Line> lines;
  size_t dropped = 0;        // the oldest, because too many were waiting
  bool announced = false;    // the interpreter knows that there are lines
  PyObject* sink = nullptr;  // called with (level, text); owned, touched under Python's lock alone
};

// Never destroyed: threads of the core may still log while the process ends.
Queue& queue() {
  static Queue& instance = *new Queue;
  return instance;
}

void hand_over(const Line& line) {
  const py::handle sink(queue().sink);
  if (!sink) return;
  try {
    sink(static_cast<int>(line.level), line.text);
  } catch (py::error_already_set& error) {
    // A handler that raises must not break into whatever the main thread was doing.
    error.discard_as_unraisable("a handler of the walle_rt logger");
  }
}

int deliver(void*) {
  std::deque<Line> lines;
  size_t dropped = 0;
  // The handlers run without the lock: they may take long, and may log through us.
  {
    const std::lock_guard lock(queue().mutex);
    lines.swap(queue().lines);
    std::swap(dropped, queue().dropped);
    queue().announced = false;
  }
  if (dropped != 0)
    hand_over(
        {base::LogLevel::warning, std::to_string(dropped) + " older lines were dropped: too many waited"});
  for (const Line& line : lines) hand_over(line);
  return 0;
}

void enqueue(void*, base::LogLevel level, std::string_view text) {
  Queue& q = queue();
  const std::lock_guard lock(q.mutex);
  if (q.lines.size() == kMostWaiting) {
    q.lines.pop_front();
    ++q.dropped;
  }
  q.lines.push_back({level, std::string(text)});
  // A full table of pending calls (32 of them) refuses; the next line asks again.
  const PythonStays python;
  if (python && !q.announced) q.announced = Py_AddPendingCall(deliver, nullptr) == 0;
}

void set_log_sink(const py::object& sink) {
  base::set_log_hook(sink.is_none() ? nullptr : enqueue, nullptr);
  PyObject* former = queue().sink;
  queue().sink = sink.is_none() ? nullptr : py::object(sink).release().ptr();
  Py_XDECREF(former);  // last: its destructor may run Python, which may log
}

}  // namespace

void bind_log(py::module_& m) {
  m.def("set_log_sink", set_log_sink, py::arg("sink"),
        "Call sink(level, text) on the main thread for every line the core logs; None: drop them.");
  m.def(
      "set_log_level", [](int least) { base::set_log_level(static_cast<base::LogLevel>(least)); },
      py::arg("least"), "Drop lines below: 0 debug, 1 info, 2 warning, 3 error, 4 drops all.");
  m.def(
      "log", [](int level, const std::string& text) { base::log(static_cast<base::LogLevel>(level), text); },
      py::arg("level"), py::arg("text"), "Log a line as the core does.");
}

}  // namespace walle::pybind
