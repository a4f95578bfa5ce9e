#include "ir/verify.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "ir/verify_bodies.h"

namespace walle::ir {

namespace {

class Verifier {
 public:
  explicit Verifier(const OpLookup& find) : find_(find) {}

  Status graph(const Graph& g, int depth) {
    place_ = "graph '" + g.name + "'";
    WALLE_TRY(limits(g, depth));
    // By value: what an input, a constant or a node up to here makes. Nodes are looked at in the order of the
    // list, so "made" means "made by an earlier one", and one pass without recursion proves both that the
    // order is topological and that there is no cycle.
    std::vector<bool> made(g.values.size(), false);
    for (size_t i = 0; i < g.values.size(); ++i) {
      WALLE_TRY(value(g.values[i]));
      made[i] = g.values[i].constant.has_value();
    }
    WALLE_TRY(overridable(g, depth));
    for (const ValueId id : g.inputs) {
      WALLE_TRY(in_range(g, id, "a graph input"));
      WALLE_TRY(produce(g, made, id, "a graph input"));
    }
    for (const Node& n : g.nodes) {
      WALLE_TRY(node(g, n, made));
      WALLE_TRY(graphs_within(n, depth));
      WALLE_TRY(detail::check_bodies(n, place_));
    }
    for (const ValueId id : g.outputs) {
      WALLE_TRY(in_range(g, id, "a graph output"));
      if (!made[id])
        return fail({"output '", g.at(id).name, "' that nothing makes"}, "a value some node makes");
    }
    return states(g, depth, made);
  }

  Status interface(const ModelData& model) {
    place_ = "graph '" + model.graph.name + "'";
    std::vector<ValueId> named = feedable(model.graph);
    for (const State& state : model.graph.states) named.push_back(state.value);
    WALLE_TRY(distinct(model.graph, named, "inputs or states"));
    WALLE_TRY(distinct(model.graph, model.graph.outputs, "outputs"));
    const auto inputs = names_of(model.graph, feedable(model.graph));
    const auto outputs = names_of(model.graph, model.graph.outputs);
    std::set<std::string> signatures;
    for (const Signature& s : model.signatures) {
      place_ = "signature '" + s.name + "'";
      if (s.name.empty() || !signatures.insert(s.name).second)
        return fail({"a signature named '", s.name, "'"}, "distinct names that are not empty");
      WALLE_TRY(refers(s.inputs, inputs, "input"));
      WALLE_TRY(refers(s.outputs, outputs, "output"));
    }
    return {};
  }

 private:
  Error fail(Text given, Text expected) const { return detail::graph_fault(given, expected, place_); }

  // Constants, so neither inputs nor results of nodes: graph() allows one producer for each.
  Status overridable(const Graph& g, int depth) const {
    if (depth > 0 && !g.overridable.empty())
      return fail("overridable inputs of a body", "only those of the outermost graph");
    for (const ValueId id : g.overridable) {
      WALLE_TRY(in_range(g, id, "an overridable input"));
      if (!g.at(id).constant)
        return fail({"overridable input '", g.at(id).name, "' without a value"}, "a constant");
    }
    return {};
  }

  // Constants, as overridable inputs are; which of the two a value is, its name says to callers.
  Status states(const Graph& g, int depth, const std::vector<bool>& made) const {
    if (depth > 0 && !g.states.empty())
      return fail("state values of a body", "only those of the outermost graph");
    for (const State& state : g.states) {
      WALLE_TRY(in_range(g, state.value, "a state"));
      WALLE_TRY(in_range(g, state.next, "the next contents of a state"));
      if (!g.at(state.value).constant)
        return fail({"state '", g.at(state.value).name, "' without a value"}, "a constant to begin with");
      if (!made[state.next])
        return fail({"next contents of state '", g.at(state.value).name, "' that nothing makes"},
                    "a value some node makes");
    }
    return {};
  }

  static std::vector<ValueId> feedable(const Graph& g) {
    std::vector<ValueId> ids = g.inputs;
    ids.insert(ids.end(), g.overridable.begin(), g.overridable.end());
    return ids;
  }

  // Values and nodes are counted over all graphs of the model: a thousand small bodies plan as one large
  // graph.
  Status limits(const Graph& g, int depth) {
    if (depth >= base::kMaxGraphDepth)
      return fail({"graphs nested ", depth + 1, " deep"}, {"at most ", base::kMaxGraphDepth});
    values_ += std::ssize(g.values);
    nodes_ += std::ssize(g.nodes);
    if (values_ > base::kMaxValues) return fail({values_, " values"}, {"at most ", base::kMaxValues});
    if (nodes_ > base::kMaxNodes) return fail({nodes_, " nodes"}, {"at most ", base::kMaxNodes});
    return {};
  }

  // Any attribute that is a graph, known to the operator or not: decoding and planning would walk it.
  Status graphs_within(const Node& n, int depth) {
    const std::string outer = place_;
    for (const auto& [key, attribute] : n.attributes.items()) {
      const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
      if (!body) continue;
      if (!*body) return fail({describe(n), " with an empty graph in '", key, "'"}, "a graph");
      WALLE_TRY(graph(**body, depth + 1));
      place_ = outer;
    }
    return {};
  }

  Status value(const Value& v) const {
    if (std::ssize(v.name) > base::kMaxNameBytes)
      return fail({"a name of ", v.name.size(), " bytes"}, {"at most ", base::kMaxNameBytes});
    if (v.shape) {
      if (std::ssize(*v.shape) > base::kMaxRank)
        return model_error({"value '", v.name, "' of rank ", v.shape->size()},
                           {"rank at most ", base::kMaxRank, ", which is this runtime's limit"}, place_,
                           "reshape before the node so that fewer axes are needed");
      for (const Dim& d : *v.shape)
        if (d.size < -1) return fail({"value '", v.name, "' with dimension ", d.size}, "-1 or a size");
    }
    return v.constant ? constant(v) : Status();
  }

  // The reader has checked constants of files already; converters hand in theirs without one.
  Status constant(const Value& v) const {
    const Tensor& t = *v.constant;
    WALLE_ASSIGN(const Shape shape, Shape::checked(t.shape().dims(), dtype_size(t.dtype()),
                                                   place_ + ", constant '" + v.name + "'"));
    const auto want = static_cast<uint64_t>(shape.elements() * dtype_size(t.dtype()));
    if (!t.defined() || t.byte_offset() > t.buffer().size() || want > t.buffer().size() - t.byte_offset())
      return fail({"constant '", v.name, "' ", dtype_name(t.dtype()), shape.text(), " over ",
                   t.buffer().size(), " bytes"},
                  {want, " bytes"});
    if (v.kind != ValueKind::tensor)
      return fail({"constant '", v.name, "' that is not a tensor"}, "a tensor");
    return {};
  }

  Status in_range(const Graph& g, ValueId id, const char* what, const std::string& where = {}) const {
    if (id >= 0 && id < std::ssize(g.values)) return {};
    return fail({"value number ", id, " as ", what, where}, {"0..", std::ssize(g.values) - 1});
  }

  Status produce(const Graph& g, std::vector<bool>& made, ValueId id, const std::string& what) const {
    if (made[id])
      return fail({"value '", g.at(id).name, "' made a second time by ", what}, "one producer per value");
    made[id] = true;
    return {};
  }

  static bool within(size_t count, Arity arity) {
    return static_cast<int>(count) >= arity.min && (arity.max < 0 || static_cast<int>(count) <= arity.max);
  }
  static std::string range(Arity arity) {
    return std::to_string(arity.min) + ".." + (arity.max < 0 ? "any" : std::to_string(arity.max));
  }

  // Counts before contents, the operator before its arity, inputs before outputs: a node that reads its own
  // output is one that uses a value before anything made it.
  Status node(const Graph& g, const Node& n, std::vector<bool>& made) const {
    const std::string where = describe(n);
    WALLE_TRY(counts(n, where));
    WALLE_TRY(known(n, where));
    for (const ValueId id : n.inputs) {
      if (id == kNone) continue;
      WALLE_TRY(in_range(g, id, "an input of ", where));
      if (!made[id])
        return fail({where, " uses '", g.at(id).name, "' before anything made it"},
                    "topological order without cycles");
    }
    for (const ValueId id : n.outputs) {
      if (id == kNone) continue;
      WALLE_TRY(in_range(g, id, "an output of ", where));
      WALLE_TRY(produce(g, made, id, where));
    }
    return {};
  }

  Status counts(const Node& n, const std::string& where) const {
    const int64_t operands = std::max(std::ssize(n.inputs), std::ssize(n.outputs));
    if (operands > base::kMaxNodeArity)
      return fail({where, " with ", operands, " operands"}, {"at most ", base::kMaxNodeArity});
    if (std::ssize(n.attributes.items()) > base::kMaxAttributes)
      return fail({where, " with ", n.attributes.items().size(), " attributes"},
                  {"at most ", base::kMaxAttributes});
    return {};
  }

  Status known(const Node& n, const std::string& where) const {
    const OpDef* op = find_(n.op);
    if (!op)
      return model_error({"operator '", n.op, "'"}, "an operator of the table", {place_, ", ", where},
                         "see `walle inspect ops` for the list");
    if (!within(n.inputs.size(), op->inputs))
      return fail({where, " with ", n.inputs.size(), " inputs"}, {range(op->inputs), " inputs"});
    if (!within(n.outputs.size(), op->outputs))
      return fail({where, " with ", n.outputs.size(), " outputs"}, {range(op->outputs), " outputs"});
    return {};
  }

  Status distinct(const Graph& g, const std::vector<ValueId>& ids, const char* what) const {
    std::set<std::string> names;
    for (const ValueId id : ids)
      if (g.at(id).name.empty() || !names.insert(g.at(id).name).second)
        return fail({"two ", what, " named '", g.at(id).name, "', or one without a name"}, "distinct names");
    return {};
  }

  static std::set<std::string_view> names_of(const Graph& g, const std::vector<ValueId>& ids) {
    std::set<std::string_view> names;
    for (const ValueId id : ids) names.insert(g.at(id).name);
    return names;
  }

  Status refers(const std::vector<std::pair<std::string, std::string>>& names,
                const std::set<std::string_view>& known, const char* what) const {
    for (const auto& [name, target] : names) {
      if (!known.contains(target))
        return fail({what, " '", name, "' -> '", target, "'"}, {"the name of a graph ", what});
    }
    return {};
  }

  const OpLookup& find_;
  std::string place_;  // the graph at hand, for messages
  int64_t values_ = 0;
  int64_t nodes_ = 0;
};

}  // namespace

// The interface last: it looks values up by the numbers that graph() has found in range.
Status verify(const ModelData& model, const OpLookup& find) {
  Verifier verifier(find);
  WALLE_TRY(verifier.graph(model.graph, 0));
  return verifier.interface(model);
}

}  // namespace walle::ir
