// _core.stream.EgressGate: what may leave the device, and the ledger of what did.
#include <pybind11/functional.h>

#include "pybind/stream_batch.h"
#include "stream/egress/egress.h"
#include "stream/egress/feature_bytes.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using GivenField = std::tuple<std::string, int, uint32_t, int>;  // name, type, max size, highest sensitivity
// task, feature, fields, bytes and sends a day, minimum events, consent, expiry
using GivenPolicy = std::tuple<std::string, std::string, std::vector<GivenField>, int64_t, int64_t, int64_t,
                               std::string, int64_t>;
// policy, algorithm, key id, signature
using Verify = std::function<bool(py::bytes, std::string, std::string, py::bytes)>;

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
                             .type = enum_of(type, FeatureType::vector, "feature type"),
                             .max_size = size,
                             .highest = enum_of(highest, Sensitivity::secret, "sensitivity")});
  return policy;
}

void load(EgressGate& gate, const py::bytes& signed_policy, const Verify& verify) {
  unwrap(gate.load(
      std::string_view(signed_policy),
      [&](std::string_view policy, std::string_view algorithm, std::string_view key_id,
          std::string_view signature) -> Status {
        // Keys and algorithms are the host's: the core has no opinion on them, but it asks before it
        // believes.
        if (verify(py::bytes(policy), std::string(algorithm), std::string(key_id), py::bytes(signature)))
          return {};
        return Error(
            base::ErrorGroup::task,
            {"a signature that does not verify", "one by a key the device trusts",
             "egress policy, key '" + std::string(key_id) + "'", "fetch the task's configuration again"});
      }));
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

py::bytes packed(const std::string& task, const std::vector<GivenPolicy>& given, uint64_t number) {
  std::vector<EgressPolicy> policies;
  for (const GivenPolicy& policy : given) policies.push_back(policy_of(policy));
  return pack_policies(task, policies, number);
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
      .def("load", load, py::arg("signed_policy"), py::arg("verify"))
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
  m.def("pack_policies", packed, py::arg("task"), py::arg("policies"), py::arg("number"),
        "What is to be signed.");
  m.def(
      "unpack_batch",
      [](const py::bytes& data) { return columns_of(unwrap(unpack_batch(std::string_view(data)))); },
      py::arg("data"));
  m.def(
      "sign_policy",
      [](const py::bytes& policy, const std::string& algorithm, const std::string& key_id,
         const py::bytes& signature) {
        return py::bytes(
            sign_policy(std::string_view(policy), algorithm, key_id, std::string_view(signature)));
      },
      py::arg("policy"), py::arg("algorithm"), py::arg("key_id"), py::arg("signature"));
}

}  // namespace walle::pybind
