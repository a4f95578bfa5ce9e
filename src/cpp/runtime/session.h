// Session: a model made ready to run with given options. Plans are made when shapes are first seen and kept.
//
// Thread-safe: runs of one session happen one after the other; runs of different sessions share the process's
// threads.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/explain.h"
#include "runtime/live_sessions.h"
#include "runtime/memory_report.h"
#include "runtime/model.h"
#include "runtime/run_control.h"
#include "runtime/session_states.h"

namespace walle::runtime {

struct NamedValue {
  std::string name;
  ir::RuntimeValue value;
};

class Session final : public LiveSession {
 public:
  using Values = std::vector<ir::RuntimeValue>;

  Session(std::shared_ptr<const Model> model, SessionOptions options,
          std::vector<const backends::Backend*> backends);
  ~Session();  // the model forgets what only its plans held

  // Values in the order of model().graph().inputs, then one for each name of `overridden`: overridable inputs
  // in the order of model().graph().overridable. Results in the order of the graph's outputs. A run that
  // fails or is ended leaves the session as it was; memory given for results then holds anything.
  Result<Values> run(Values inputs, const RunOptions& options = {}, const Names& overridden = {});
  // By name: every input once, overridable ones at will.
  Result<Values> run(std::span<const NamedValue> inputs, const RunOptions& options = {});

  // Plans ahead for inputs of these shapes, with packed weights, as far as shapes decide: up to the first
  // control operator, or the first size that a computed value decides. The first run then pays for what it
  // runs in alone. A tensor without a buffer stands for any values of its dtype and shape; an argument error,
  // which names the input, where those decide sizes. What is planned already is kept. Overridable inputs are
  // those that the runs will be given.
  Status prepare(Values inputs, const Names& overridden = {});  // in order, as for run()
  Status prepare(std::span<const NamedValue> inputs);

  // The contents of a state between runs, by name: copies out and in. An argument error for a value that the
  // state is not declared as.
  Result<Tensor> state(std::string_view name);
  Status set_state(std::string_view name, const Tensor& value);
  Status reset_states();  // to what the model says

  const Model& model() const { return *model_; }
  const SessionOptions& options() const { return shared_.options; }
  ExplainReport explain();
  MemoryReport memory();
  // Gives back plans, with what was packed and folded for them alone, their arena, and free blocks of
  // results; bytes of them. The next run makes again what it needs. Waits for a run under way; an argument
  // error within one.
  Result<int64_t> trim();
  int64_t trim_if_idle() override;
  Status start_profile();
  Result<std::vector<ProfileEvent>> stop_profile();

 private:
  // A model whose overridden inputs are inputs like the others, with plans of its own.
  struct Variant {
    std::shared_ptr<const Model> model;
    std::unique_ptr<GraphRunner> runner;
  };

  bool within_run() const;  // on this thread, in a callback of its host
  MemoryReport memory_locked() const;
  int64_t trim_locked();
  Status lock(std::unique_lock<std::timed_mutex>& lock, RunControl* control) const;
  struct Chosen {
    const Model* model;
    GraphRunner* runner;
  };
  Result<Chosen> choose(const Names& overridden);
  struct ByOrder {
    Values values;
    Names overridden;
  };
  Result<ByOrder> by_order(std::span<const NamedValue> inputs, const char* function) const;
  Status check(const Model& model, const Values& inputs, const char* function) const;
  Result<Variant*> variant(const Names& overridden);
  Result<Values> run_locked(Values inputs, const RunOptions& options, const Names& overridden);
  Result<Values> run_graph(GraphRunner& runner, Values inputs, std::span<const Tensor> given,
                           Borrowed borrowed, std::vector<Tensor>& next);
  void record_run(Profiler::Clock::time_point begin);

  std::shared_ptr<const Model> model_;
  std::timed_mutex mutex_;
  SharedState shared_;
  GraphRunner runner_;
  SessionStates states_;
  std::map<Names, Variant> variants_;
  std::unique_ptr<Profiler> profiler_;
  StepTime profiled_;                    // whole runs
  std::atomic<std::thread::id> holder_;  // of a run whose host may call back from within
};

// Of what waits for the session, where a callback of its own run asks for it.
Error called_within_a_run(Text function);

}  // namespace walle::runtime
