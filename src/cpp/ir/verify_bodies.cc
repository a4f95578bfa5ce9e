#include "ir/verify_bodies.h"

#include <iterator>

namespace walle::ir::detail {

Error graph_fault(Text given, Text expected, Text place) {
  return model_error(given, expected, place,
                     "convert the model again; the file or its converter is at fault");
}

namespace {

class Bodies {
 public:
  Bodies(const Node& n, const std::string& place) : n_(n), place_(place) {}

  Status if_node() const {
    const auto outputs = std::ssize(n_.outputs);
    WALLE_TRY(body("then_branch", 0, "then_captures", outputs));
    WALLE_TRY(body("else_branch", 0, "else_captures", outputs));
    // Each count is at most the number of inputs by now, so their sum cannot overflow.
    const int64_t taken =
        n_.attributes.get_int("then_captures", 0) + n_.attributes.get_int("else_captures", 0);
    if (taken + 1 != std::ssize(n_.inputs))
      return fail({describe(n_), " with ", n_.inputs.size(), " inputs"},
                  "a condition and the captures of both branches");
    return {};
  }

  // A Loop takes (trip count, condition, carried ...), its body (iteration, condition, carried ...): as many,
  // so the node's own inputs count the body's formal values. The body gives at least the next condition.
  Status loop_node() const {
    WALLE_ASSIGN(const int64_t formal, formal_inputs());
    return body("body", formal, "body_captures", 1);
  }

  // A Scan's states and scanned inputs are all formal values of its body; at least one is scanned, or nothing
  // would say how often it runs. The body gives what the node gives, slice by slice.
  Status scan_node() const {
    WALLE_ASSIGN(const int64_t formal, formal_inputs());
    WALLE_TRY(body("body", formal, "body_captures", std::ssize(n_.outputs)));
    const int64_t scanned = n_.attributes.get_int("num_scan_inputs", 0);
    if (scanned < 1 || scanned > formal)
      return fail({describe(n_), " with num_scan_inputs=", scanned}, {"1..", formal});
    return {};
  }

  // Everything that a Gradient takes goes into its body, by whose first `wrt` inputs it differentiates.
  Status gradient_node() const {
    WALLE_TRY(body("body", std::ssize(n_.inputs), "", 1));
    const int64_t wrt = n_.attributes.get_int("wrt", 0);
    if (wrt < 1 || wrt > std::ssize(n_.inputs))
      return fail({describe(n_), " with wrt=", wrt}, {"1..", n_.inputs.size()});
    return {};
  }

 private:
  Error fail(Text given, Text expected) const { return graph_fault(given, expected, place_); }

  // `formal` values and the captures counted by `captures` are what the body takes.
  Status body(const char* name, int64_t formal, const char* captures, int64_t least_outputs) const {
    const auto graph = n_.attributes.get_graph(name);
    const std::string where = describe(n_);
    if (!graph) return fail({where, " without '", name, "'"}, "a graph");
    const int64_t taken = n_.attributes.get_int(captures, 0);
    if (taken < 0 || taken > std::ssize(n_.inputs))
      return fail({where, " with ", captures, "=", taken}, "a count of its inputs");
    if (std::ssize(graph->inputs) != formal + taken)
      return fail({where, " whose '", name, "' has ", graph->inputs.size(), " inputs"},
                  {formal + taken, ": formal values and captures"});
    if (std::ssize(graph->outputs) < least_outputs)
      return fail({where, " whose '", name, "' has ", graph->outputs.size(), " outputs"},
                  {"at least ", least_outputs});
    return {};
  }

  // Inputs of a Loop or Scan that are no captures.
  Result<int64_t> formal_inputs() const {
    const int64_t captures = n_.attributes.get_int("body_captures", 0);
    if (captures < 0 || captures > std::ssize(n_.inputs))
      return fail({describe(n_), " with body_captures=", captures}, "a count of its inputs");
    return std::ssize(n_.inputs) - captures;
  }

  const Node& n_;
  const std::string& place_;
};

}  // namespace

Status check_bodies(const Node& n, const std::string& place) {
  if (n.op == "If") return Bodies(n, place).if_node();
  if (n.op == "Loop") return Bodies(n, place).loop_node();
  if (n.op == "Scan") return Bodies(n, place).scan_node();
  if (n.op == "Gradient") return Bodies(n, place).gradient_node();
  return {};
}

}  // namespace walle::ir::detail
