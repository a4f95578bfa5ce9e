// Executable: a planned Program with its kernels prepared and its operands bound. run() is a flat loop: no
// allocation but the results, no decision.
//
// Immutable program and plan; the operand table and the binding of the arenas change during run, so one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/options.h"
#include "runtime/profiler.h"
#include "runtime/run_control.h"
#include "runtime/session_memory.h"
#include "search/plan.h"

namespace walle::runtime {

// How long a step took in the runs that were profiled.
struct StepTime {
  int64_t runs = 0;
  double total_us = 0;

  void add(double us) {
    ++runs;
    total_us += us;
  }
};

class Executable {
 public:
  // Prepares the kernels of a plan, copies the constants that are used in other memories, binds the operands.
  static Result<std::unique_ptr<Executable>> bind(ops::Program program, search::Plan plan, int threads,
                                                  backends::ConstantCache* constants);

  // inputs as program().inputs; results as program().outputs. Results lie in memory of the pool; one that is
  // an input, a constant of the program or a second name of another result shares its bytes. `given` is empty
  // or has a tensor per result, the undefined one for none: what the plan computes into memory of its own it
  // computes into that one instead. Precondition: of the result's dtype and shape.
  Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs, SessionMemory& memory,
                                  Profiler* profiler, RunControl* control = nullptr,
                                  std::span<const Tensor> given = {});

  // The choice of a node for the sizes of this moment; nothing where the plan does not hold for them.
  using Choose = std::function<std::optional<search::Choice>(const ops::ProgramNode&)>;
  // Steps that are chosen alike, and among them those that one kernel serves: on one backend, of the same
  // constants.
  using AlikeSteps = std::vector<std::vector<size_t>>;
  // After sizes of resizable_program() have changed: each group of alike steps gets one choice anew, each
  // group in it one kernel, and the arena is laid out again where one of `values` has outgrown its block.
  // False, or an error: it must not run before the next that is true.
  Result<bool> refit(std::span<const AlikeSteps> alike, std::span<const ops::Ref> values,
                     const Choose& choose, backends::ConstantCache* constants);
  // The same where steps lie in several memories, so that who runs what is a question of sizes too: with a
  // plan for the program of this moment. False where its steps are others.
  Result<bool> refit(std::span<const AlikeSteps> alike, search::Plan plan,
                     backends::ConstantCache* constants);
  void allow_refit(std::span<const ops::Ref> values, bool views_move);  // once, before the first
  ops::Program& resizable_program() { return program_; }

  const ops::Program& program() const { return program_; }
  const search::Plan& plan() const { return plan_; }
  const std::vector<StepTime>& times() const { return times_; }  // as plan().steps

 private:
  // An operand that is known when a run begins: bytes of an input, of a result, or of an arena.
  struct Patch {
    size_t operand;  // index into operands_
    size_t index;    // which input, result or memory
    int64_t offset;
  };
  // Operands lie in operands_ one after the other: inputs, outputs, workspace; of a copy: from, to.
  struct BoundStep {
    const backends::Kernel* kernel = nullptr;  // nullptr: a copy
    size_t first = 0;
    size_t inputs = 0;
    size_t outputs = 0;
    const search::Copy* copy = nullptr;
  };

  Executable(ops::Program program, search::Plan plan, int threads)
      : program_(std::move(program)), plan_(std::move(plan)), threads_(threads) {}
  Status prepare(const search::Step& step, backends::ConstantCache* constants);
  Status bind_operands(backends::ConstantCache* constants);
  Status bind_node(BoundStep& bound, const search::Step& step, backends::ConstantCache* constants);
  Status bind_copy(BoundStep& bound, const search::Step& step);
  Result<std::shared_ptr<const backends::Kernel>> kernel_for(const search::Step& step,
                                                             backends::ConstantCache* constants) const;
  Status prepare_anew(const AlikeSteps& alike, backends::ConstantCache* constants);
  bool fits_arena() const;
  bool reads_more(const search::Step& step, const backends::Kernel& before,
                  const backends::Kernel& now) const;
  int64_t bytes_of(ops::Ref r) const;
  Status add_operand(int memory, ops::Ref r, backends::ConstantCache* constants, bool read = true);
  Result<backends::Handle> constant(int memory, ops::Ref root, backends::ConstantCache* constants, bool read);

  bool arenas_stand(const Arenas& arenas) const;
  Status bind_arenas(Arenas& arenas);
  Result<std::vector<Tensor>> make_results(std::span<const Tensor* const> inputs, ResultPool& pool,
                                           std::span<const Tensor> given);
  Result<Tensor> result_memory(size_t output, ResultPool& pool, std::span<const Tensor> given);
  Status run_steps(Profiler* profiler, RunControl* control);
  Status execute(const BoundStep& step) const;
  Status copy(const search::Copy& copy, backends::Handle from, backends::Handle to) const;
  Status flush() const;
  void trace(size_t step, int64_t start_ns) const;
  void record(Profiler& profiler, size_t step, Profiler::Clock::time_point begin);

  ops::Program program_;
  search::Plan plan_;
  int threads_;
  std::vector<std::shared_ptr<const backends::Kernel>> kernels_;  // as plan().steps; nullptr: a copy
  // Of an executable that is refitted: what the blocks of values with a symbol and of workspaces hold, and
  // whether views start elsewhere for other sizes.
  std::vector<std::pair<ops::Ref, int64_t>> room_;
  std::vector<int64_t> workspaces_;
  bool views_move_ = false;
  bool operands_bound_ = false;                   // all that the kernels of this moment read
  std::vector<backends::SharedBlock> constants_;  // keeps copies in other memories alive
  std::vector<BoundStep> steps_;
  std::vector<StepTime> times_;
  std::vector<backends::Handle> operands_;
  std::vector<Patch> input_patches_;
  std::vector<Patch> output_patches_;
  std::vector<Patch> arena_patches_;
  std::vector<backends::Handle> bound_arenas_;  // per memory of the plan
  std::vector<size_t> hints_;                   // where the pool gave memory to each result last time
};

}  // namespace walle::runtime
