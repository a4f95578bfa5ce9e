#include "vm/pool.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "vm/fork.h"
#include "vm/thread.h"

namespace walle::vm {

namespace {

constexpr size_t kDefaultStack = size_t{8} << 20;  // as a main thread's; limits.h promises it
// Where isolates were just wanted more soon will be: the filler looks by itself for a while, because a take()
// that wakes it costs 13 us instead of 1.
constexpr int kLooks = 20;
constexpr std::chrono::milliseconds kLookEvery{1};
// After a failure, which is short memory: long enough not to fill the log, short beside what frees memory.
constexpr std::chrono::milliseconds kRetryAfter{100};
// How often a waiting thread asks whom it attends to, as for calls on the caller's own thread (watchdog.cc).
constexpr std::chrono::milliseconds kAttendEvery{100};

// One call on a worker. Both sides hold it; the worker may finish long after the caller gave up.
struct Job {
  std::mutex lock;
  std::condition_variable changed;
  bool done = false;
  Outcome outcome;
};

Outcome refusal(const char* type, std::string message, Reason reason) {
  Outcome refused;
  refused.failure = Failure{.type = type, .message = std::move(message), .reason = reason};
  return refused;
}

}  // namespace

// What tasks import first: loaded ahead they cost a call nothing, and the isolate memory.
const std::vector<std::string>& std_imports() {
  static const std::vector<std::string> kModules = {"collections", "functools", "itertools", "json",
                                                    "re",          "math",      "datetime",  "random",
                                                    "dataclasses", "typing",    "walle"};
  return kModules;
}

struct Pool::State : std::enable_shared_from_this<Pool::State> {
  std::shared_ptr<const Vm> vm;
  PoolOptions options;
  mutable std::mutex lock;
  std::condition_variable changed;  // jobs, and isolates that became ready
  std::condition_variable wanted;   // the filler alone
  std::deque<std::unique_ptr<Isolate>> ready;
  std::deque<std::function<void()>> jobs;
  size_t idle_workers = 0;
  PoolStats stats;
  bool closing = false;
  bool filling = false;
  bool filler_asleep = false;
  bool top_up = false;

  // Half of the pool goes out before the filler is woken: waking a thread costs more than all the rest of
  // take().
  bool is_low() const { return ready.size() < options.size && (top_up || ready.size() <= options.size / 2); }

  // Under the lock; the caller notifies `wanted` without it when this says so.
  bool must_wake_filler() {
    if (!filler_asleep || !is_low()) return false;
    filler_asleep = false;
    return true;
  }

  Result<std::unique_ptr<Isolate>> make() const {
    WALLE_ASSIGN(std::unique_ptr<Isolate> isolate, Isolate::create_bare(vm));
    for (const std::string& module : options.imports) {
      const Outcome outcome = isolate->call("_warm", "load", {Value(module)});
      if (!outcome.ok() && outcome.failure->reason == Reason::none)
        return argument_error("import '" + module + "': " + outcome.failure->message,
                              "modules of the VM's library", "Pool, profile",
                              "see walle task vm for all of them");
    }
    return isolate;
  }

  void fill() {
    std::unique_lock guard(lock);
    for (int looks = 0;; looks = kLooks) {
      while (!closing && !is_low()) {
        filler_asleep = looks-- <= 0;
        if (filler_asleep)
          wanted.wait(guard);
        else
          wanted.wait_for(guard, kLookEvery);
      }
      filler_asleep = false;
      while (!closing && ready.size() < options.size) add_one(guard);
      if (closing) break;
      top_up = false;
      changed.notify_all();
    }
    filling = false;
    changed.notify_all();
  }

  void add_one(std::unique_lock<std::mutex>& guard) {
    guard.unlock();  // making one takes milliseconds, in which others may take and give
    Result<std::unique_ptr<Isolate>> isolate = make();
    guard.lock();
    if (isolate.ok()) {
      ready.push_back(std::move(isolate).value());
      return;
    }
    base::log(base::LogLevel::warning, "isolate pool: " + isolate.error().message());
    wanted.wait_for(guard, kRetryAfter);
  }

  void work() {
    std::unique_lock guard(lock);
    for (;;) {
      ++idle_workers;
      changed.wait(guard, [this] { return closing || !jobs.empty(); });
      --idle_workers;
      if (jobs.empty()) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      guard.unlock();
      job();
      guard.lock();
    }
  }

  // False: the job is still running when nobody waits for it any longer.
  bool wait(Job& job, Isolate& isolate, Attention* attention) const {
    using Clock = std::chrono::steady_clock;
    const uint32_t wall_ms = isolate.limits().wall_ms;
    const std::chrono::milliseconds patience{int64_t{wall_ms} + options.grace_ms};
    Clock::time_point end = wall_ms == 0 ? Clock::time_point::max() : Clock::now() + patience;
    std::unique_lock guard(job.lock);
    while (!job.done && Clock::now() < end) {
      if (attention == nullptr && wall_ms == 0) {
        job.changed.wait(guard);
        continue;
      }
      const Clock::time_point next = attention == nullptr ? end : std::min(end, Clock::now() + kAttendEvery);
      if (job.changed.wait_until(guard, next) == std::cv_status::no_timeout || attention == nullptr) continue;
      guard.unlock();
      if (attention->must_stop()) {
        isolate.cancel();
        attention = nullptr;
        end = std::min(end, Clock::now() + std::chrono::milliseconds(options.grace_ms));
      }
      guard.lock();
    }
    return job.done;
  }

  Outcome abandon() {
    {
      const std::lock_guard guard(lock);
      ++stats.abandoned;
    }
    base::log(base::LogLevel::warning,
              "a task's worker thread was given up: it passed its wall-clock limit inside "
              "native code that cannot be stopped");
    return refusal("Abandoned",
                   "the task passed its wall-clock limit inside native code that cannot be stopped; "
                   "its thread was given up",
                   Reason::abandoned);
  }

  bool post(std::function<void()> job, size_t stack) {
    // More than the workers have: a thread of its own for this call.
    if (stack > kDefaultStack) return start_thread(stack, std::move(job));
    const std::lock_guard guard(lock);
    jobs.push_back(std::move(job));
    if (idle_workers < jobs.size() &&
        !start_thread(kDefaultStack, [self = shared_from_this()] { self->work(); }) && idle_workers == 0) {
      jobs.pop_back();
      return false;
    }
    changed.notify_all();
    return true;
  }
};

Result<std::unique_ptr<Pool>> Pool::create(std::shared_ptr<const Vm> vm, PoolOptions options) {
  WALLE_TRY(refuse_forked_child("Pool"));
  if (options.size > kMaxReady) {
    return argument_error("size=" + std::to_string(options.size), "at most " + std::to_string(kMaxReady),
                          "Pool",
                          "ask for as many isolates as run at once; others are made when they are taken");
  }
  auto state = std::make_shared<State>();
  state->vm = std::move(vm);
  state->options = std::move(options);
  // The first isolate is made here, so that options that cannot work are an error now and not a silent retry.
  if (state->options.size > 0) {
    WALLE_ASSIGN(std::unique_ptr<Isolate> first, state->make());
    state->ready.push_back(std::move(first));
  }
  state->filling = start_thread(kDefaultStack, [state] { state->fill(); });
  return std::unique_ptr<Pool>(new Pool(std::move(state)));
}

Pool::~Pool() {
  if (is_forked_child()) {
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));  // as the reaper does it
    return;
  }
  std::deque<std::unique_ptr<Isolate>> left;
  std::unique_lock guard(state_->lock);
  state_->closing = true;
  state_->wanted.notify_all();
  state_->changed.notify_all();
  state_->changed.wait(guard, [this] { return !state_->filling; });
  left.swap(state_->ready);
}

Result<std::unique_ptr<Isolate>> Pool::take(Limits limits, TaskContext context) {
  WALLE_TRY(refuse_forked_child("Pool.take"));
  std::unique_ptr<Isolate> isolate;
  std::unique_lock guard(state_->lock);
  ++state_->stats.handed_out;
  if (!state_->ready.empty()) {
    isolate = std::move(state_->ready.front());
    state_->ready.pop_front();
  } else {
    ++state_->stats.cold;
  }
  const bool wake = state_->must_wake_filler();
  guard.unlock();
  if (wake) state_->wanted.notify_one();  // without the lock, which the woken thread takes first
  if (isolate == nullptr) {
    WALLE_ASSIGN(isolate, state_->make());
  }
  WALLE_TRY(isolate->give(std::move(limits), std::move(context)));
  return isolate;
}

Outcome Pool::run(std::shared_ptr<const Bundle> bundle, const std::string& module,
                  const std::string& function, std::vector<Value> args, Limits limits, TaskContext context,
                  Attention* attention) {
  auto job = std::make_shared<Job>();
  Result<std::unique_ptr<Isolate>> taken = take(std::move(limits), std::move(context));
  if (!taken.ok() && taken.error().group() == base::ErrorGroup::argument)
    return refusal("ValueError", taken.error().message(), Reason::none);
  if (!taken.ok()) return refusal("MemoryError", taken.error().message(), Reason::heap);
  std::shared_ptr<Isolate> isolate = std::move(taken).value();
  if (bundle != nullptr) {
    const Status attached = isolate->attach(std::move(bundle));
    if (!attached.ok()) return refusal("ValueError", attached.error().message(), Reason::none);
  }
  auto call = [job, isolate, module, function, args = std::move(args)]() mutable {
    Outcome outcome = isolate->call(module, function, args);
    isolate.reset();
    const std::lock_guard guard(job->lock);
    job->outcome = std::move(outcome);
    job->done = true;
    job->changed.notify_all();
  };
  const bool posted = state_->post(std::move(call), isolate->limits().stack_bytes);
  if (!posted) return refusal("MemoryError", "no thread can be started", Reason::none);
  if (state_->wait(*job, *isolate, attention)) return std::move(job->outcome);
  return state_->abandon();
}

PoolStats Pool::stats() const {
  if (is_forked_child()) return {};
  const std::lock_guard guard(state_->lock);
  PoolStats stats = state_->stats;
  stats.ready = state_->ready.size();
  return stats;
}

void Pool::wait_until_full() {
  if (is_forked_child()) return;
  std::unique_lock guard(state_->lock);
  state_->top_up = state_->ready.size() < state_->options.size;
  if (state_->top_up) state_->wanted.notify_one();
  state_->changed.wait(guard, [this] { return state_->ready.size() >= state_->options.size; });
}

}  // namespace walle::vm
