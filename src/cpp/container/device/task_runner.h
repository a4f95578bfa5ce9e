// TaskRunner: the life of one installed task - which version runs, when it is hot, what became of its
// firings.
//
// A turn runs one firing, or one phase of it: preprocess at once, the rest when the task's facts hold; or it
// tries again to write what could not be written. Firings are settled in their order, whatever waits.
//
// Threads: turn() and what it calls belong to the worker that has the turn, lose_worker() to the maintenance
// thread, which then has it; cool() to whoever claimed an idle task; the other calls come from any thread.
// What those read lies under `lock_`; the rest is the turn's.
#pragma once

#include <deque>
#include <optional>

#include "container/device/crash_marks.h"
#include "container/device/hot_task.h"
#include "container/device/run_queue.h"
#include "container/device/task_info.h"

namespace walle::container {

// A firing between two phases.
struct Work {
  stream::TaskFiring firing;
  Phase phase = Phase::start;
  bool preprocessed = false;
  vm::Value between;  // what preprocess gave, while it waits for facts
  vm::Value event;    // and what it got, where postprocess asks for it
  std::optional<TaskError> error;
  std::vector<store::TableRows> rows;  // that preprocess appended, while it waits
  std::vector<stream::Permit> sends;   // and sent
  HotTask::Kept kept;                  // and changed, set and recorded
  vm::Value value;                     // what came of it, for on_result alone
  Params params;                       // of all its phases: what held when the first began
  PhaseTimes times;
  int64_t retry_at_us = 0;  // it failed and is tried again
  int64_t waited_us = 0;
  bool started = false;
};

class TaskRunner final : public RunQueue::Member, public std::enable_shared_from_this<TaskRunner> {
 public:
  TaskRunner(TaskRooms& rooms, std::string name) : rooms_(rooms), name_(std::move(name)) {}
  std::shared_ptr<RunQueue::Member> self() override { return shared_from_this(); }
  const std::string& name() const { return name_; }

  // The version that the next firing begins on.
  void replace(std::shared_ptr<const TaskVersion> version, Mark mark, Params params, TaskFeatures features);
  // From the next firing on.
  void set_params(Params params);
  Params params() const;
  // Of newest().
  TaskFeatures features() const;
  // What the next firing runs on; nullptr: the task does not run.
  std::shared_ptr<const TaskVersion> newest() const;
  // Processes ended while it ran: told by info(), and a failure each for its breaker. Why it is to be set
  // aside, which it is then; empty: it goes on.
  std::string fell(const Deaths& deaths);
  // It does not run: its bundle does not open, or it was set aside.
  void set_broken(std::string version, std::string why);
  void set_aside(std::string why);
  // It is not installed any more, until it is replaced; what it had taken is dropped.
  void retire();
  bool retired() const;
  bool is_set_aside() const;
  TaskInfo info(RunQueue::State state) const;
  // Something outside has changed for which it may have waited.
  bool wants_facts() const { return waits_for_facts_.load(std::memory_order_relaxed); }
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }
  int64_t last_used_us() const { return last_used_us_.load(std::memory_order_relaxed); }
  // A firing that failed is to be tried again now.
  bool retry_due(int64_t now_us) const;
  std::optional<int64_t> next_retry_us() const;
  bool hot() const { return is_hot_.load(std::memory_order_relaxed); }
  uint64_t heap_bytes() const { return heap_bytes_.load(std::memory_order_relaxed); }

  enum class TurnEnd : uint8_t { idle, more, lost };
  TurnEnd turn(CallSlot& slot);
  // For a caller who has borrowed the turn: runs a function that [call] names, with what is left of the
  // caller's time. Whether there is more to do is told beside the answer.
  Result<vm::Value> answer(const std::string& function, std::span<const vm::Value> arguments,
                           std::optional<int64_t> end_us, bool& more);
  // The turn's worker is lost in a call: ends the firing.
  void lose_worker();
  // Lets go of isolate and sessions.
  void cool();
  // The call under way ends soon, if it can be stopped, and its firing is as if it had not begun. From any
  // thread; the device closes.
  void cancel();

 private:
  // task_runner.cc
  void adopt();
  void clear_work();
  bool next_firing();
  bool next_retry();
  bool can_run() const;
  bool runs() const;
  TurnEnd run_firing(CallSlot& slot);
  TurnEnd park_firing(CallSlot& slot);
  TurnEnd retry_later(const Error& error);
  void put_back();
  bool was_cancelled() const;
  // task_runner_phases.cc
  void waited();
  Status warm();
  bool begin();
  HotTask::End run_phases(CallSlot& slot);
  HotTask::End run_preprocess(CallSlot& slot);
  HotTask::End run_execute(CallSlot& slot);
  template <class Call>
  HotTask::End timed(Phase phase, int64_t& us, const Call& call);
  void fail_phase(const PhaseFailure& failure);
  void fail_phase(Phase phase, const Error& error);
  // task_runner_call.cc
  Result<const CallSpec*> called(const std::string& function) const;
  Result<vm::Value> run_call(const CallSpec& spec, std::span<const vm::Value> arguments,
                             const PhaseLimits& limits);
  Result<vm::Value> take_answer(const CallSpec& spec);
  Status keep_of_call(const CallSpec& spec);
  Error fail_call(const PhaseFailure& failure, bool cut_short);
  // task_runner_commit.cc
  Status collect();
  void leave_nothing();
  TurnEnd finish();
  Status commit();
  void plan_retry();
  void settle();
  void count_attempt();
  void tell_error(const std::string& text);
  void count_failure();
  void tell_listener();

  TaskRooms& rooms_;
  const std::string name_;

  mutable std::mutex lock_;
  std::shared_ptr<const TaskVersion> next_version_;  // to be adopted by the next turn
  Params next_params_, params_;                      // of that, and of version_
  TaskFeatures features_;                            // of the newest, which are kept up for it
  Mark next_mark_;                                   // with it
  std::shared_ptr<HotTask> cancellable_;             // hot_, for cancel()
  std::shared_ptr<const TaskVersion> adopted_;       // version_, for others than the turn
  TaskInfo info_;                                    // but for what info() adds
  std::string set_aside_;                            // why; empty: it runs
  bool broken_ = false;
  bool retired_ = false;
  bool drop_taken_ = false;  // by the next turn: what was taken for a task that has been removed since

  std::atomic<bool> waits_for_facts_{false}, stalled_{false}, is_hot_{false};
  std::atomic<int64_t> last_used_us_{0};
  std::atomic<uint64_t> heap_bytes_{0};

  std::shared_ptr<const TaskVersion> version_;
  Mark mark_;  // of that
  std::shared_ptr<HotTask> hot_;
  Work work_;                 // of the firing that runs
  bool uncommitted_ = false;  // work_ is done and waits to be written
  std::deque<Work> parked_;   // preprocessed, oldest first, all older than what waits in the queue
  std::deque<stream::TaskFiring> again_;  // taken from the queue before, to be run from their beginning
  Commit commit_;
  store::TableDecl commit_decl_;  // of the first table, under its name among the device's; made when needed
  uint64_t frame_ = 0;
  uint32_t failures_in_row_ = 0;
};

// Preprocessed firings of one task that wait for facts; others stay in the queue, where its policy is.
inline constexpr size_t kMaxParked = 64;

}  // namespace walle::container
