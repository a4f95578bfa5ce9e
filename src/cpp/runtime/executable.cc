#include "runtime/executable.h"

#include <algorithm>

#include "runtime/passes.h"

namespace walle::runtime {

Result<std::unique_ptr<Executable>> Executable::compile(ops::Program program,
                                                        const std::vector<const backends::Backend*>& backends,
                                                        const SessionOptions& options,
                                                        backends::ConstantCache* constants) {
  WALLE_TRY(run_passes(program, backends, options));
  std::unique_ptr<Executable> exe(new Executable(std::move(program), options.threads));
  WALLE_ASSIGN(exe->plan_, search::make_plan(exe->program_, backends, {options.threads, options.search}));
  backends::PrepareContext context{constants, options.threads};
  for (const search::Step& step : exe->plan_.steps) {
    const ops::ProgramNode& node = exe->program_.nodes[static_cast<size_t>(step.node)];
    const backends::NodeView view(exe->program_, node);
    auto kernel = step.chosen.backend->prepare(view, step.chosen.candidate, context);
    if (!kernel.ok())
      return Error(kernel.error())
          .within("node '" + node.origin.text() + "' (" + std::string(node.op->name) + ")");
    exe->kernels_.push_back(std::move(*kernel));
  }
  exe->bind_steps();
  return exe;
}

void Executable::add_argument(ops::Ref r) {
  const size_t slot = arguments_.size();
  arguments_.push_back(nullptr);
  if (r < 0) return;
  const search::Storage& s = plan_.storage[static_cast<size_t>(r)];
  const auto position = [&](const std::vector<ops::Ref>& list) {
    return static_cast<size_t>(std::ranges::find(list, s.root) - list.begin());
  };
  switch (s.home) {
    case search::Home::nowhere: break;
    case search::Home::arena: arena_slots_.emplace_back(slot, s.offset); break;
    case search::Home::input: input_patches_.push_back({slot, position(program_.inputs), s.offset}); break;
    case search::Home::output: output_patches_.push_back({slot, position(program_.outputs), s.offset}); break;
    case search::Home::constant:
      arguments_[slot] = const_cast<std::byte*>(
          static_cast<const std::byte*>(program_.at(s.root).constant->data()) + s.offset);
      break;
  }
}

void Executable::bind_steps() {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const ops::ProgramNode& node = program_.nodes[static_cast<size_t>(plan_.steps[i].node)];
    BoundStep step{kernels_[i].get(), arguments_.size(), 0, plan_.steps[i].workspace_offset};
    for (ops::Ref r : node.inputs) add_argument(r);
    step.out = arguments_.size();
    for (ops::Ref r : node.outputs) add_argument(r);
    steps_.push_back(step);
  }
  times_.resize(steps_.size());
  previous_.resize(program_.outputs.size());
}

void Executable::bind_arena(std::byte* base) {
  if (base == bound_arena_) return;
  for (const auto& [slot, offset] : arena_slots_) arguments_[slot] = base + offset;
  bound_arena_ = base;
}

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor* const> inputs, Arena& arena,
                                            Profiler* profiler) {
  WALLE_ASSIGN(std::byte * base, arena.reserve(plan_.arena_bytes));
  bind_arena(base);
  std::vector<Tensor> results(program_.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const ops::Ref r = program_.outputs[i];
    const ops::ProgramValue& value = program_.at(r);
    const search::Storage& s = plan_.storage[static_cast<size_t>(r)];
    if (s.home == search::Home::constant) {
      results[i] = *value.constant;
    } else if (s.home == search::Home::input) {
      const auto index =
          static_cast<size_t>(std::ranges::find(program_.inputs, s.root) - program_.inputs.begin());
      results[i] = inputs[index]->reshaped(value.shape);
    } else if (const auto first =
                   static_cast<size_t>(std::ranges::find(program_.outputs, r) - program_.outputs.begin());
               first < i) {
      results[i] = results[first];  // one value returned under two names
    } else {
      if (!previous_[i].buffer().unique()) {
        WALLE_ASSIGN(previous_[i], Tensor::allocate(value.dtype, value.shape));
      }
      results[i] = previous_[i];
    }
  }
  for (const Patch& p : input_patches_)
    arguments_[p.argument] =
        const_cast<std::byte*>(static_cast<const std::byte*>(inputs[p.index]->data()) + p.offset);
  for (const Patch& p : output_patches_)
    arguments_[p.argument] = static_cast<std::byte*>(results[p.index].mutable_data()) + p.offset;
  WALLE_TRY(run_steps(base, profiler));
  return results;
}

Status Executable::execute(const BoundStep& step, std::byte* arena) {
  backends::RunArgs args;
  args.in = arguments_.data() + step.in;
  args.out = arguments_.data() + step.out;
  args.workspace = arena + step.workspace_offset;
  args.threads = threads_;
  return step.kernel->run(args);
}

Status Executable::run_steps(std::byte* arena, Profiler* profiler) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto begin = profiler ? profiler->now() : Profiler::Clock::time_point();
    Status status = execute(steps_[i], arena);
    if (!status.ok()) [[unlikely]]
      return step_error(i, status.take_error());
    if (profiler) record(*profiler, i, begin);
  }
  return {};
}

Error Executable::step_error(size_t step, Error error) const {
  const ops::ProgramNode& node = program_.nodes[static_cast<size_t>(plan_.steps[step].node)];
  return error.within("node '" + node.origin.text() + "' (" + std::string(node.op->name) + ")");
}

void Executable::record(Profiler& profiler, size_t step, Profiler::Clock::time_point begin) {
  const auto end = profiler.now();
  const search::Step& planned = plan_.steps[step];
  const ops::ProgramNode& node = program_.nodes[static_cast<size_t>(planned.node)];
  const double us = std::chrono::duration<double, std::micro>(end - begin).count();
  ++times_[step].runs;
  times_[step].total_us += us;
  profiler.add({node.origin.text(), std::string(node.op->name), std::string(planned.chosen.backend->name()),
                planned.chosen.candidate.algorithm, profiler.since_start_us(begin), us});
}

}  // namespace walle::runtime
