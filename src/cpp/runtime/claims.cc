#include "runtime/claims.h"

#include <algorithm>

namespace walle::runtime {

namespace {
// Backends are asked about nodes of programs, so that one question serves lowering, passes and search: the
// program that would be if this one node were all of it.
struct OneNode {
  ops::Program program;
  ops::ProgramNode node;

  ops::Ref add(bool present, DType dtype, const Shape& shape, const Tensor* constant) {
    if (!present) return ops::kNoRef;
    return program.add({dtype, shape, constant ? std::optional<Tensor>(*constant) : std::nullopt});
  }
};
}  // namespace

bool some_supports(const std::vector<const backends::Backend*>& backends, const ops::Program& program,
                   const ops::ProgramNode& node) {
  const backends::NodeView view(program, node);
  return std::ranges::any_of(backends, [&](const backends::Backend* b) { return b->supports(view); });
}

bool is_claimed(const std::vector<const backends::Backend*>& backends, ShapeQuestions& questions,
                const ir::OpDef& op, const ir::Attributes& attributes, std::span<const ir::InferInput> inputs,
                std::span<const ir::InferOutput> outputs) {
  OneNode one{.program = {}, .node = {.op = &op, .attributes = attributes}};
  for (const ir::InferInput& in : inputs)
    one.node.inputs.push_back(one.add(in.present, in.dtype, in.shape, in.constant));
  for (const ir::InferOutput& out : outputs)
    one.node.outputs.push_back(one.add(out.dtype != DType::undefined, out.dtype, out.shape, nullptr));
  const ops::ProgramNode* node = &one.node;
  return questions.answer(ShapeQuestions::Kind::claim, one.program, {&node, 1},
                          [&backends](const ops::Program& program, ShapeQuestions::Nodes nodes) {
                            return some_supports(backends, program, *nodes[0]);
                          });
}

}  // namespace walle::runtime
