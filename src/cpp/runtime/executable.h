// Executable: a planned Program with its kernels prepared. run() is a flat loop: no allocation but the
// results, no decision.
//
// Immutable program and plan; the argument table and the arena binding change during run, so one thread at a
// time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/arena.h"
#include "runtime/options.h"
#include "runtime/profiler.h"
#include "search/plan.h"

namespace walle::runtime {

// How long a step took in the runs that were profiled.
struct StepTime {
  int64_t runs = 0;
  double total_us = 0;
};

class Executable {
 public:
  // Runs the passes named by the options, plans, prepares kernels.
  static Result<std::unique_ptr<Executable>> compile(ops::Program program,
                                                     const std::vector<const backends::Backend*>& backends,
                                                     const SessionOptions& options,
                                                     backends::ConstantCache* constants);

  // inputs as program().inputs; results as program().outputs. Results own their memory; a result that is an
  // input or a constant of the program shares its bytes.
  Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs, Arena& arena, Profiler* profiler);

  const ops::Program& program() const { return program_; }
  const search::Plan& plan() const { return plan_; }
  const std::vector<StepTime>& times() const { return times_; }  // as plan().steps

 private:
  struct Patch {
    size_t argument;  // index into arguments_
    size_t index;     // which input or output
    int64_t offset;
  };
  struct BoundStep {
    const backends::Kernel* kernel;
    size_t in;   // first input in arguments_
    size_t out;  // first output in arguments_
    int64_t workspace_offset;
  };

  Executable(ops::Program program, int threads) : program_(std::move(program)), threads_(threads) {}
  void bind_steps();
  void add_argument(ops::Ref r);
  void bind_arena(std::byte* base);
  Status run_steps(std::byte* arena, Profiler* profiler);
  Status execute(const BoundStep& step, std::byte* arena);
  Error step_error(size_t step, Error error) const;
  void record(Profiler& profiler, size_t step, Profiler::Clock::time_point begin);

  ops::Program program_;
  search::Plan plan_;
  int threads_;
  std::vector<std::unique_ptr<backends::Kernel>> kernels_;
  std::vector<BoundStep> steps_;
  std::vector<StepTime> times_;
  std::vector<void*> arguments_;
  std::vector<Patch> input_patches_;
  std::vector<Patch> output_patches_;
  std::vector<std::pair<size_t, int64_t>> arena_slots_;  // argument -> arena offset
  std::byte* bound_arena_ = nullptr;
  std::vector<Tensor> previous_;  // results of the last run, used again once nobody else holds them
};

}  // namespace walle::runtime
