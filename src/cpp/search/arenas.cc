#include "search/arenas.h"

#include <algorithm>

#include "base/limits.h"
#include "search/memory_planner.h"
#include "search/refit.h"

namespace walle::search {

namespace {
// The blocks of one memory, gathered while the steps are walked in order. A block's life is the span from the
// first step that touches its value here to the last one: between them the value must stay, whoever reads it.
class Layout {
 public:
  Layout(const ops::Program& program, const Views& views, const Plan& plan, int memory)
      : program_(program),
        views_(views),
        memory_(memory),
        place_(*plan.memories[memory].memory),
        block_of_(program.values.size(), kNone) {}

  // A step reads or writes this value here.
  void touch(ops::Ref r, int step) {
    if (r < 0) return;
    const ops::Ref root = views_.at(r).root;  // a view keeps alive the bytes that it shows
    int& block = block_of_[root];
    if (block == kNone) block = starts(root, step);
    if (block >= 0) blocks_[block].last = step;
  }

  void add_workspace(int64_t bytes, int step) {
    if (bytes <= 0) return;  // else a block that only costs alignment
    workspaces_.emplace_back(step, blocks_.size());
    blocks_.push_back({.bytes = bytes, .first = step, .last = step});
  }

  Status finish(Plan& plan) {
    PlannedMemory& out = plan.memories[memory_];
    out.arena_bytes = plan_offsets(blocks_);
    // Checked here and not when memory is asked for: the message can still name the plan, and a system that
    // overcommits would grant the request and kill the process later.
    if (out.arena_bytes > base::kMaxArenaBytes)
      return resource_error(
          {"a plan that needs ", out.arena_bytes, " bytes of ", out.memory->name(), " memory"},
          {"at most ", base::kMaxArenaBytes}, "memory plan", "use smaller inputs or batches");
    for (const auto& [step, block] : workspaces_) plan.steps[step].workspace_offset = blocks_[block].offset;
    plan.activation_bytes += activation_bytes_;
    out.storage.resize(program_.values.size());
    for (size_t i = 0; i < out.storage.size(); ++i) out.storage[i] = storage_of(views_.of[i]);
    return {};
  }

 private:
  static constexpr int kNone = -1;       // not used in this memory, so far
  static constexpr int kElsewhere = -2;  // used, but no part of the arena

  int starts(ops::Ref root, int step) {
    const Home home = views_.home_of(root);
    // Inputs and results of the host are the caller's tensors, and constants are the model's or, on a device,
    // the copy that all its sessions share. On a device inputs and results are copies, which need room.
    if (home == Home::constant || (memory_ == kHost && home != Home::arena)) return kElsewhere;
    const ops::ProgramValue& value = program_.at(root);
    const int64_t bytes = place_.bytes_of(value.dtype, value.shape);
    blocks_.push_back(
        {.bytes = value.shape.symbolic() ? with_room(bytes) : bytes, .first = step, .last = step});
    activation_bytes_ += bytes;
    return static_cast<int>(blocks_.size()) - 1;
  }

  Storage storage_of(const View& view) const {
    if (view.root < 0) return {};
    const int block = block_of_[view.root];  // a value that nobody touches here lies nowhere
    if (block >= 0) return {Home::arena, view.root, blocks_[block].offset + view.offset};
    const Home home = views_.home_of(view.root);
    if (block == kElsewhere || (memory_ == kHost && home != Home::arena))
      return {home, view.root, view.offset};
    return {};
  }

  const ops::Program& program_;
  const Views& views_;
  int memory_;
  const backends::Memory& place_;
  std::vector<int> block_of_;  // per root
  std::vector<Block> blocks_;
  std::vector<std::pair<int, size_t>> workspaces_;  // step, block
  int64_t activation_bytes_ = 0;
};

bool has_symbols(const ops::Program& program, const ops::ProgramNode& node) {
  const auto symbolic = [&](ops::Ref r) { return r >= 0 && program.at(r).shape.symbolic(); };
  return std::ranges::any_of(node.inputs, symbolic) || std::ranges::any_of(node.outputs, symbolic);
}
}  // namespace

Status plan_arenas(const ops::Program& program, const Views& views, Plan& plan) {
  plan.activation_bytes = 0;  // of a plan that is made anew as well
  std::vector<Layout> layouts;
  for (size_t m = 0; m < plan.memories.size(); ++m)
    layouts.emplace_back(program, views, plan, static_cast<int>(m));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto now = static_cast<int>(s);
    if (step.is_copy()) {
      layouts[step.copy.from].touch(step.copy.value, now);
      layouts[step.copy.to].touch(step.copy.value, now);
      continue;
    }
    Layout& layout = layouts[step.memory];
    const ops::ProgramNode& node = program.nodes[step.node];
    for (ops::Ref r : node.inputs) layouts[step.source].touch(r, now);
    for (ops::Ref r : node.outputs) layout.touch(r, now);
    // Operands, results and workspace of one step live at once: no kernel has to care what it
    // reads and writes first.
    const int64_t workspace = step.chosen.candidate.workspace_bytes;
    layout.add_workspace(has_symbols(program, node) ? with_room(workspace) : workspace, now);
  }
  for (Layout& layout : layouts) WALLE_TRY(layout.finish(plan));
  return {};
}

}  // namespace walle::search
