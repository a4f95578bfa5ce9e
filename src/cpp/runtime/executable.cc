// run(): what has to change in the operand table, then the steps. Arenas usually lie where they lay, so that
// most runs patch the places of inputs and results alone; and results lie in memory of the session's pool,
// so that a stream of requests allocates nothing.
#include "runtime/executable.h"

#include <algorithm>

#include "backends/host_memory.h"
#include "base/trace.h"
#include "runtime/step_labels.h"

namespace walle::runtime {

// The usual case: the arenas are large enough and lie where they lay in the last run.
bool Executable::arenas_stand(const Arenas& arenas) const {
  for (size_t m = 0; m < plan_.memories.size(); ++m) {
    const search::PlannedMemory& planned = plan_.memories[m];
    const backends::Block* block = arenas.find(*planned.memory, planned.arena_bytes);
    if (!block || block->handle() != bound_arenas_[m]) return false;
  }
  return true;
}

Status Executable::bind_arenas(Arenas& arenas) {
  for (size_t m = 0; m < plan_.memories.size(); ++m) {
    const search::PlannedMemory& planned = plan_.memories[m];
    WALLE_ASSIGN(bound_arenas_[m], arenas.reserve(*planned.memory, planned.arena_bytes));
  }
  for (const Patch& p : arena_patches_) operands_[p.operand] = bound_arenas_[p.index] + p.offset;
  return {};
}

// Memory of the caller, or of the pool.
Result<Tensor> Executable::result_memory(size_t output, ResultPool& pool, std::span<const Tensor> given) {
  if (!given.empty() && given[output].defined()) return given[output];
  const ops::ProgramValue& value = program_.at(program_.outputs[output]);
  return pool.lend(value.dtype, value.shape, hints_[output]);
}

Result<std::vector<Tensor>> Executable::make_results(std::span<const Tensor* const> inputs, ResultPool& pool,
                                                     std::span<const Tensor> given) {
  std::vector<Tensor> results(program_.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const ops::Ref r = program_.outputs[i];
    const ops::ProgramValue& value = program_.at(r);
    const search::Storage& s = plan_.at(search::kHost, r);
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
      WALLE_ASSIGN(results[i], result_memory(i, pool, given));
    }
  }
  return results;
}

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor* const> inputs, SessionMemory& memory,
                                            Profiler* profiler, RunControl* control,
                                            std::span<const Tensor> given) {
  if (!arenas_stand(memory.arenas)) WALLE_TRY(bind_arenas(memory.arenas));
  for (size_t m = 1; m < plan_.memories.size(); ++m)
    plan_.memories[m].memory->discard(bound_arenas_[m], plan_.memories[m].arena_bytes);
  WALLE_ASSIGN(std::vector<Tensor> results, make_results(inputs, memory.results, given));
  const backends::HostMemory& host = backends::host_memory();
  for (const Patch& p : input_patches_) operands_[p.operand] = host.of(inputs[p.index]->data()) + p.offset;
  for (const Patch& p : output_patches_)
    operands_[p.operand] = host.of(results[p.index].mutable_data()) + p.offset;
  WALLE_TRY(run_steps(profiler, control));
  if (plan_.memories.size() > 1) WALLE_TRY(flush());
  return results;
}

Status Executable::execute(const BoundStep& step) const {
  const backends::Handle* operand = operands_.data() + step.first;
  if (!step.kernel) return copy(*step.copy, operand[0], operand[1]);
  backends::RunArgs args;
  args.in = {operand, step.inputs};
  args.out = {operand + step.inputs, step.outputs};
  args.workspace = operand[step.inputs + step.outputs];
  args.threads = threads_;
  return step.kernel->run(args);
}

Status Executable::copy(const search::Copy& copy, backends::Handle from, backends::Handle to) const {
  backends::Memory& device = *plan_.memories[copy.device()].memory;
  const backends::HostMemory& host = backends::host_memory();
  const ops::ProgramValue& value = program_.at(copy.value);
  if (copy.across()) {
    backends::Memory& other = *plan_.memories[copy.from].memory;
    return (device.reaches(other) ? device : other)
        .bring_across(to, from, value.dtype, value.shape, threads_);
  }
  return copy.to == search::kHost
             ? device.bring_out(host.pointer(to), from, value.dtype, value.shape, threads_)
             : device.bring_in(to, host.pointer(from), value.dtype, value.shape, threads_);
}

Status Executable::flush() const {
  for (size_t m = 1; m < plan_.memories.size(); ++m) WALLE_TRY(plan_.memories[m].memory->flush());
  return {};
}

Status Executable::run_steps(Profiler* profiler, RunControl* control) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    // Not before the first step: whoever calls has just looked.
    if (control && i > 0 && control->due()) WALLE_TRY(control->look());
    const auto begin = profiler ? profiler->now() : Profiler::Clock::time_point();
    const int64_t traced = base::trace_clock();
    Status status = execute(steps_[i]);
    if (profiler && status.ok()) status = flush();  // so that a device's time is counted where it was spent
    if (traced != 0) [[unlikely]]
      trace(i, traced);
    if (!status.ok()) [[unlikely]]
      return status.take_error().within(step_name(program_, plan_, plan_.steps[i]));
    if (profiler) record(*profiler, i, begin);
  }
  return {};
}

void Executable::trace(size_t step, int64_t start_ns) const {
  const StepLabels labels = labels_of(program_, plan_, plan_.steps[step]);
  base::trace_since(base::trace_name(labels.op + " " + labels.node), start_ns);
}

void Executable::record(Profiler& profiler, size_t step, Profiler::Clock::time_point begin) {
  const auto end = profiler.now();
  const search::Step& planned = plan_.steps[step];
  const double us = std::chrono::duration<double, std::micro>(end - begin).count();
  times_[step].add(us);
  profiler.account(us);
  const StepLabels labels = labels_of(program_, plan_, planned);
  profiler.add({.name = labels.node,
                .op = labels.op,
                .backend = labels.backend,
                .algorithm = labels.algorithm,
                .start_us = profiler.since_start_us(begin),
                .duration_us = us});
}

}  // namespace walle::runtime
