#include "pybind/signals.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {
thread_local Signals* innermost = nullptr;
}  // namespace

Signals::Signals() : on_main_thread_(on_main_thread()), outer_(innermost) {
  if (on_main_thread_) innermost = this;
}

Signals::~Signals() {
  if (on_main_thread_) innermost = outer_;
}

bool Signals::must_stop() {
  const PythonLock lock;
  if (!lock || raised_) return true;
  if (PyErr_CheckSignals() == 0) return false;
  raised_.emplace();
  return true;
}

void Signals::rethrow() {
  if (raised_) throw py::error_already_set(std::move(*raised_));
}

bool Signals::take(py::error_already_set& error) {
  // Exceptions proper are the callback's own affair; KeyboardInterrupt and SystemExit are not.
  if (innermost == nullptr || innermost->raised_ || error.matches(PyExc_Exception)) return false;
  innermost->raised_.emplace(std::move(error));
  return true;
}

}  // namespace walle::pybind
