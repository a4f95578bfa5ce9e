#include "vm/pool.h"

#include <chrono>

#include "base/log.h"
#include "vm/fork.h"
#include "vm/thread.h"

namespace walle::vm {

namespace {

constexpr size_t kDefaultStack = size_t{8} << 20;  // as a main thread's
// Where isolates were just wanted more soon will be: the filler looks by itself for a while, because a take()
// that wakes it costs 13 us instead of 1.
constexpr int kLooks = 20;
constexpr std::chrono::milliseconds kLookEvery{1};
// After a failure, which is short memory: long enough not to fill the log, short beside what frees memory.
constexpr std::chrono::milliseconds kRetryAfter{100};

}  // namespace

// What tasks import first: loaded ahead they cost a call nothing, and the isolate memory.
const std::vector<std::string>& std_imports() {
  static const std::vector<std::string> kModules = {"collections", "functools", "itertools", "json",
                                                    "re",          "math",      "datetime",  "random",
                                                    "dataclasses", "typing",    "walle"};
  return kModules;
}

struct Pool::State {
  std::shared_ptr<const Vm> vm;
  PoolOptions options;
  mutable std::mutex lock;
  std::condition_variable changed;  // isolates became ready
  std::condition_variable wanted;   // the filler alone
  std::deque<std::unique_ptr<Isolate>> ready;
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
        return argument_error({"import '", module, "': ", outcome.failure->message},
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
};

Result<std::unique_ptr<Pool>> Pool::create(std::shared_ptr<const Vm> vm, PoolOptions options) {
  WALLE_TRY(refuse_forked_child("Pool"));
  if (options.size > kMaxReady) {
    return argument_error({"size=", options.size}, {"at most ", kMaxReady}, "Pool",
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
