// Processor parts: what a processor is made of; private to it.
//
// Three locks, taken in this order: writing (checkpoints, one after another), matching (log, matcher, tasks),
// queues (queues, numbers, who is told). The table of tasks changes under matching and queues, and is read
// under either.
#pragma once

#include <array>
#include <atomic>

#include "base/aead.h"
#include "store/mirrored_file.h"
#include "store/sealed_env.h"
#include "stream/processor/processor.h"
#include "stream/processor/task_table.h"

namespace walle::stream {

// Tasks that got a firing in one call. Few do: no memory is taken for so many.
class ReadyTasks {
 public:
  void add(std::string_view task);
  template <class Visit>
  void each(Visit&& visit) const {
    for (size_t i = 0; i < size_; ++i) visit(few_[i]);
    for (const std::string_view task : more_) visit(task);
  }
  bool empty() const { return size_ == 0; }

 private:
  std::array<std::string_view, 8> few_{};
  size_t size_ = 0;
  std::vector<std::string_view> more_;
};

// From what the matcher gives to what a task gets; told of every event before and after it is matched.
class FiringPlaces {
 public:
  void begin(const Event& e) { current_ = {e.seq, e.session, e.page_instance}; }
  void end(const Event& e, const Catalog& catalog) {
    const bool timer =
        e.event < catalog.events().size() && catalog.events()[e.event].kind == EventKind::timer;
    if (!timer) before_ = current_;
  }
  // All but its number.
  TaskFiring place(const Firing& f, const MatchPlace& place, const TaskTable::Owner& owner) const;
  void go_on_from(uint64_t session, uint64_t page_instance) { before_ = {0, session, page_instance}; }
  uint64_t session() const { return before_.session; }
  uint64_t page_instance() const { return before_.page_instance; }

 private:
  struct Where {
    uint64_t seq = 0, session = 0, page_instance = 0;
  };
  Where current_, before_;  // the event that is matched, and the newest of before that is no timer's
};

struct Processor::Parts final : public FiringSink {
  Parts(Env& env, std::string dir, ProcessorOptions given)
      : below(env), dir(std::move(dir)), options(std::move(given)) {}

  using Ready = std::function<void(std::string_view)>;

  // processor_open.cc
  Status open(Catalog catalog);
  Status find_state(ProcessorState& state);
  Status restore(ProcessorState& state);
  Status restore_task(StoredTask& stored);
  Status replay();
  Status count_missed();
  // processor_step.cc
  void fired(const Firing& f, const MatchPlace& place) override;
  void step(const Event& recorded);
  void tell(const ReadyTasks& ready) const;
  // processor_locate.cc
  struct Found {
    uint64_t seq = 0, session = 0, page_instance = 0;
  };
  Result<Found> find(const EventPlace& place);
  // processor_checkpoint.cc
  Status set_local(const LocalTime& local);
  ProcessorState state() const;
  Status write(const std::string& bytes, uint64_t seen_then);
  Status checkpoint_locked();
  // processor_rolling.cc
  void warm_rolling();
  // processor_install.cc
  Status add_past(Task& task, const std::vector<TaskTrigger*>& fresh, bool deliver);
  Task& task_for(const TaskTriggers& given);
  Status change(Task& task, const TaskTriggers& given, std::vector<CompiledTrigger> compiled);
  Status install(const TaskTriggers& given);
  Status remove(const std::string& name);

  std::string path() const { return dir + "/processor.wals"; }
  uint64_t settled_by_caller(std::string_view task) const {
    return options.settled ? options.settled(task) : 0;
  }

  Env& below;
  std::unique_ptr<store::SealedEnv> sealed;  // with a key
  std::string dir;
  ProcessorOptions options;
  std::mutex writing;
  mutable std::mutex matching;
  mutable std::mutex queues;
  std::unique_ptr<EventLog> log;
  std::optional<store::MirroredFile> file;
  std::optional<TaskTable> table;
  RollingFeatures rolling;                 // under matching
  std::map<std::string, uint64_t> former;  // removed tasks: the numbers that they have used
  std::atomic<uint64_t> seen{0};           // number of the newest event that was matched
  std::atomic<int64_t> now{0};             // its time; 0: none since the open
  std::atomic<uint64_t> saved{0};          // the same of the newest checkpoint
  bool lost = false;
  FiringPlaces places;
  ReadyTasks ready;  // of the call that runs
  std::shared_ptr<const Ready> on_ready;
  ProcessorReport report;
};

}  // namespace walle::stream
