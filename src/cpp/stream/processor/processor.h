// Processor: the device's stream processor: event log, catalogue and the triggers of all tasks as one object.
// An event is appended, matched, and what fires waits in its task's queue: all of it durable against kill -9.
//
// The log says what happened, and everything else follows from it. A checkpoint is ONE state in one file: the
// matcher's snapshot, the place in the log up to which it has seen events, the tasks with their triggers, and
// what waits. After a crash the events behind that place are matched again, and give the same firings under
// the same numbers. Time that passes without events is in the log, too: advance() records a `timer` event
// where something is due, or a replay would fire periods and absences in another order.
//
// What is done belongs to the caller: it writes a firing's effects and its number in one durable step, and
// says at the open up to which number each task has settled (ProcessorOptions::settled). So every firing is
// handed out exactly once per (task, trigger, key), but those that were dropped from a full queue.
//
// Threads: any. record(), advance(), install(), remove(), declare() and checkpoint() wait for each other;
// take() and settle() wait for nobody but each other. A processor belongs to the process that opened it.
// Invariant: numbers in a queue grow, and all of them lie behind what is settled.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "stream/event/event_log.h"
#include "stream/processor/task_firing.h"
#include "stream/rolling/rolling_features.h"

namespace walle::stream {

struct ProcessorOptions {
  EventLogOptions log;
  MatcherOptions matcher;
  // Up to which number the caller's own durable record has settled `task`; asked at the open for each task
  // that a checkpoint knows, and at install(). None: as the checkpoint says, so that a firing that was
  // settled behind it comes again.
  std::function<uint64_t(std::string_view task)> settled;
  // Makes what was settled durable against a power loss; asked before a checkpoint is written that says so.
  std::function<Status()> sync_settled;
  // maintain() makes a checkpoint when so many events have come since the last: they take 10 ms to be matched
  // again.
  uint64_t checkpoint_events = 32'768;
};

struct ProcessorReport {  // of the open
  uint64_t replayed = 0;  // events behind the checkpoint, matched again
  uint64_t firings = 0;   // ... and what they gave
  // Events behind the checkpoint that are no longer in the log: removed by quota or age, damaged, or erased.
  uint64_t missed = 0;
  bool mended = false;  // one of two copies of the state was damaged or missing
  // Both were: tasks have to be installed again, and what was under way is gone. Stays until
  // acknowledge_loss().
  bool lost = false;
};

class Processor {
 public:
  // `dir` gets log/ (the events) and processor.wals (the state). `catalog` as for EventLog::open. A log that
  // is there without a processor's state is gone on with from its end.
  static Result<std::unique_ptr<Processor>> open(Env& env, const std::string& dir, Catalog catalog,
                                                 ProcessorOptions options = {});
  ~Processor();

  // Records one event as EventLog::append, matches it, and puts what fires into queues. After an error of a
  // `durable` sync alone the event is recorded and matched.
  Result<Event> record(const Event& event, bool durable = false);
  // Device time has reached `now` without an event: what is due fires. Records a `timer` event if so.
  Status advance(int64_t now);
  // Local time, of `daily` and `during`, is another between two events: durable when it returns, so that
  // events before it are matched in every replay as they were.
  Status set_local(const LocalTime& local);
  // The earliest time at which advance() has something to do.
  std::optional<int64_t> next_deadline() const;
  // Time of the newest event, us; 0: none has come since the open.
  int64_t now() const;

  // Puts a task in, or replaces the one of its name, between two events: triggers of the same name and text
  // go on with what they have under way, what waits stays, and numbers go on. Durable when it returns; after
  // an error everything is as before.
  Status install(const TaskTriggers& task);
  // What waits is dropped and counted as settled. A task that comes back under the name goes on with its
  // numbers.
  Status remove(const std::string& task);
  std::vector<std::string> tasks() const;
  Result<TaskStats> stats(std::string_view task) const;

  // Called behind record(), advance() and install(), outside of all locks and from their thread, for every
  // task that got a firing; and now for those whose firings wait since before. One at a time; none for no
  // one.
  void on_ready(std::function<void(std::string_view task)> ready);
  // The next firing that waits, in flight until it is settled. False: none waits, there is no such task, or
  // as many as its queue holds are in flight.
  bool take(std::string_view task, TaskFiring& out);
  // Fills in which events the firing's match began and ended with, as far as the log still has them, and the
  // session and page instance that a trailing absence's last event lies in.
  Status locate(TaskFiring& firing);
  // All firings of the task up to `number` are done, whether or not they were taken.
  void settle(std::string_view task, uint64_t number);

  // A feature of the log's events, which is kept up as long as somebody holds it: asked with log(). It is
  // filled by maintain(), or by who asks first.
  Result<std::shared_ptr<RollingFeature>> rolling(const RollingSpec& spec);
  // Behind the newest event, at `now` of the clock, or at that event's time where that is later.
  RollingMoment newest(int64_t now) const;

  // The whole state, durable in two copies when it returns; events are matched on while it is written.
  Status checkpoint();
  // log().maintain(), and a checkpoint when enough events have come. Call it often, from any thread.
  Status maintain();

  // Adds to the catalogue, durably, between two events.
  Status declare(const EventDecl& event);
  Result<uint16_t> page(std::string_view name);
  Result<uint16_t> state(std::string_view name);

  const Catalog& catalog() const;
  // For reading, cursors, losses and accounts. What is appended to it past the processor is matched only
  // after a restart: record() instead.
  EventLog& log();
  const ProcessorReport& report() const;
  // Forgets ProcessorReport::lost, durably.
  Status acknowledge_loss();
  size_t memory_bytes() const;  // of matcher, queues and features

 private:
  struct Parts;
  explicit Processor(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace walle::stream
