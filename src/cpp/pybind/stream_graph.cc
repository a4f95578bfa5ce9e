// _core.stream.Graph: a chain of operators as data and at work.
#include <map>

#include "pybind/session_encoder.h"
#include "pybind/stream_batch.h"
#include "stream/graph/graph.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using Names = std::vector<std::string>;
// function, column, out, k, low, high
using GivenAggregate = std::tuple<std::string, std::string, std::string, int, double, double>;
using GivenLabels = std::map<std::string, int>;

// What Python gave for the names in a graph.
class GivenResources final : public GraphResources {
 public:
  void add_model(const std::string& name, const py::object& session) {
    const auto [it, fresh] = models_.emplace(name, Model{session, nullptr});
    if (!fresh && !it->second.session.is(session))
      throw CoreError(argument_error({"two models called '", name, "' in one graph"}, "a name for each",
                                     "encode", "name them: encode(..., model=\"...\")"));
    if (fresh) it->second.encoder = session_encoder(session);
  }
  // The log lives as long as the graph, whose noise spends from it.
  void add_log(const std::string& account, const py::object& log) { logs_.emplace(account, log); }
  void add_log_for_all(const py::object& log) { any_log_ = log; }
  void set_seed(const NoiseStep& step, std::optional<uint64_t> seed) {
    if (seed) seeds_[{step.account, step.noise.column}] = *seed;
  }
  void add(const GivenResources& other) {
    for (const auto& [name, model] : other.models_) add_model(name, model.session);
    for (const auto& [account, log] : other.logs_) logs_.emplace(account, log);
    for (const auto& [key, seed] : other.seeds_) seeds_.emplace(key, seed);
    if (!any_log_) any_log_ = other.any_log_;
  }

  Result<std::shared_ptr<Encoder>> encoder(const std::string& name) override {
    const auto found = models_.find(name);
    return found == models_.end() ? GraphResources::encoder(name) : found->second.encoder;
  }
  Result<PrivacyAccount> account(const std::string& name, double limit) override {
    const auto found = logs_.find(name);
    const py::object log = found == logs_.end() ? any_log_ : found->second;
    if (!log) return GraphResources::account(name, limit);
    return PrivacyAccount(log.cast<EventLog&>().log_state(), name, limit);
  }
  std::mt19937_64 random(const NoiseStep& step) override {
    const auto found = seeds_.find({step.account, step.noise.column});
    return found == seeds_.end() ? GraphResources::random(step) : noise_source(found->second);
  }

 private:
  struct Model {
    py::object session;
    std::shared_ptr<Encoder> encoder;
  };
  std::map<std::string, Model> models_;
  std::map<std::string, py::object> logs_;  // by account
  py::object any_log_;
  std::map<std::pair<std::string, std::string>, uint64_t> seeds_;  // by account and column
};

// The graph behind what it was given: it goes first.
struct NativeGraph {
  GivenResources resources;
  Graph graph;

  void add(GraphStep::Any step) { unwrap(graph.add({std::move(step)}, resources)); }
};

AggregateSpec aggregate_of(const GivenAggregate& given) {
  const auto& [function, column, out, k, low, high] = given;
  return {.kind = unwrap(aggregate_kind(function)),
          .column = column,
          .out = out,
          .k = k,
          .low = low,
          .high = high};
}

void add_map(NativeGraph& g, const std::string& out, const std::string& left, char op,
             const std::string& right) {
  g.add(MapStep{.out = out, .left = left, .op = op, .right = right});
}

void add_window(NativeGraph& g, int kind, int64_t size_us, int64_t slide_us, int64_t disorder_us,
                int64_t lateness_us, const Names& keys, const std::vector<GivenAggregate>& aggregates) {
  WindowSpec spec{.kind = enum_of(kind, WindowKind::whole, "window kind"),
                  .size_us = size_us,
                  .slide_us = slide_us,
                  .disorder_us = disorder_us,
                  .lateness_us = lateness_us,
                  .keys = keys,
                  .aggregates = {}};
  for (const GivenAggregate& given : aggregates) spec.aggregates.push_back(aggregate_of(given));
  g.add(std::move(spec));
}

void add_state(NativeGraph& g, int kind, const Names& keys, const std::string& column,
               const std::optional<GivenAggregate>& aggregate, const std::string& out, size_t max_keys) {
  g.add(StateSpec{.kind = enum_of(kind, StateKind::running, "state kind"),
                  .keys = keys,
                  .column = column,
                  .aggregate = aggregate ? aggregate_of(*aggregate) : AggregateSpec{},
                  .out = out,
                  .max_keys = max_keys});
}

void add_encode(NativeGraph& g, const Names& columns, const std::string& out, const std::string& model,
                const py::object& session) {
  g.resources.add_model(model, session);
  g.add(EncodeStep{.columns = columns, .out = out, .model = model});
}

void add_noise(NativeGraph& g, const py::object& log, const std::string& account, double limit, int kind,
               const std::string& column, double low, double high, double epsilon, double delta,
               double resolution, std::optional<uint64_t> seed) {
  NoiseStep step{.noise = {.kind = enum_of(kind, NoiseKind::response, "noise kind"),
                           .column = column,
                           .low = low,
                           .high = high,
                           .epsilon = epsilon,
                           .delta = delta,
                           .resolution = resolution},
                 .account = account,
                 .limit = limit};
  g.resources.add_log(account, log);
  g.resources.set_seed(step, seed);
  g.add(std::move(step));
}

void add_ipv(NativeGraph& g, const std::string& depth, const std::string& item, const std::string& out,
             int64_t idle_us, int64_t disorder_us) {
  g.add(IpvSpec{.depth = depth, .item = item, .out = out, .idle_us = idle_us, .disorder_us = disorder_us});
}

void add_join(NativeGraph& g, const NativeGraph& right, const Names& keys, int64_t within_us,
              bool second_input) {
  g.resources.add(right.resources);
  g.add(JoinStep{
      .keys = keys, .within_us = within_us, .second_input = second_input, .right = right.graph.spec().steps});
}

std::unique_ptr<NativeGraph> from_bytes(const py::bytes& data, const py::object& log,
                                        const std::map<std::string, py::object>& models) {
  auto out = std::make_unique<NativeGraph>();
  if (!log.is_none()) out->resources.add_log_for_all(log);
  for (const auto& [name, session] : models) out->resources.add_model(name, session);
  out->graph = unwrap(Graph::make(unwrap(parse_graph(std::string_view(data))), out->resources));
  return out;
}

TracedBatch::LabelsByName labels_of(const GivenLabels& given) {
  TracedBatch::LabelsByName out;
  for (const auto& [name, label] : given) out[name] = enum_of(label, Sensitivity::secret, "sensitivity");
  return out;
}

void bind_building(py::class_<NativeGraph>& c) {
  c.def(
       "add_filter",
       [](NativeGraph& g, const std::string& predicate) { g.add(FilterStep{.predicate = predicate}); },
       py::arg("predicate"))
      .def("add_map", add_map, py::arg("out"), py::arg("left"), py::arg("op"), py::arg("right"))
      .def(
          "add_select", [](NativeGraph& g, const Names& columns) { g.add(SelectStep{.columns = columns}); },
          py::arg("columns"))
      .def(
          "add_dedupe",
          [](NativeGraph& g, const Names& keys, int64_t within_us, uint64_t max_keys) {
            g.add(DedupeStep{.keys = keys, .within_us = within_us, .max_keys = max_keys});
          },
          py::arg("keys"), py::arg("within_us"), py::arg("max_keys"))
      .def("add_window", add_window, py::arg("kind"), py::kw_only(), py::arg("size_us"), py::arg("slide_us"),
           py::arg("disorder_us"), py::arg("lateness_us"), py::arg("keys"), py::arg("aggregates"))
      .def("add_state", add_state, py::arg("kind"), py::kw_only(), py::arg("keys"), py::arg("column"),
           py::arg("aggregate"), py::arg("out"), py::arg("max_keys"))
      .def("add_encode", add_encode, py::arg("columns"), py::arg("out"), py::arg("model"), py::arg("session"))
      .def("add_noise", add_noise, py::arg("log"), py::arg("account"), py::arg("limit"), py::kw_only(),
           py::arg("kind"), py::arg("column"), py::arg("low"), py::arg("high"), py::arg("epsilon"),
           py::arg("delta"), py::arg("resolution"), py::arg("seed"))
      .def("add_ipv", add_ipv, py::arg("depth"), py::arg("item"), py::arg("out"), py::arg("idle_us"),
           py::arg("disorder_us"))
      .def("add_join", add_join, py::arg("right"), py::arg("keys"), py::arg("within_us"),
           py::arg("second_input"));
}

void bind_running(py::class_<NativeGraph>& c) {
  c.def(
       "push",
       [](NativeGraph& g, const TracedBatch& rows, size_t input) {
         return unwrap(g.graph.push(rows, input));
       },
       py::arg("rows"), py::arg("input"))
      .def("finish", [](NativeGraph& g) { return unwrap(g.graph.finish()); })
      .def(
          "run", [](NativeGraph& g, const TracedBatch& rows) { return unwrap(g.graph.run(rows)); },
          py::arg("rows"))
      .def(
          "outputs",
          [](const NativeGraph& g, const GivenLabels& given, const GivenLabels& second) {
            return unwrap(columns_made(g.graph.spec(), labels_of(given), labels_of(second)));
          },
          py::arg("given"), py::arg("second"))
      .def("late", [](const NativeGraph& g) { return g.graph.late(); })
      .def("outside", [](const NativeGraph& g) { return g.graph.outside(); })
      .def("evicted", [](const NativeGraph& g) { return g.graph.evicted(); });
}

}  // namespace

void bind_stream_graph(py::module_& m) {
  py::list aggregates;
  for (const AggregateFacts& a : kAggregates) aggregates.append(std::string(a.name));
  m.attr("AGGREGATES") = py::tuple(aggregates);  // by number
  py::class_<NativeGraph> c(m, "Graph", "A chain of operators, which holds what is open between batches.");
  c.def(py::init<>())
      .def_static("from_bytes", from_bytes, py::arg("data"), py::arg("log"), py::arg("models"))
      .def("to_bytes", [](const NativeGraph& g) { return py::bytes(unwrap(graph_bytes(g.graph.spec()))); })
      .def("text", [](const NativeGraph& g) { return graph_text(g.graph.spec()); })
      .def("fields", [](const NativeGraph& g) { return fields_read(g.graph.spec()); })
      .def("__len__", [](const NativeGraph& g) { return g.graph.spec().steps.size(); });
  bind_building(c);
  bind_running(c);
}

}  // namespace walle::pybind
