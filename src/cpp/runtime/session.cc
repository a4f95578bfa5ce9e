// What surrounds a run and knows nothing of plans. Inputs are checked before the lock is taken, so
// that a faulty call does not wait for a long run; results that lie in the caller's memory are copied
// before it is given back.
#include "runtime/session.h"

#include <algorithm>
#include <iterator>

#include "base/trace.h"
#include "runtime/own_results.h"
#include "runtime/plan_limits.h"
#include "runtime/result_memory.h"

namespace walle::runtime {

Session::Session(std::shared_ptr<const Model> model, SessionOptions options,
                 std::vector<const backends::Backend*> backends)
    : model_(std::move(model)),
      shared_{.made = &model_->constants(),
              .options = std::move(options),
              .backends = std::move(backends),
              .constants = &model_->constants().prepared},
      runner_(model_->running(), shared_),
      states_(model_->graph()) {
  if (std::string folder = plan_folder(shared_.options); !folder.empty())
    shared_.cache = std::make_unique<search::PlanCache>(base::Env::system(), std::move(folder));
  const uint64_t build = build_fingerprint();
  if (std::string weights = build ? weights_folder(shared_.options) : ""; !weights.empty()) {
    WeightsCache cache(base::Env::system(), std::move(weights), build);
    shared_.weights = std::make_unique<KeptConstants>(model_->constants().prepared, std::move(cache));
    shared_.constants = shared_.weights.get();
  }
  enter_live(*this);
}

Session::~Session() {
  leave_live(*this);
  variants_.clear();
  runner_.drop_plans();
  model_->constants().forget_unused();
}

namespace {
// What is known while one run is under way: what may end it, and the thread whose host it asks.
class RunScope {
 public:
  RunScope(SharedState& shared, std::atomic<std::thread::id>& holder, RunControl* control)
      : shared_(shared), holder_(holder) {
    shared_.control = control;
    if (control) holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~RunScope() {
    if (shared_.control) holder_.store({}, std::memory_order_relaxed);
    shared_.control = nullptr;
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  SharedState& shared_;
  std::atomic<std::thread::id>& holder_;
};

}  // namespace

Error called_within_a_run(Text function) {
  return argument_error({"a call of ", function, " within a run of the same session"}, "one after the other",
                        {function, ", called by a signal handler"}, "let the handler set a flag or raise");
}

bool Session::within_run() const {
  return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

// Waits for the session, but no longer than the run may take.
Status Session::lock(std::unique_lock<std::timed_mutex>& lock, RunControl* control) const {
  if (within_run()) return called_within_a_run("run");
  if (lock.try_lock()) return {};
  if (!control) {
    lock.lock();
    return {};
  }
  while (!lock.try_lock_for(control->patience())) WALLE_TRY(control->look());
  return {};
}

Result<Session::Values> Session::run_locked(Values inputs, const RunOptions& options,
                                            const Names& overridden) {
  WALLE_ASSIGN(const Chosen chosen, choose(overridden));
  const Model* const model = chosen.model;
  WALLE_TRY(check(*model, inputs, "run"));
  for (ir::RuntimeValue& v : inputs) WALLE_TRY(make_booleans_plain(v));
  if (!options.results.empty()) WALLE_TRY(check_result_memory(model->graph(), options.results, inputs));
  Borrowed borrowed;
  for (const ir::RuntimeValue& v : inputs) add_buffers(v, borrowed);
  std::vector<Tensor> next;
  WALLE_ASSIGN(Values results, run_graph(*chosen.runner, std::move(inputs), options.results, borrowed, next));
  if (!options.results.empty()) {
    WALLE_TRY(fill_result_memory(model->graph(), options.results, results));
    for (const Tensor& given : options.results)
      if (given.defined()) borrowed.push_back(given.buffer().data());
  }
  ResultPool& pool = shared_.memory.results;
  for (size_t i = 0; i < results.size(); ++i)
    if (options.results.empty() || !options.results[i].defined())
      WALLE_TRY(make_own(results[i], borrowed, pool));
  // Behind everything that can fail, and before the pool counts who holds what.
  states_.commit(std::move(next));
  pool.end_run();
  return results;
}

// With the states behind the inputs, and their next contents in `next` instead of behind the results.
Result<Session::Values> Session::run_graph(GraphRunner& runner, Values inputs, std::span<const Tensor> given,
                                           Borrowed borrowed, std::vector<Tensor>& next) {
  if (states_.empty()) return runner.run(std::move(inputs), given);
  std::vector<Tensor> memory(given.begin(), given.end());
  for (const Tensor& t : given)
    if (t.defined()) borrowed.push_back(t.buffer().data());
  if (!given.empty()) memory.resize(runner.graph().outputs.size());  // none for the states
  std::ranges::copy(states_.contents(), std::back_inserter(inputs));
  WALLE_ASSIGN(Values results, runner.run(std::move(inputs), memory));
  WALLE_ASSIGN(next, states_.take_next(results, borrowed));
  return results;
}

Result<Session::Values> Session::run(Values inputs, const RunOptions& options, const Names& overridden) {
  std::optional<RunControl> control;
  if (RunControl::needed(options)) control.emplace(options);
  RunControl* const ends = control ? &*control : nullptr;
  std::unique_lock lock(mutex_, std::defer_lock);
  WALLE_TRY(this->lock(lock, ends));
  if (ends) WALLE_TRY(ends->look_if_due());
  const RunScope scope(shared_, holder_, ends);
  const auto begin = profiler_ ? profiler_->now() : Profiler::Clock::time_point();
  const base::TraceSpan span("session.run");
  Result<Values> results = run_locked(std::move(inputs), options, overridden);
  if (profiler_) record_run(begin);
  return results;
}

void Session::record_run(Profiler::Clock::time_point begin) {
  const double us = profiler_->us_since(begin);
  profiled_.add(us);
  profiler_->add({.name = model_->graph().name,
                  .op = "run",
                  .backend = "host",
                  .algorithm = "session.run",
                  .start_us = profiler_->since_start_us(begin),
                  .duration_us = us});
}

Result<Session::Values> Session::run(std::span<const NamedValue> inputs, const RunOptions& options) {
  WALLE_ASSIGN(ByOrder ordered, by_order(inputs, "run"));
  return run(std::move(ordered.values), options, ordered.overridden);
}

Status Session::prepare(std::span<const NamedValue> inputs) {
  WALLE_ASSIGN(ByOrder ordered, by_order(inputs, "prepare"));
  return prepare(std::move(ordered.values), ordered.overridden);
}

Status Session::prepare(Values inputs, const Names& overridden) {
  if (within_run()) return called_within_a_run("prepare");
  const std::lock_guard lock(mutex_);
  const base::TraceSpan span("session.prepare");
  WALLE_ASSIGN(const Chosen chosen, choose(overridden));
  WALLE_TRY(check(*chosen.model, inputs, "prepare"));
  for (ir::RuntimeValue& v : inputs)
    if (!v.tensor() || v.tensor()->buffer()) WALLE_TRY(make_booleans_plain(v));
  if (!states_.empty()) std::ranges::copy(states_.contents(), std::back_inserter(inputs));
  return chosen.runner->prepare(std::move(inputs));
}

Result<Tensor> Session::state(std::string_view name) {
  if (within_run()) return called_within_a_run("state");
  const std::lock_guard lock(mutex_);
  return states_.read(name);
}

Status Session::set_state(std::string_view name, const Tensor& value) {
  if (within_run()) return called_within_a_run("set_state");
  const std::lock_guard lock(mutex_);
  return states_.write(name, value);
}

Status Session::reset_states() {
  if (within_run()) return called_within_a_run("reset_states");
  const std::lock_guard lock(mutex_);
  states_.reset();
  return {};
}

// Also from within a run, by a host that is asked: the run stands still meanwhile, on this very thread.
ExplainReport Session::explain() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!within_run()) lock.lock();
  ExplainReport report;
  runtime::explain(runner_, report);
  for (const auto& [names, variant] : variants_) runtime::explain(*variant.runner, report);
  if (shared_.costs) report.costs = shared_.costs->name();
  if (shared_.weights) report.weight_sources = shared_.weights->sources();
  report.profiled_runs = profiled_.runs;
  report.wall_ms = profiled_.runs > 0 ? profiled_.total_us / 1e3 / static_cast<double>(profiled_.runs) : 0;
  return report;
}

MemoryReport Session::memory() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!within_run()) lock.lock();
  return memory_locked();
}

MemoryReport Session::memory_locked() const {
  MemoryReport report{.plans = runner_.plan_count(),
                      .steps = plan_bytes(shared_).steps,
                      .arena = shared_.memory.arenas.bytes(),
                      .free = shared_.memory.results.free_bytes(),
                      .lent = shared_.memory.results.lent_bytes(),
                      .packed = model_->constants().prepared.bytes(),
                      .folded = model_->constants().folded.bytes()};
  for (const auto& [names, variant] : variants_) report.plans += variant.runner->plan_count();
  return report;
}

Status Session::start_profile() {
  if (within_run()) return called_within_a_run("profile");
  std::lock_guard lock(mutex_);
  profiler_ = std::make_unique<Profiler>();
  shared_.profiler = profiler_.get();
  return {};
}

Result<std::vector<ProfileEvent>> Session::stop_profile() {
  if (within_run()) return called_within_a_run("profile");
  std::lock_guard lock(mutex_);
  shared_.profiler = nullptr;
  std::vector<ProfileEvent> events = profiler_ ? profiler_->events() : std::vector<ProfileEvent>();
  profiler_.reset();
  return events;
}

}  // namespace walle::runtime
