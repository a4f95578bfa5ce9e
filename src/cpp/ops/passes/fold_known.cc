#include "ops/passes/fold_known.h"

#include <algorithm>

#include "ops/symbolic.h"

namespace walle::ops {

Program program_of(const Program& program, const ProgramNode& node) {
  Program one;
  ProgramNode copy = node;
  for (Ref& r : copy.inputs)
    if (r >= 0) r = one.add(program.at(r));
  for (Ref& r : copy.outputs)
    if (r >= 0) one.outputs.push_back(r = one.add({program.at(r).dtype, program.at(r).shape, std::nullopt}));
  one.nodes.push_back(std::move(copy));
  return one;
}

namespace {
bool folds(const Program& program, const ProgramNode& node, int64_t limit_bytes) {
  const auto constant = [&](Ref r) { return r < 0 || program.at(r).constant.has_value(); };
  if (node.inputs.empty() || !node.op->deterministic || !std::ranges::all_of(node.inputs, constant) ||
      is_symbolic(program, node))
    return false;
  int64_t bytes = 0;
  for (const Ref r : node.outputs)
    if (r >= 0) bytes += program.at(r).shape.elements() * dtype_size(program.at(r).dtype);
  return bytes <= limit_bytes;
}
}  // namespace

Status fold_known(Program& program, const FoldNode& fold, int64_t limit_bytes) {
  std::vector<ProgramNode> kept;
  for (ProgramNode& node : program.nodes) {
    if (!folds(program, node, limit_bytes)) {
      kept.push_back(std::move(node));
      continue;
    }
    WALLE_ASSIGN(std::vector<Tensor> values, fold(program_of(program, node)));
    size_t next = 0;
    for (const Ref r : node.outputs)
      if (r >= 0) program.at(r).constant = std::move(values[next++]);
  }
  program.nodes = std::move(kept);
  return {};
}

}  // namespace walle::ops
