// TaskFiring: what the processor keeps for tasks: which triggers one has, and what a firing hands to it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/match/matcher.h"

namespace walle::stream {

inline constexpr size_t kMaxTasks = 4096;
inline constexpr uint32_t kMaxQueue = 65'536;  // firings of one task
inline constexpr size_t kMaxTaskTriggers = 256;
inline constexpr uint32_t kNoTrigger = 0xffffffff;

struct TriggerText {
  std::string name;  // unique within the task
  std::string text;
  friend bool operator==(const TriggerText&, const TriggerText&) = default;
};

// What becomes of a firing that finds its task's queue full. Whatever it is, it has a number and is counted.
enum class WhenFull : uint8_t {
  coalesce,     // folds into the newest waiting one of its trigger; where there is none, the oldest goes
  drop_oldest,  // the firing that has waited longest goes
  drop_new      // it goes itself
};

// What a new trigger makes of the events that the log holds already.
enum class Past : uint8_t {
  ignored,   // its matches start behind its adding
  warmed,    // its matches may start in the past; what they completed there does not fire
  delivered  // what they completed there fires, once, in the order of the past
};

struct TaskTriggers {
  std::string task;
  std::vector<TriggerText> triggers;  // none: a task that is started by hand
  uint32_t queue = 256;               // firings that wait at most
  WhenFull when_full = WhenFull::coalesce;
  Past past = Past::ignored;  // of triggers that the task did not have before with this text and local time
  std::shared_ptr<const LocalTime> local = {};  // of `daily` and `during`; none: the device's
};

// What a trigger's scope keeps apart, by the catalogue's ids: it holds whatever becomes of the trigger.
struct ScopeParts {
  bool page = false, session = false;
  uint8_t count = 0;
  std::array<uint16_t, kMaxKeyFields> fields{};
  friend bool operator==(const ScopeParts&, const ScopeParts&) = default;
};

// One call of a task.
struct TaskFiring {
  uint64_t number = 0;  // 1, 2, 3 ... of the task, the same in every replay; dropped and folded ones count
  // Hash of task, trigger's name and text, seq, ts, and of what the scope matched in: equal for no two
  // firings of a device.
  uint64_t key = 0;               // below 2^63
  uint32_t trigger = kNoTrigger;  // place among the task's triggers as they are now; kNoTrigger: not there
                                  // any more, the firing is one of a version before
  std::string_view trigger_name;  // holds as long as the processor
  uint64_t seq = 0;               // the event that completed it; of timers and absences the last one before
  int64_t ts = 0;                 // event time, us
  int64_t start_ts = 0;           // of the match's first event
  // Of the match in a scope that has one (scope session, scope page), else those of event `seq`; behind
  // Processor::locate() those of event `last_seq`.
  uint64_t session = 0, page_instance = 0;
  uint32_t coalesced = 0;  // further firings folded into this one
  uint32_t attempt = 1;    // to do it, of whoever tries again what failed
  ScopeParts scope;
  uint16_t start_nth = EventPlace::kNowhere;  // with start_ts: the match's first event
  EventPlace last;                            // its last one; of timers nothing
  // The numbers of both, by Processor::locate(): 0 where an event is gone from the log, and of timers.
  uint64_t start_seq = 0, last_seq = 0;
};

struct TaskTriggerStats {
  std::string name, text;  // the text is canonical
  TriggerStats stats;      // since the trigger was installed with this text, over restarts
};

struct TaskStats {
  std::string task;
  uint32_t queue = 0;
  WhenFull when_full = WhenFull::coalesce;
  uint64_t newest = 0;   // number of the newest firing
  uint64_t settled = 0;  // all up to here are done
  size_t waiting = 0, in_flight = 0;
  uint64_t dropped = 0, coalesced = 0;  // since the task was installed first
  std::vector<TaskTriggerStats> triggers;
  std::shared_ptr<const LocalTime> local = {};  // of its own
};

}  // namespace walle::stream
