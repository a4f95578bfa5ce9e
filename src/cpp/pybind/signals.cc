#include "pybind/signals.h"

namespace walle::pybind {

namespace py = pybind11;

Signals* Signals::innermost_ = nullptr;

bool Signals::must_stop() {
  const PythonLock lock;
  if (!lock || raised_) return true;
  if (PyErr_CheckSignals() == 0) return false;
  raised_.emplace();
  return true;
}

bool Signals::take(py::error_already_set& error) {
  // Exceptions proper are the callback's own affair; KeyboardInterrupt and SystemExit are not.
  Signals* innermost = on_main_thread() ? innermost_ : nullptr;
  if (innermost == nullptr || innermost->raised_ || error.matches(PyExc_Exception)) return false;
  innermost->raised_.emplace(std::move(error));
  return true;
}

}  // namespace walle::pybind
