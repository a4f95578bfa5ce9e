// _core.tunnel: a device's tunnel, and the messages that its other end reads and writes.
// walle_rt.device makes the one, walle_rt.cloud.sink reads and writes the others.
#include "base/record_trace.h"
#include "container/device/in_callback.h"
#include "container/link/device_tunnel.h"
#include "link/tunnel/ack_message.h"
#include "link/tunnel/epoch_message.h"
#include "link/tunnel/message.h"
#include "pybind/cells.h"
#include "pybind/device.h"
#include "pybind/seconds.h"

namespace walle::pybind {

using container::Device;
using container::DeviceTunnel;

namespace {

using TunnelHeld = std::unique_ptr<DeviceTunnel, DeleteUnlocked>;

// A callback of Python for the tunnel's thread; what it raises is nobody's to catch there.
template <class... Given, class Convert>
auto told(const py::object& callback, const char* name, const Convert& convert) {
  std::function<void(Given...)> out;
  if (callback.is_none()) return out;
  const std::shared_ptr<PyObject> held(callback.inc_ref().ptr(), drop_reference);
  out = [held, name, convert](Given... given) {
    const container::InCallback mark;
    const PythonLock lock;
    if (!lock) return;
    try {
      py::handle(held.get())(convert(given...));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable(name);
    }
  };
  return out;
}

link::AnswerCell answer_cell(const std::string& column, const py::handle& value) {
  py::object held;
  const std::string where = "column '" + column + "' of an answer";
  const Cell cell = cell_of(value, where, held);
  if (cell.is(ColumnType::vector))
    throw CoreError(argument_error("a vector", "None, bool, int, float, str or bytes", where, "convert it"));
  return {.column = column, .value = cell};
}

py::list given_rows(const std::vector<link::AnswerRow>& rows) {
  py::list out;
  for (const link::AnswerRow& row : rows) {
    py::dict cells;
    for (const link::AnswerCell& cell : row) cells[py::str(cell.column)] = object_of(cell.value.cell());
    out.append(cells);
  }
  return out;
}

py::dict given_taken(const container::TakenAnswer& answer) {
  py::dict out;
  out["task"] = answer.task;
  out["stream"] = answer.stream;
  out["seq"] = answer.seq;
  out["trace"] = answer.trace;
  out["error"] = answer.error;
  out["rows"] = given_rows(answer.rows);
  out["stored"] = answer.stored;
  return out;
}

// stream, seq, number, after, task, error, rows as dicts
py::bytes pack_answer(const std::string& stream, uint64_t seq, uint64_t number, uint64_t after,
                      const std::string& task, const std::string& error, const std::vector<py::dict>& rows) {
  link::Answer answer{.stream = stream,
                      .seq = seq,
                      .number = number,
                      .after = after,
                      .task = task,
                      .error = error,
                      .rows = {}};
  for (const py::dict& row : rows) {
    answer.rows.emplace_back();
    for (const auto& [column, value] : row)
      answer.rows.back().push_back(answer_cell(column.cast<std::string>(), value));
  }
  return py::bytes(unwrap(link::pack_answer(answer)));
}

py::tuple read_answer(const py::bytes& data) {
  const link::Answer a = unwrap(link::read_answer(std::string_view(data)));
  return py::make_tuple(a.stream, a.seq, a.number, a.after, a.task, a.error, given_rows(a.rows));
}

py::bytes pack_marks(const std::vector<std::pair<std::string, uint64_t>>& given) {
  std::vector<link::AnswerMark> marks;
  for (const auto& [stream, taken] : given) marks.push_back({.stream = stream, .taken = taken});
  return py::bytes(link::pack_marks(marks));
}

std::vector<std::pair<std::string, uint64_t>> read_marks(const py::bytes& data) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const link::AnswerMark& mark : unwrap(link::read_marks(std::string_view(data))))
    out.emplace_back(mark.stream, mark.taken);
  return out;
}

TunnelHeld open(const Device& device, const std::string& broker, const std::string& id,
                const std::string& authorities, const std::string& certificate, const std::string& key,
                const std::string& session, const std::string& address, const py::dict& options,
                const py::object& on_epoch, const py::object& on_down, const py::object& on_state,
                const py::object& on_answer) {
  container::DeviceTunnelOptions o{.broker = broker,
                                   .files = {.authorities = authorities,
                                             .certificate = certificate,
                                             .key = key,
                                             .session = session,
                                             .address = address},
                                   .tunnel = {.device = id}};
  const auto seconds = [&](const char* name, int64_t& to) {
    if (options.contains(name)) to = static_cast<int64_t>(options[name].cast<double>() * kMicroseconds);
  };
  seconds("connect_s", o.tunnel.connect_us);
  seconds("linger_s", o.tunnel.linger_us);
  seconds("resend_s", o.tunnel.resend_us);
  seconds("least_backoff_s", o.tunnel.backoff.least_us);
  seconds("most_backoff_s", o.tunnel.backoff.most_us);
  if (options.contains("keepalive_s")) o.tunnel.keepalive_s = options["keepalive_s"].cast<int>();
  o.on_answer =
      told<const container::TakenAnswer&>(on_answer, "walle_rt.device.Tunnel on_answer", given_taken);
  link::TunnelListener listener;
  listener.on_epoch = told<const link::EpochMessage&>(
      on_epoch, "walle_rt.device.Tunnel on_epoch",
      [](const link::EpochMessage& m) { return py::make_tuple(m.epoch, m.jitter_s); });
  listener.on_down =
      told<std::string_view>(on_down, "walle_rt.device.Tunnel on_down",
                             [](std::string_view bytes) { return py::bytes(bytes.data(), bytes.size()); });
  listener.on_state = told<link::TunnelState>(
      on_state, "walle_rt.device.Tunnel on_state",
      [](link::TunnelState state) { return py::str(std::string(tunnel_state_name(state))); });
  auto opened =
      unlocked([&] { return DeviceTunnel::open(Env::system(), device, std::move(o), std::move(listener)); });
  return TunnelHeld(unwrap(std::move(opened)).release());
}

py::dict stats(const DeviceTunnel& self) {
  const link::TunnelStats s = self.stats();
  const link::SocketCounts c = self.socket_counts();
  py::dict out;
  out["state"] = std::string(tunnel_state_name(s.state));
  out["connections"] = s.connections;
  out["resumed"] = c.resumed;
  out["failures"] = s.failures;
  out["acknowledged"] = s.acknowledged;
  out["refused"] = s.refused;
  out["resent"] = s.resent;
  out["in_flight"] = s.in_flight;
  out["record_bytes"] = s.record_bytes;
  out["sent_bytes"] = s.sent_bytes;
  out["received_bytes"] = s.received_bytes;
  out["wire_sent_bytes"] = c.sent_bytes;
  out["wire_received_bytes"] = c.received_bytes;
  out["handshake_bytes"] = c.handshake_bytes;
  out["handshake_s"] = static_cast<double>(c.handshake_us) / kMicroseconds;
  out["epochs"] = s.epochs;
  out["answers"] = s.answers;
  out["damaged_answers"] = s.damaged_answers;
  out["last_error"] = s.last_error;
  return out;
}

py::list runs_of(const std::vector<link::SeqRun>& runs) {
  py::list out;
  for (const link::SeqRun& run : runs) out.append(py::make_tuple(run.first, run.count));
  return out;
}

// [(stream, unknown, remembered id, remembered bytes, [(seq, ts, task, feature, bytes)])]
py::list read_message(const py::bytes& data, const py::function& dictionary) {
  const auto find = [&](std::string_view stream, uint32_t id) -> std::optional<std::string> {
    const py::object found = dictionary(py::str(stream.data(), stream.size()), id);
    if (found.is_none()) return std::nullopt;
    return found.cast<std::string>();
  };
  const auto sections = unwrap(link::read_message(std::string_view(data), find));
  py::list out;
  for (const link::ReadSection& s : sections) {
    py::list records;
    for (const link::TunnelRecord& r : s.records)
      records.append(py::make_tuple(r.seq, r.ts, r.task, r.feature, py::bytes(r.bytes)));
    const uint32_t id = s.remember.empty() ? 0 : link::dictionary_id(s.remember);
    out.append(py::make_tuple(s.stream, s.unknown, id, py::bytes(s.remember), records));
  }
  return out;
}

using GivenRecord = std::tuple<uint64_t, int64_t, std::string, std::string, py::bytes>;
using GivenSection = std::tuple<std::string, py::bytes, bool, std::vector<GivenRecord>>;

py::bytes pack_message(const std::vector<GivenSection>& given) {
  std::vector<link::MessageSection> sections;
  for (const auto& [stream, dictionary, remember, records] : given) {
    link::MessageSection s{
        .stream = stream, .records = {}, .dictionary = std::string(dictionary), .remember = remember};
    for (const auto& [seq, ts, task, feature, bytes] : records)
      s.records.push_back(
          {.seq = seq, .ts = ts, .task = task, .feature = feature, .bytes = std::string(bytes)});
    sections.push_back(std::move(s));
  }
  return py::bytes(link::pack_message(sections).bytes);
}

using GivenEntry = std::tuple<std::string, int, uint32_t, std::vector<std::pair<uint64_t, uint64_t>>>;

py::bytes pack_ack(const std::vector<GivenEntry>& given) {
  std::vector<link::AckEntry> entries;
  for (const auto& [stream, status, dictionary, runs] : given) {
    link::AckEntry e{.stream = stream,
                     .status = static_cast<link::AckStatus>(status),
                     .dictionary = dictionary,
                     .runs = {}};
    for (const auto& [first, count] : runs) e.runs.push_back({.first = first, .count = count});
    entries.push_back(std::move(e));
  }
  return py::bytes(link::pack_ack(entries));
}

// [(stream, status, dictionary, [(first, count)])]
py::list read_ack(const py::bytes& data) {
  py::list out;
  for (const link::AckEntry& e : unwrap(link::read_ack(std::string_view(data))))
    out.append(py::make_tuple(e.stream, static_cast<int>(e.status), e.dictionary, runs_of(e.runs)));
  return out;
}

py::bytes pack_epoch(uint64_t epoch, uint16_t jitter_s) {
  return py::bytes(link::pack_epoch({.epoch = epoch, .jitter_s = jitter_s}));
}

}  // namespace

void bind_tunnel(py::module_& m) {
  py::module_ tunnel = m.def_submodule("tunnel", "A device's connection with its broker.");
  py::class_<DeviceTunnel, TunnelHeld>(tunnel, "Tunnel")
      .def_static("open", open, py::keep_alive<0, 1>(), py::arg("device"), py::arg("broker"), py::arg("id"),
                  py::kw_only(), py::arg("authorities"), py::arg("certificate"), py::arg("key"),
                  py::arg("session"), py::arg("address"), py::arg("options"), py::arg("on_epoch"),
                  py::arg("on_down"), py::arg("on_state"), py::arg("on_answer"))
      .def("stop", [](DeviceTunnel& self) { unlocked([&] { self.stop(); }); })
      .def("network_changed", &DeviceTunnel::network_changed)
      .def(
          "drain",
          [](DeviceTunnel& self, double timeout_s) {
            return unlocked([&] { return self.drain(static_cast<int64_t>(timeout_s * kMicroseconds)); });
          },
          py::arg("timeout_s"))
      .def("stats", stats);
  tunnel.def("read_message", read_message, py::arg("data"), py::arg("dictionary"));
  tunnel.def("pack_message", pack_message, py::arg("sections"));
  tunnel.def("pack_ack", pack_ack, py::arg("entries"));
  tunnel.def("read_ack", read_ack, py::arg("data"));
  tunnel.def("pack_answer", pack_answer, py::arg("stream"), py::arg("seq"), py::kw_only(), py::arg("number"),
             py::arg("after"), py::arg("task"), py::arg("error"), py::arg("rows"));
  tunnel.def("read_answer", read_answer, py::arg("data"));
  tunnel.def("pack_marks", pack_marks, py::arg("marks"));
  tunnel.def("read_marks", read_marks, py::arg("data"));
  tunnel.def("trace_id", &base::record_trace_id, py::arg("stream"), py::arg("seq"));
  tunnel.def("pack_epoch", pack_epoch, py::arg("epoch"), py::arg("jitter_s"));
}

}  // namespace walle::pybind
