// _core.start_trace, _core.stop_trace: one recording of all threads.
#include "base/trace.h"

#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;

void bind_trace(py::module_& m) {
  m.def(
      "start_trace",
      [](size_t events_per_thread) { unwrap(base::start_trace({.events_per_thread = events_per_thread})); },
      py::arg("events_per_thread"));
  m.def(
      "stop_trace",
      [] {
        base::TraceSummary summary;
        const std::string json = unwrap(base::stop_trace(&summary));
        return py::make_tuple(py::bytes(json), summary.events, summary.dropped, summary.threads);
      },
      "The recording as JSON, and how many events it has, how many it had no room for, of how many threads.");
  m.def(
      "trace_span",
      [](const std::string& name, int64_t start_ns) {
        if (base::trace_enabled()) base::trace_since(base::trace_name(name), start_ns);
      },
      py::arg("name"), py::arg("start_ns"));
  m.def("trace_clock", base::trace_clock, "Nanoseconds; 0 while nothing is recorded.");
}

}  // namespace walle::pybind
