#include "ops/passes/fuse_gelu.h"

#include <cmath>
#include <optional>

#include "ops/passes/uses.h"
#include "ops/registry.h"

namespace walle::ops {

namespace {
// How far a constant may lie from the number it stands for: exporters write 1.4142, too.
constexpr double kTolerance = 1e-4;

class GeluFuser {
 public:
  explicit GeluFuser(Program& program) : program_(program), uses_(program) {}

  void run(const ir::OpDef& gelu) {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& erf = program_.nodes[i];
      // float32 alone: other dtypes have no kernel that would be faster whole.
      if (erf.op->name != "Erf" || program_.at(erf.outputs[0]).dtype != DType::float32) continue;
      const auto match = around(erf);
      if (!match) continue;
      ProgramNode& last = program_.nodes[match->last];
      last = {.op = &gelu, .inputs = {match->x}, .outputs = last.outputs, .origin = last.origin};
    }
  }

 private:
  struct Match {
    Ref x;
    int last;  // the node whose result is the Gelu
  };

  std::optional<double> scalar(Ref r) const {
    if (r < 0 || !program_.at(r).constant || program_.at(r).constant->elements() != 1) return std::nullopt;
    const auto values = program_.at(r).constant->to_f64();
    return values.ok() ? std::optional((*values)[0]) : std::nullopt;
  }
  bool near(Ref r, double want) const {
    const auto value = scalar(r);
    return value && std::abs(*value - want) <= kTolerance * std::abs(want);
  }
  const ProgramNode* node(int i) const { return i < 0 ? nullptr : &program_.nodes[i]; }
  const ProgramNode* made_by(Ref r) const { return node(uses_.producer(r)); }
  // The only reader of a value, when it has but one; its other operand through `other`.
  int only_reader(Ref r, Ref* other) const {
    // A value somebody else reads has to be computed anyway.
    if (!uses_.private_to_one(r)) return -1;
    const ProgramNode& n = program_.nodes[uses_.readers(r)[0]];
    if (n.inputs.size() != 2) return -1;
    *other = n.inputs[0] == r ? n.inputs[1] : n.inputs[0];
    return uses_.readers(r)[0];
  }

  // x where erf reads x / sqrt 2.
  Ref argument(const ProgramNode& erf) const {
    const ProgramNode* n = made_by(erf.inputs[0]);
    if (!n || n->inputs.size() != 2) return kNoRef;
    // PyTorch divides by 1.4142135, TensorFlow and BERT's exports multiply by 0.70710677.
    if (n->op->name == "Div" && near(n->inputs[1], std::sqrt(2.0))) return n->inputs[0];
    if (n->op->name != "Mul") return kNoRef;
    if (near(n->inputs[1], std::sqrt(0.5))) return n->inputs[0];
    return near(n->inputs[0], std::sqrt(0.5)) ? n->inputs[1] : kNoRef;
  }

  // Whether r is x / 2.
  bool is_half_of(Ref r, Ref x) const {
    const ProgramNode* n = made_by(r);
    if (!n || n->inputs.size() != 2) return false;
    if (n->op->name == "Div") return n->inputs[0] == x && near(n->inputs[1], 2);
    return n->op->name == "Mul" &&
           ((n->inputs[0] == x && near(n->inputs[1], 0.5)) || (n->inputs[1] == x && near(n->inputs[0], 0.5)));
  }

  std::optional<Match> around(const ProgramNode& erf) const {
    const Ref x = argument(erf);
    if (x < 0) return std::nullopt;
    Ref other = kNoRef;
    const int add = only_reader(erf.outputs[0], &other);
    if (add < 0 || node(add)->op->name != "Add" || !near(other, 1)) return std::nullopt;
    const int first = only_reader(node(add)->outputs[0], &other);
    if (first < 0 || node(first)->op->name != "Mul") return std::nullopt;
    if (is_half_of(other, x)) return keeps_shape(x, first);
    const bool times_x = other == x;
    if (!times_x && !near(other, 0.5)) return std::nullopt;
    const int second = only_reader(node(first)->outputs[0], &other);
    if (second < 0 || node(second)->op->name != "Mul") return std::nullopt;
    // The two remaining factors in either order.
    if (times_x ? !near(other, 0.5) : other != x) return std::nullopt;
    return keeps_shape(x, second);
  }

  std::optional<Match> keeps_shape(Ref x, int last) const {
    if (program_.at(node(last)->outputs[0]).shape != program_.at(x).shape) return std::nullopt;
    return Match{x, last};
  }

  Program& program_;
  Uses uses_;
};
}  // namespace

Status fuse_gelu(Program& program) {
  const ir::OpDef* gelu = find_op("Gelu");
  if (!gelu) return internal_error("operator 'Gelu' is not in the op table", "fuse_gelu");
  GeluFuser(program).run(*gelu);
  // The nodes between stay in place until here: their results have no reader any more.
  remove_dead_nodes(program);
  return {};
}

}  // namespace walle::ops
