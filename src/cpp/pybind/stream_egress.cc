// _core.stream.EgressGate: what may leave the device, and the ledger of what did.
#include "pybind/stream_batch.h"
#include "stream/egress/egress.h"
#include "stream/egress/feature_bytes.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using GivenField =
    std::tuple<std::string, ColumnType, uint32_t, int>;  // name, type, max size, highest sensitivity
// task, feature, fields, bytes and sends a day, minimum events, consent, expiry
using GivenPolicy = std::tuple<std::string, std::string, std::vector<GivenField>, int64_t, int64_t, int64_t,
                               std::string, int64_t>;

EgressPolicy policy_of(const GivenPolicy& given) {
  const auto& [task, feature, fields, bytes, sends, events, consent, expires] = given;
  EgressPolicy policy{.task = task,
                      .feature = feature,
                      .fields = {},
                      .bytes_per_day = bytes,
                      .sends_per_day = sends,
                      .minimum_events = events,
                      .consent = consent,
                      .expires_ts = expires};
  for (const auto& [name, type, size, highest] : fields)
    policy.fields.push_back({.name = name,
                             .type = type,
                             .max_size = size,
                             .highest = enum_of(highest, Sensitivity::secret, "sensitivity")});
  return policy;
}

void check(const EgressGate& gate, const std::string& task, const std::string& feature,
           const Labels& labels) {
  // Names and labels decide; so a task may be checked when it is installed, before there is any row.
  std::vector<Column> columns;
  for (const auto& [name, label] : labels) columns.push_back(column_of(name, labels));
  unwrap(gate.check_columns(task, feature, columns));
}

py::bytes send(EgressGate& gate, const std::string& task, const std::string& feature,
               const TracedBatch& rows) {
  return unwrap(gate.send(task, feature, rows));
}

py::dict report(const EgressGate& gate) {
  const LedgerReport found = gate.report();
  py::dict out;
  out["lost"] = found.lost;
  out["lost_entries"] = found.lost_entries;
  out["mended"] = found.mended;
  return out;
}

py::list ledger(const EgressGate& gate) {
  py::list out;
  for (const LedgerEntry& e : gate.ledger())
    out.append(py::make_tuple(e.ts, e.task, e.feature, e.rows, e.bytes));
  return out;
}

}  // namespace

void bind_stream_egress(py::module_& m) {
  py::class_<EgressGate>(m, "EgressGate", "Denies everything that no policy allows exactly.")
      .def_static(
          "open",
          [](const std::string& directory, const py::bytes& key) {
            return unwrap(EgressGate::open(Env::system(), directory, key));
          },
          py::arg("directory"), py::arg("key") = py::bytes())
      .def(
          "allow", [](EgressGate& g, const GivenPolicy& policy) { unwrap(g.allow(policy_of(policy))); },
          py::arg("policy"))
      .def(
          "set_consents",
          [](EgressGate& g, const std::vector<std::string>& consents) { unwrap(g.set_consents(consents)); },
          py::arg("consents"))
      .def("consents", &EgressGate::consents)
      .def("check", check, py::arg("task"), py::arg("feature"), py::arg("labels"))
      .def("send", send, py::arg("task"), py::arg("feature"), py::arg("rows"))
      .def("ledger", ledger, "[(time, task, feature, rows, bytes)], oldest first.")
      .def("report", report)
      .def("acknowledge_loss", [](EgressGate& g) { unwrap(g.acknowledge_loss()); });
  m.def(
      "unpack_batch",
      [](const py::bytes& data) { return columns_of(unwrap(unpack_batch(std::string_view(data)))); },
      py::arg("data"));
}

}  // namespace walle::pybind
