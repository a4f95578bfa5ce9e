#include "runtime/step_labels.h"

#include <algorithm>

namespace walle::runtime {

namespace {
std::string maker_of(const ops::Program& program, const search::Copy& copy) {
  if (copy.maker >= 0) return program.nodes[copy.maker].origin.text();
  return "input " + std::to_string(std::ranges::find(program.inputs, copy.value) - program.inputs.begin());
}
}  // namespace

StepLabels labels_of(const ops::Program& program, const search::Plan& plan, const search::Step& step) {
  if (step.is_copy())
    return {.node = maker_of(program, step.copy),
            .op = "copy",
            .backend = std::string(plan.memories[step.copy.device()].memory->name()),
            .algorithm = step.copy.across()              ? "copy_across"
                         : step.copy.to == search::kHost ? "copy_out"
                                                         : "copy_in"};
  const ops::ProgramNode& node = program.nodes[step.node];
  return {.node = node.origin.text(),
          .op = std::string(node.op->name),
          .backend = std::string(step.chosen.backend->name()),
          .algorithm = step.chosen.candidate.algorithm};
}

std::string step_name(const ops::Program& program, const search::Plan& plan, const search::Step& step) {
  const StepLabels labels = labels_of(program, plan, step);
  return "node '" + labels.node + "' (" + labels.op + ")";
}

}  // namespace walle::runtime
