// Executable::refit: what follows the sizes of a program after they were changed in place.
#include <algorithm>

#include "backends/host_memory.h"
#include "runtime/executable.h"
#include "runtime/step_labels.h"
#include "search/arenas.h"
#include "search/refit.h"

namespace walle::runtime {

void Executable::allow_refit(std::span<const ops::Ref> values, bool views_move) {
  views_move_ = views_move;
  room_.clear();
  const search::PlannedMemory& host = plan_.memories[search::kHost];
  for (const ops::Ref r : values) {
    const search::Storage& s = host.at(r);
    if (s.home == search::Home::arena && s.root == r) room_.emplace_back(r, search::with_room(bytes_of(r)));
  }
  workspaces_.clear();
  for (const search::Step& step : plan_.steps)
    workspaces_.push_back(search::with_room(step.chosen.candidate.workspace_bytes));
}

int64_t Executable::bytes_of(ops::Ref r) const {
  const ops::ProgramValue& value = program_.at(r);
  return plan_.memories[search::kHost].memory->bytes_of(value.dtype, value.shape);
}

// An operand that no kernel looked at may be an address that is not to be read (bind.cc).
bool Executable::reads_more(const search::Step& step, const backends::Kernel& before,
                            const backends::Kernel& now) const {
  const std::vector<ops::Ref>& inputs = program_.nodes[step.node].inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] >= 0 && program_.at(inputs[i]).constant && now.reads(static_cast<int>(i)) &&
        !before.reads(static_cast<int>(i)))
      return true;
  return false;
}

bool Executable::fits_arena() const {
  if (workspaces_.empty()) return false;  // the last layout was refused
  for (const auto& [r, room] : room_)
    if (bytes_of(r) > room) return false;
  for (size_t i = 0; i < plan_.steps.size(); ++i)
    if (plan_.steps[i].chosen.candidate.workspace_bytes > workspaces_[i]) return false;
  return true;
}

Status Executable::prepare_anew(const AlikeSteps& alike, backends::ConstantCache* constants) {
  for (const std::vector<size_t>& steps : alike) {
    const search::Step& first = plan_.steps[steps[0]];
    auto kernel = kernel_for(first, constants);
    if (!kernel.ok()) return kernel.take_error().within(step_name(program_, plan_, first));
    for (const size_t s : steps) {
      operands_bound_ = operands_bound_ && !reads_more(plan_.steps[s], *kernels_[s], **kernel);
      kernels_[s] = *kernel;
      steps_[s].kernel = kernels_[s].get();
    }
  }
  return {};
}

Result<bool> Executable::refit(std::span<const AlikeSteps> alike, std::span<const ops::Ref> values,
                               const Choose& choose, backends::ConstantCache* constants) {
  for (const AlikeSteps& group : alike) {
    const auto found = choose(program_.nodes[plan_.steps[group[0][0]].node]);
    if (!found) return false;
    for (const std::vector<size_t>& steps : group)
      for (const size_t s : steps) {
        plan_.steps[s].chosen = *found;
        plan_.steps[s].losers.clear();
      }
    WALLE_TRY(prepare_anew(group, constants));
  }
  if (views_move_ || !operands_bound_ || !fits_arena()) {
    workspaces_.clear();  // until all of the next layout stands
    WALLE_TRY(search::plan_arenas(program_, search::find_views(program_), plan_));
    WALLE_TRY(bind_operands(constants));
    allow_refit(values, views_move_);
  }
  plan_.predicted_ms = 0;
  for (const search::Step& step : plan_.steps) plan_.predicted_ms += step.cost_ms();
  return true;
}

Result<bool> Executable::refit(std::span<const AlikeSteps> alike, search::Plan plan,
                               backends::ConstantCache* constants) {
  if (!search::same_steps(plan_, plan)) return false;
  plan_ = std::move(plan);
  for (size_t i = 0; i < steps_.size(); ++i)
    if (plan_.steps[i].is_copy()) steps_[i].copy = &plan_.steps[i].copy;
  for (const AlikeSteps& group : alike) WALLE_TRY(prepare_anew(group, constants));
  WALLE_TRY(bind_operands(constants));
  return true;
}

}  // namespace walle::runtime
