// Attention in one pass as an op-table row. Made by a pass, never by a model file.
#include "ops/rules/attention.h"

#include "ops/rules/cost.h"

namespace walle::ops {

namespace {
Status refuse(ir::InferContext&) {
  return model_error("a node of the internal operator attention", "operators of the public table", "model",
                     "use MatMul and Softmax, which become one");
}

ir::Cost cost(const ir::Attributes& attributes, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const AttentionSpec spec = attention_spec(attributes);
  // Per score: the two products, and a softmax as it is counted by itself.
  constexpr double kSoftmax = 8;
  const double scores =
      static_cast<double>(spec.head_count()) * static_cast<double>(spec.band.scores(spec.queries, spec.keys));
  return {scores * (2 * static_cast<double>(spec.depth + spec.width) + kSoftmax), bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kAttention_Op{.name = "attention",
                                     .op_class = ir::OpClass::atomic,
                                     .inputs = {3, 6},
                                     .infer = refuse,
                                     .cost = cost,
                                     .numeric = ir::NumericClass::accumulation,
                                     .no_gradient = "it is made after differentiation"};

const ir::OpDef& attention_op() { return kAttention_Op; }

}  // namespace walle::ops
