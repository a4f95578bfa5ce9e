// _bench: loops that are timed where they run, because a call from Python costs more than what they measure.
// Built beside walle_rt._core and never shipped; it makes its own objects out of files and bytes, so that the
// two modules share nothing.
#include <pybind11/pybind11.h>

namespace walle::bench {
void bind_append(pybind11::module_& m);
void bind_match(pybind11::module_& m);
void bind_ipv(pybind11::module_& m);
void bind_device(pybind11::module_& m);
void bind_results(pybind11::module_& m);
void bind_policy(pybind11::module_& m);
void bind_peak(pybind11::module_& m);
}  // namespace walle::bench

PYBIND11_MODULE(_bench, m) {
  m.doc() = "Measurements of the native core, for the benchmarks alone.";
  walle::bench::bind_append(m);
  walle::bench::bind_match(m);
  walle::bench::bind_ipv(m);
  walle::bench::bind_device(m);
  walle::bench::bind_results(m);
  walle::bench::bind_policy(m);
  walle::bench::bind_peak(m);
}
