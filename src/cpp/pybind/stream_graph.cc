#include <pybind11/stl.h>

#include <random>

#include "pybind/stream.h"
#include "stream/egress.h"
#include "stream/operators.h"
#include "stream/privacy.h"

namespace py = pybind11;

namespace walle::pybind {

using namespace walle::stream;

namespace {
Cell cell_of(const py::handle& v) {
  if (v.is_none()) return std::monostate();
  if (py::isinstance<py::bool_>(v)) return int64_t{v.cast<bool>()};
  if (py::isinstance<py::int_>(v)) return v.cast<int64_t>();
  if (py::isinstance<py::float_>(v)) return v.cast<double>();
  return v.cast<std::string>();
}

py::object object_of(const Cell& c) {
  if (const auto* i = std::get_if<int64_t>(&c)) return py::int_(*i);
  if (const auto* d = std::get_if<double>(&c)) return py::float_(*d);
  if (const auto* s = std::get_if<std::string>(&c)) return py::str(*s);
  return py::none();
}

// {"ts": [...], name: [...]} with labels {name: 0..2}
Batch batch_of(const py::dict& columns, const std::map<std::string, int>& labels) {
  Batch b;
  b.ts = columns["ts"].cast<std::vector<int64_t>>();
  for (const auto& [key, values] : columns) {
    const auto name = key.cast<std::string>();
    if (name == "ts") continue;
    Column c{name, Sensitivity::personal, {}};
    if (const auto it = labels.find(name); it != labels.end()) c.sensitivity = static_cast<Sensitivity>(it->second);
    for (const auto& v : values) c.cells.push_back(cell_of(v));
    if (c.cells.size() != b.ts.size())
      throw CoreError(argument_error("column '" + name + "' of " + std::to_string(c.cells.size()) + " rows",
                                     std::to_string(b.ts.size()) + " rows as in 'ts'", "batch", "give every column one value per row"));
    b.columns.push_back(std::move(c));
  }
  return b;
}

py::tuple columns_of(const Batch& b) {
  py::dict out, labels;
  out["ts"] = b.ts;
  for (const Column& c : b.columns) {
    py::list cells;
    for (const Cell& v : c.cells) cells.append(object_of(v));
    out[py::str(c.name)] = cells;
    labels[py::str(c.name)] = static_cast<int>(c.sensitivity);
  }
  return py::make_tuple(out, labels);
}

std::mt19937_64 generator(const std::optional<uint64_t>& seed) {
  if (seed) return std::mt19937_64(*seed);
  std::random_device device;
  std::seed_seq entropy{device(), device(), device(), device(), device(), device(), device(), device()};
  return std::mt19937_64(entropy);
}
}  // namespace

void bind_stream_graph(py::module_& m) {
  py::class_<Operator>(m, "Operator")
      .def("push", [](Operator& o, const py::dict& columns,
                      const std::map<std::string, int>& labels) { return columns_of(unwrap(o.push(batch_of(columns, labels)))); })
      .def("finish", [](Operator& o) { return columns_of(unwrap(o.finish())); })
      .def("late", &Operator::late);
  m.def("make_filter", [](const std::string& p) { return unwrap(make_filter(p)); });
  m.def("make_map", [](const std::string& out, const std::string& left, char op, const std::string& right) {
    return unwrap(make_map(out, left, op, right));
  });
  m.def("make_select", [](const std::vector<std::string>& names) { return unwrap(make_select(names)); });
  m.def("make_dedupe", [](const std::vector<std::string>& keys, int64_t within) { return unwrap(make_dedupe(keys, within)); });
  m.def("make_window", [](int kind, int64_t size, int64_t slide, int64_t disorder, int64_t lateness, const std::vector<std::string>& keys,
                          const std::vector<std::tuple<std::string, std::string, std::string, int, double, double>>& aggregates) {
    WindowSpec s{static_cast<WindowKind>(kind), size, slide, disorder, lateness, keys, {}};
    for (const auto& [function, column, out, k, low, high] : aggregates)
      s.aggregates.push_back({unwrap(aggregate_kind(function)), column, out, k, low, high});
    return unwrap(make_window(std::move(s)));
  });
  m.def("as_of_join", [](const py::dict& left, const std::map<std::string, int>& left_labels, const py::dict& right,
                         const std::map<std::string, int>& right_labels, const std::vector<std::string>& keys, int64_t within) {
    return columns_of(unwrap(as_of_join(batch_of(left, left_labels), batch_of(right, right_labels), keys, within)));
  });

  py::class_<EgressGate>(m, "EgressGate")
      .def_static("open", [](const std::string& dir) { return unwrap(EgressGate::open(Env::system(), dir)); })
      .def("allow",
           [](EgressGate& g, const std::string& task, const std::string& feature, const std::vector<std::string>& fields, int highest,
              int64_t bytes, int64_t sends, int64_t rows, const std::string& consent) {
             unwrap(g.allow({task, feature, fields, static_cast<Sensitivity>(highest), bytes, sends, rows, consent}));
           })
      .def("set_consents", &EgressGate::set_consents)
      .def("check",
           [](const EgressGate& g, const std::string& task, const std::string& feature, const std::map<std::string, int>& labels) {
             std::vector<Column> columns;
             for (const auto& [name, label] : labels) columns.push_back({name, static_cast<Sensitivity>(label), {}});
             unwrap(g.check_columns(task, feature, columns));
           })
      .def("send", [](EgressGate& g, const std::string& task, const std::string& feature, const py::dict& columns,
                      const std::map<std::string, int>& labels,
                      int64_t rows_behind) { return py::bytes(unwrap(g.send(task, feature, batch_of(columns, labels), rows_behind))); })
      .def("ledger", [](const EgressGate& g) {
        py::list out;
        for (const LedgerEntry& e : g.ledger()) out.append(py::make_tuple(e.ts, e.task, e.feature, e.rows, e.bytes));
        return out;
      });

  m.def("spend_epsilon", [](EventLog& log, const std::string& name, double limit, double epsilon) {
    PrivacyAccount account(log.index(), name, limit);
    unwrap(account.spend(epsilon));
    return unwrap(account.spent());
  });
  m.def("laplace_sum",
        [](const std::vector<double>& values, double low, double high, double epsilon, double resolution, std::optional<uint64_t> seed) {
          auto random = generator(seed);
          return unwrap(laplace_sum(values, low, high, epsilon, resolution, random));
        });
  m.def("discrete_gaussian", [](double sigma, size_t n, std::optional<uint64_t> seed) {
    auto random = generator(seed);
    std::vector<int64_t> out(n);
    for (int64_t& v : out) v = unwrap(discrete_gaussian(sigma, random));
    return out;
  });
  m.def("randomised_response", [](const std::vector<int>& truths, int k, double epsilon, std::optional<uint64_t> seed) {
    auto random = generator(seed);
    std::vector<int> out;
    for (const int t : truths) out.push_back(unwrap(randomised_response(t, k, epsilon, random)));
    return out;
  });
}

}  // namespace walle::pybind
