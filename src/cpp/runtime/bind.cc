// Executable::bind: kernels made, constants brought to the memories that read them, every operand of every
// step resolved to a handle or to what it will be patched with when a run begins.
#include <algorithm>

#include "backends/host_memory.h"
#include "runtime/executable.h"
#include "runtime/step_labels.h"

// The point is what run() then need not do: of the many operands of a plan only those in inputs, results and
// moved arenas change from run to run, and each of these is one entry of a patch list.
namespace walle::runtime {

Result<std::unique_ptr<Executable>> Executable::bind(ops::Program program, search::Plan plan, int threads,
                                                     backends::ConstantCache* constants) {
  std::unique_ptr<Executable> exe(new Executable(std::move(program), std::move(plan), threads));
  for (const search::Step& step : exe->plan_.steps) {
    Status status = exe->prepare(step, constants);
    if (!status.ok()) return status.take_error().within(step_name(exe->program_, exe->plan_, step));
  }
  WALLE_TRY(exe->bind_operands(constants));
  exe->times_.resize(exe->steps_.size());
  exe->hints_.resize(exe->program_.outputs.size());
  return exe;
}

Result<std::shared_ptr<const backends::Kernel>> Executable::kernel_for(
    const search::Step& step, backends::ConstantCache* constants) const {
  backends::PrepareContext context{constants, threads_};
  const backends::NodeView view(program_, program_.nodes[step.node]);
  WALLE_ASSIGN(auto kernel, step.chosen.backend->prepare(view, step.chosen.candidate, context));
  return std::shared_ptr<const backends::Kernel>(std::move(kernel));
}

Status Executable::prepare(const search::Step& step, backends::ConstantCache* constants) {
  if (step.is_copy()) {
    kernels_.emplace_back();
    steps_.push_back({.copy = &step.copy});
    return {};
  }
  WALLE_ASSIGN(kernels_.emplace_back(), kernel_for(step, constants));
  const ops::ProgramNode& node = program_.nodes[step.node];
  steps_.push_back(
      {.kernel = kernels_.back().get(), .inputs = node.inputs.size(), .outputs = node.outputs.size()});
  return {};
}

// Again where the arena is laid out anew.
Status Executable::bind_operands(backends::ConstantCache* constants) {
  operands_.clear();
  input_patches_.clear();
  output_patches_.clear();
  arena_patches_.clear();
  constants_.clear();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const search::Step& step = plan_.steps[i];
    Status status = step.is_copy() ? bind_copy(steps_[i], step) : bind_node(steps_[i], step, constants);
    if (!status.ok()) return status.take_error().within(step_name(program_, plan_, step));
  }
  bound_arenas_.assign(plan_.memories.size(), {});
  operands_bound_ = true;
  return {};
}

Status Executable::bind_node(BoundStep& bound, const search::Step& step, backends::ConstantCache* constants) {
  const ops::ProgramNode& node = program_.nodes[step.node];
  bound.first = operands_.size();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ops::Ref r = node.inputs[i];
    // On the host an unread constant is an address; elsewhere it would be a copy that nobody needs.
    const bool read = r < 0 || !program_.at(r).constant || bound.kernel->reads(static_cast<int>(i));
    WALLE_TRY(
        add_operand(step.source, read || step.source == search::kHost ? r : ops::kNoRef, constants, read));
  }
  for (ops::Ref r : node.outputs) WALLE_TRY(add_operand(step.memory, r, constants));
  // Always a place, also where no workspace is needed: execute() finds it behind the results without asking.
  arena_patches_.push_back({.operand = operands_.size(),
                            .index = static_cast<size_t>(step.memory),
                            .offset = step.workspace_offset});
  operands_.emplace_back();
  return {};
}

Status Executable::bind_copy(BoundStep& bound, const search::Step& step) {
  bound.first = operands_.size();
  WALLE_TRY(add_operand(step.copy.from, step.copy.value, nullptr));
  return add_operand(step.copy.to, step.copy.value, nullptr);
}

Status Executable::add_operand(int memory, ops::Ref r, backends::ConstantCache* constants, bool read) {
  const size_t operand = operands_.size();
  operands_.emplace_back();
  if (r < 0) return {};  // an operand that is left out: the empty handle
  const search::Storage& s = plan_.at(memory, r);
  const auto position = [&](const std::vector<ops::Ref>& list) -> size_t {
    return std::ranges::find(list, s.root) - list.begin();
  };
  switch (s.home) {
    case search::Home::nowhere:
      return internal_error({"value ", r, " is used in a memory that does not hold it"},
                            {plan_.memories[memory].memory->name(), " memory"});
    case search::Home::arena:
      arena_patches_.push_back({operand, static_cast<size_t>(memory), s.offset});
      break;
    case search::Home::input: input_patches_.push_back({operand, position(program_.inputs), s.offset}); break;
    case search::Home::output:
      output_patches_.push_back({operand, position(program_.outputs), s.offset});
      break;
    case search::Home::constant: {
      WALLE_ASSIGN(const backends::Handle root, constant(memory, s.root, constants, read));
      operands_[operand] = root + s.offset;
      break;
    }
  }
  return {};
}

Result<backends::Handle> Executable::constant(int memory, ops::Ref root, backends::ConstantCache* constants,
                                              bool read) {
  const Tensor& tensor = *program_.at(root).constant;
  // On the host the model's own bytes serve, often a mapped file's; other memories hold a copy per model.
  if (memory == search::kHost)
    return backends::host_memory().of(read ? tensor.data() : static_cast<const void*>(tensor.address()));
  backends::Memory& to = *plan_.memories[memory].memory;
  const backends::PrepareContext context{constants, threads_};
  const std::string kind = std::string(to.name()) + " copy of " + std::to_string(tensor.bytes()) +
                           " bytes as " + tensor.shape().text();
  WALLE_ASSIGN(backends::SharedBlock block, context.shared({&tensor}, kind, [&]() -> Result<backends::Block> {
    WALLE_ASSIGN(backends::Block made,
                 backends::Block::allocate(to, to.bytes_of(tensor.dtype(), tensor.shape())));
    WALLE_TRY(to.bring_in(made.handle(), tensor.data(), tensor.dtype(), tensor.shape(), threads_));
    return made;
  }));
  constants_.push_back(block);
  return block->handle();
}

}  // namespace walle::runtime
