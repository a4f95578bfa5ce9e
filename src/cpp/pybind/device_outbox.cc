// _core.device.Device: what waits to leave the device, and what its tables have lost.
#include "pybind/device.h"

namespace walle::pybind {

using container::Device;
using container::DeviceCore;

namespace {

// [(name, newest, acknowledged, waiting, waiting_bytes, dropped, dropped_bytes, lost)]
py::list streams(Device& self) {
  const auto all = on_device(self, "outbox", [](DeviceCore& d) { return d.commits().outbox().streams(); });
  py::list out;
  for (const stream::OutboxStream& s : all)
    out.append(py::make_tuple(s.name, s.newest, s.acknowledged, s.waiting, s.waiting_bytes, s.dropped,
                              s.dropped_bytes, s.lost));
  return out;
}

// [(seq, ts, priority, task, feature, bytes)]
py::list read_outbox(Device& self, const std::string& stream, uint64_t from, std::optional<size_t> limit) {
  const auto records = unwrap(on_device(self, "outbox", [&](DeviceCore& device) {
    return device.commits().read_outbox(stream, from, limit.value_or(SIZE_MAX));
  }));
  py::list out;
  for (const stream::OutboxRecord& r : records)
    out.append(py::make_tuple(r.seq, r.ts, r.priority, r.task, r.feature, py::bytes(r.bytes)));
  return out;
}

void acknowledge(Device& self, const std::string& stream, uint64_t seq) {
  unwrap(on_device(self, "acknowledge", [&](DeviceCore& d) { return d.commits().acknowledge(stream, seq); }));
}

void set_consents(Device& self, const std::vector<std::string>& consents) {
  unwrap(on_device(self, "set_consents",
                   [&](DeviceCore& d) { return d.commits().gate().set_consents(consents); }));
}

std::vector<std::string> consents(Device& self) {
  return on_device(self, "consents", [](DeviceCore& d) { return d.commits().gate().consents(); });
}

// [(what, kind, name, first, last, count, exact, noticed, cause)]
py::list losses(Device& self, bool verify) {
  const auto all = unwrap(on_device(self, "losses", [&](DeviceCore& d) { return d.losses(verify); }));
  py::list out;
  for (const auto& [what, l] : all)
    out.append(py::make_tuple(what, store::loss_kind_name(l.kind), l.owner, l.first, l.last, l.count, l.exact,
                              l.noticed_us, l.cause));
  return out;
}

void acknowledge_losses(Device& self, const std::optional<std::map<std::string, double>>& spent) {
  unwrap(on_device(self, "acknowledge_losses",
                   [&](DeviceCore& d) { return d.acknowledge_losses(spent ? &*spent : nullptr); }));
}

}  // namespace

void bind_device_outbox(DeviceClass& device) {
  device.def("outbox_streams", streams)
      .def("outbox_read", read_outbox, py::arg("stream"), py::arg("start"), py::arg("limit"))
      .def("outbox_acknowledge", acknowledge, py::arg("stream"), py::arg("seq"))
      .def("losses", losses, py::arg("verify"))
      .def("acknowledge_losses", acknowledge_losses, py::arg("spent"))
      .def("set_consents", set_consents, py::arg("consents"))
      .def("consents", consents);
}

}  // namespace walle::pybind
