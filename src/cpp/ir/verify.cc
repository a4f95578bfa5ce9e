#include "ir/verify.h"

#include <set>
#include <string_view>

namespace walle::ir {

namespace {

constexpr const char* kAgain = "convert the model again; the file or its converter is at fault";

class Verifier {
 public:
  explicit Verifier(const OpLookup& find) : find_(find) {}

  Status graph(const Graph& g, int depth) {
    place_ = "graph '" + g.name + "'";
    if (depth >= base::kMaxGraphDepth)
      return fail("graphs nested " + std::to_string(depth + 1) + " deep",
                  "at most " + std::to_string(base::kMaxGraphDepth));
    values_ += static_cast<int64_t>(g.values.size());
    nodes_ += static_cast<int64_t>(g.nodes.size());
    if (values_ > base::kMaxValues)
      return fail(std::to_string(values_) + " values", "at most " + std::to_string(base::kMaxValues));
    if (nodes_ > base::kMaxNodes)
      return fail(std::to_string(nodes_) + " nodes", "at most " + std::to_string(base::kMaxNodes));

    std::vector<bool> made(g.values.size(), false);
    for (size_t i = 0; i < g.values.size(); ++i) {
      WALLE_TRY(value(g.values[i]));
      made[i] = g.values[i].constant.has_value();
    }
    for (const ValueId id : g.inputs) {
      WALLE_TRY(in_range(g, id, "a graph input"));
      WALLE_TRY(produce(g, made, id, "a graph input"));
    }
    for (const Node& n : g.nodes) {
      WALLE_TRY(node(g, n, made));
      const std::string outer = place_;
      for (const auto& [key, attribute] : n.attributes.items()) {
        const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
        if (!body) continue;
        if (!*body) return fail(describe(n) + " with an empty graph in '" + key + "'", "a graph");
        WALLE_TRY(graph(**body, depth + 1));
        place_ = outer;
      }
      WALLE_TRY(bodies(n));
    }
    for (const ValueId id : g.outputs) {
      WALLE_TRY(in_range(g, id, "a graph output"));
      if (!made[static_cast<size_t>(id)])
        return fail("output '" + g.at(id).name + "' that nothing makes", "a value some node makes");
    }
    return {};
  }

  Status interface(const ModelData& model) {
    place_ = "graph '" + model.graph.name + "'";
    WALLE_TRY(distinct(model.graph, model.graph.inputs, "inputs"));
    WALLE_TRY(distinct(model.graph, model.graph.outputs, "outputs"));
    const auto inputs = names_of(model.graph, model.graph.inputs),
               outputs = names_of(model.graph, model.graph.outputs);
    std::set<std::string> signatures;
    for (const Signature& s : model.signatures) {
      place_ = "signature '" + s.name + "'";
      if (s.name.empty() || !signatures.insert(s.name).second)
        return fail("a signature named '" + s.name + "'", "distinct names that are not empty");
      WALLE_TRY(refers(s.inputs, inputs, "input"));
      WALLE_TRY(refers(s.outputs, outputs, "output"));
    }
    return {};
  }

 private:
  Error fail(std::string given, std::string expected) const {
    return model_error(std::move(given), std::move(expected), place_, kAgain);
  }

  Status value(const Value& v) const {
    if (static_cast<int64_t>(v.name.size()) > base::kMaxNameBytes)
      return fail("a name of " + std::to_string(v.name.size()) + " bytes",
                  "at most " + std::to_string(base::kMaxNameBytes));
    if (v.shape) {
      if (v.shape->size() > static_cast<size_t>(base::kMaxRank))
        return fail("value '" + v.name + "' of rank " + std::to_string(v.shape->size()),
                    "rank at most " + std::to_string(base::kMaxRank));
      for (const Dim& d : *v.shape)
        if (d.size < -1)
          return fail("value '" + v.name + "' with dimension " + std::to_string(d.size), "-1 or a size");
    }
    if (!v.constant) return {};
    const Tensor& t = *v.constant;
    WALLE_ASSIGN(const Shape shape, Shape::checked(t.shape().dims(), dtype_size(t.dtype()),
                                                   place_ + ", constant '" + v.name + "'"));
    const auto want = static_cast<uint64_t>(shape.elements() * dtype_size(t.dtype()));
    if (!t.defined() || t.byte_offset() > t.buffer().size() || want > t.buffer().size() - t.byte_offset())
      return fail("constant '" + v.name + "' " + std::string(dtype_name(t.dtype())) + shape.text() +
                      " over " + std::to_string(t.buffer().size()) + " bytes",
                  std::to_string(want) + " bytes");
    if (v.kind != ValueKind::tensor)
      return fail("constant '" + v.name + "' that is not a tensor", "a tensor");
    return {};
  }

  Status in_range(const Graph& g, ValueId id, const char* what, const std::string& where = {}) const {
    if (id >= 0 && id < static_cast<ValueId>(g.values.size())) return {};
    return fail("value number " + std::to_string(id) + " as " + what + where,
                "0.." + std::to_string(static_cast<int64_t>(g.values.size()) - 1));
  }

  Status produce(const Graph& g, std::vector<bool>& made, ValueId id, const std::string& what) const {
    if (made[static_cast<size_t>(id)])
      return fail("value '" + g.at(id).name + "' made a second time by " + what, "one producer per value");
    made[static_cast<size_t>(id)] = true;
    return {};
  }

  static bool within(size_t count, Arity arity) {
    return static_cast<int>(count) >= arity.min && (arity.max < 0 || static_cast<int>(count) <= arity.max);
  }
  static std::string range(Arity arity) {
    return std::to_string(arity.min) + ".." + (arity.max < 0 ? "any" : std::to_string(arity.max));
  }

  Status node(const Graph& g, const Node& n, std::vector<bool>& made) const {
    const std::string where = describe(n);
    if (n.inputs.size() > static_cast<size_t>(base::kMaxNodeArity) ||
        n.outputs.size() > static_cast<size_t>(base::kMaxNodeArity))
      return fail(
          where + " with " + std::to_string(std::max(n.inputs.size(), n.outputs.size())) + " operands",
          "at most " + std::to_string(base::kMaxNodeArity));
    if (n.attributes.items().size() > static_cast<size_t>(base::kMaxAttributes))
      return fail(where + " with " + std::to_string(n.attributes.items().size()) + " attributes",
                  "at most " + std::to_string(base::kMaxAttributes));
    const OpDef* op = find_(n.op);
    if (!op)
      return model_error("operator '" + n.op + "'", "an operator of the table", place_ + ", " + where,
                         "see `walle inspect ops` for the list");
    if (!within(n.inputs.size(), op->inputs))
      return fail(where + " with " + std::to_string(n.inputs.size()) + " inputs",
                  range(op->inputs) + " inputs");
    if (!within(n.outputs.size(), op->outputs))
      return fail(where + " with " + std::to_string(n.outputs.size()) + " outputs",
                  range(op->outputs) + " outputs");
    for (const ValueId id : n.inputs) {
      if (id == kNone) continue;
      WALLE_TRY(in_range(g, id, "an input of ", where));
      if (!made[static_cast<size_t>(id)])
        return fail(where + " uses '" + g.at(id).name + "' before anything made it",
                    "topological order without cycles");
    }
    for (const ValueId id : n.outputs) {
      if (id == kNone) continue;
      WALLE_TRY(in_range(g, id, "an output of ", where));
      WALLE_TRY(produce(g, made, id, where));
    }
    return {};
  }

  // `formal` values and the captures counted by `attribute` are what the body takes.
  Status body(const Node& n, const char* name, int64_t formal, const char* captures,
              int64_t least_outputs) const {
    const auto graph = n.attributes.get_graph(name);
    const std::string where = describe(n);
    if (!graph) return fail(where + " without '" + name + "'", "a graph");
    const int64_t taken = n.attributes.get_int(captures, 0);
    if (taken < 0 || taken > static_cast<int64_t>(n.inputs.size()))
      return fail(where + " with " + captures + "=" + std::to_string(taken), "a count of its inputs");
    if (static_cast<int64_t>(graph->inputs.size()) != formal + taken)
      return fail(where + " whose '" + name + "' has " + std::to_string(graph->inputs.size()) + " inputs",
                  std::to_string(formal + taken) + ": formal values and captures");
    if (static_cast<int64_t>(graph->outputs.size()) < least_outputs)
      return fail(where + " whose '" + name + "' has " + std::to_string(graph->outputs.size()) + " outputs",
                  "at least " + std::to_string(least_outputs));
    return {};
  }

  // Inputs of a Loop or Scan that are no captures.
  Result<int64_t> formal_inputs(const Node& n) const {
    const auto inputs = static_cast<int64_t>(n.inputs.size());
    const int64_t captures = n.attributes.get_int("body_captures", 0);
    if (captures < 0 || captures > inputs)
      return fail(describe(n) + " with body_captures=" + std::to_string(captures), "a count of its inputs");
    return inputs - captures;
  }

  Status bodies(const Node& n) const {
    const auto inputs = static_cast<int64_t>(n.inputs.size());
    const auto outputs = static_cast<int64_t>(n.outputs.size());
    if (n.op == "If") {
      WALLE_TRY(body(n, "then_branch", 0, "then_captures", outputs));
      WALLE_TRY(body(n, "else_branch", 0, "else_captures", outputs));
      if (n.attributes.get_int("then_captures", 0) + n.attributes.get_int("else_captures", 0) + 1 != inputs)
        return fail(describe(n) + " with " + std::to_string(inputs) + " inputs",
                    "a condition and the captures of both branches");
    } else if (n.op == "Loop") {
      WALLE_ASSIGN(const int64_t formal, formal_inputs(n));
      WALLE_TRY(body(n, "body", formal, "body_captures", 1));
    } else if (n.op == "Scan") {
      WALLE_ASSIGN(const int64_t formal, formal_inputs(n));
      WALLE_TRY(body(n, "body", formal, "body_captures", outputs));
      const int64_t scanned = n.attributes.get_int("num_scan_inputs", 0);
      if (scanned < 1 || scanned > formal)
        return fail(describe(n) + " with num_scan_inputs=" + std::to_string(scanned),
                    "1.." + std::to_string(formal));
    }
    return {};
  }

  Status distinct(const Graph& g, const std::vector<ValueId>& ids, const char* what) const {
    std::set<std::string> names;
    for (const ValueId id : ids)
      if (g.at(id).name.empty() || !names.insert(g.at(id).name).second)
        return fail(std::string("two ") + what + " named '" + g.at(id).name + "', or one without a name",
                    "distinct names");
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
        return fail(std::string(what) + " '" + name + "' -> '" + target + "'",
                    std::string("the name of a graph ") + what);
    }
    return {};
  }

  const OpLookup& find_;
  std::string place_;
  int64_t values_ = 0;
  int64_t nodes_ = 0;
};

}  // namespace

Status verify(const ModelData& model, const OpLookup& find) {
  Verifier verifier(find);
  WALLE_TRY(verifier.graph(model.graph, 0));
  return verifier.interface(model);
}

}  // namespace walle::ir
