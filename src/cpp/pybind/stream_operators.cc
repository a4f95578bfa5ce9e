// _core.stream.Operator and the functions that make operators.
#include "pybind/stream.h"
#include "stream/operators/traced_batch.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using Made = std::unique_ptr<Operator>;
using Names = std::vector<std::string>;
// function, column, out, k, low, high
using GivenAggregate = std::tuple<std::string, std::string, std::string, int, double, double>;

AggregateSpec aggregate_of(const GivenAggregate& given) {
  const auto& [function, column, out, k, low, high] = given;
  return {.kind = unwrap(aggregate_kind(function)),
          .column = column,
          .out = out,
          .k = k,
          .low = low,
          .high = high};
}

Made window(int kind, int64_t size_us, int64_t slide_us, int64_t disorder_us, int64_t lateness_us,
            const Names& keys, const std::vector<GivenAggregate>& aggregates) {
  WindowSpec spec{.kind = enum_of(kind, WindowKind::whole, "window kind"),
                  .size_us = size_us,
                  .slide_us = slide_us,
                  .disorder_us = disorder_us,
                  .lateness_us = lateness_us,
                  .keys = keys,
                  .aggregates = {}};
  for (const GivenAggregate& given : aggregates) spec.aggregates.push_back(aggregate_of(given));
  return unwrap(make_window(std::move(spec)));
}

Made state(int kind, const Names& keys, const std::string& column, const GivenAggregate& aggregate,
           const std::string& out, size_t max_keys) {
  return unwrap(make_state({.kind = enum_of(kind, StateKind::running, "state kind"),
                            .keys = keys,
                            .column = column,
                            .aggregate = aggregate_of(aggregate),
                            .out = out,
                            .max_keys = max_keys}));
}

Made noise(EventLog& log, const std::string& account, double limit, int kind, const std::string& column,
           double low, double high, double epsilon, double delta, double resolution,
           std::optional<uint64_t> seed) {
  return unwrap(make_noise({.kind = enum_of(kind, NoiseKind::response, "noise kind"),
                            .column = column,
                            .low = low,
                            .high = high,
                            .epsilon = epsilon,
                            .delta = delta,
                            .resolution = resolution},
                           PrivacyAccount(log.log_state(), account, limit), noise_source(seed)));
}

void bind_class(py::module_& m) {
  py::class_<Operator>(m, "Operator",
                       "Takes batches of rows and gives batches; holds the state between them.")
      .def(
          "push", [](Operator& o, const TracedBatch& rows) { return unwrap(TracedBatch::push(o, rows)); },
          py::arg("rows"))
      .def("finish", [](Operator& o) { return unwrap(TracedBatch::finish(o)); })
      .def("late", &Operator::late)
      .def("outside", &Operator::outside)
      .def("evicted", &Operator::evicted);
}

void bind_rows(py::module_& m) {
  m.def(
      "make_filter", [](const std::string& predicate) { return unwrap(make_filter(predicate)); },
      py::arg("predicate"));
  m.def(
      "make_map",
      [](const std::string& out, const std::string& left, char op, const std::string& right) {
        return unwrap(make_map(out, left, op, right));
      },
      py::arg("out"), py::arg("left"), py::arg("op"), py::arg("right"));
  m.def("make_select", [](const Names& columns) { return unwrap(make_select(columns)); }, py::arg("columns"));
  m.def(
      "make_dedupe",
      [](const Names& keys, int64_t within_us, size_t max_keys) {
        return unwrap(make_dedupe(keys, within_us, max_keys));
      },
      py::arg("keys"), py::arg("within_us"), py::arg("max_keys"));
}

}  // namespace

void bind_stream_operators(py::module_& m) {
  bind_class(m);
  bind_rows(m);
  m.def("make_window", window, py::arg("kind"), py::arg("size_us"), py::arg("slide_us"),
        py::arg("disorder_us"), py::arg("lateness_us"), py::arg("keys"), py::arg("aggregates"));
  m.def("make_state", state, py::arg("kind"), py::arg("keys"), py::arg("column"), py::arg("aggregate"),
        py::arg("out"), py::arg("max_keys"));
  // keep_alive: the operator spends from an account in the log.
  m.def("make_noise", noise, py::arg("log"), py::arg("account"), py::arg("limit"), py::arg("kind"),
        py::arg("column"), py::arg("low"), py::arg("high"), py::arg("epsilon"), py::arg("delta"),
        py::arg("resolution"), py::arg("seed"), py::keep_alive<0, 1>());
}

}  // namespace walle::pybind
