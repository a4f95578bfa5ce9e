// walle_rt._core: one file per topic; each converts and documents, none computes.
#include <pybind11/pybind11.h>

namespace walle::pybind {
#define WALLE_TOPIC(name) void bind_##name(pybind11::module_& m);
#include "pybind/topics.inc"
#undef WALLE_TOPIC
}  // namespace walle::pybind

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "Native core of walle_rt.";
#define WALLE_TOPIC(name) walle::pybind::bind_##name(m);
#include "pybind/topics.inc"
#undef WALLE_TOPIC
}
