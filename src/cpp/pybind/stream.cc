// _core.stream: events, triggers, operators and what may leave the device.
#include "pybind/stream.h"

namespace walle::pybind {

void bind_stream(py::module_& m) {
  auto sub = m.def_submodule("stream", "The stream processor; walle_rt.stream is the documented API.");
  bind_stream_catalog(sub);
  bind_stream_log(sub);
  bind_stream_triggers(sub);
  bind_stream_trigger_set(sub);
  bind_stream_processor(sub);
  bind_stream_rows(sub);
  bind_stream_graph(sub);
  bind_stream_privacy(sub);
  bind_stream_egress(sub);
  bind_stream_ipv(sub);
}

}  // namespace walle::pybind
