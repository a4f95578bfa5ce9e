// RollingFeature: what a feature is for keys at a moment: a function of the log. It is made of the events of
// the log that count, whose numbers are at most the moment's and whose times its window admits - so that a
// firing that runs late, or again, or in a replay finds the same, and what was erased is in no feature.
//
// A memory of the newest events answers nearly every question. It is filled from the log by the first one, or
// by warm(), and by every event that is recorded; nothing of it is written down. What it does not hold - a
// key that gave way, a firing that waited for long, more events of a key than a ring has - is read from the
// log, exactly and slowly, and counted.
//
// Threads: feed() belongs to whoever appends to the log, the other calls to anyone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "stream/event/event_log.h"
#include "stream/rolling/rolling_memory.h"

namespace walle::stream {

// As of when a feature is asked for: behind event `seq`, at `ts`, which is not before that event's time.
struct RollingMoment {
  uint64_t seq = 0;
  int64_t ts = 0;
};

struct RollingStats {
  size_t keys = 0;       // that are held
  uint64_t evicted = 0;  // that gave way while their newest event counted
  uint64_t reads = 0;    // lookups that had to read the log
  size_t bytes = 0;
};

class RollingFeature {
 public:
  explicit RollingFeature(RollingRule rule) : rule_(std::move(rule)) {}
  const RollingRule& rule() const { return rule_; }

  void feed(const Event& e, const Catalog& catalog);
  // One for each of the keys, which RollingRule::key_of() made.
  Result<std::vector<Value>> values(EventLog& log, std::span<const std::string> keys, RollingMoment at);
  // Fills the memory with what counts at `ts` and later, where it is not.
  Status warm(EventLog& log, int64_t ts);
  // Somebody has tried to.
  bool warmed() const { return warmed_.load(std::memory_order_relaxed); }
  RollingStats stats() const;

 private:
  Status fill(EventLog& log, int64_t from_ts);
  Status read_missing(EventLog& log, std::span<const std::string> keys, const RollingWindow& w,
                      std::span<Value> out);
  bool recall(const EventLog& log, std::span<const std::string> keys, const RollingWindow& w,
              std::span<std::optional<Value>> out);
  bool knows(const EventLog& log, int64_t from_ts) const;

  const RollingRule rule_;
  std::atomic<bool> warmed_{false};
  std::mutex filling_;  // before lock_
  mutable std::mutex lock_;
  std::unique_ptr<RollingMemory> memory_;  // nullptr: nobody has asked yet
  uint64_t seen_ = 0;                      // number of the newest event that it was shown
  uint64_t erased_ = 0;                    // what the log had erased before it was filled
  uint64_t reads_ = 0, evicted_before_ = 0;
  std::string key_;  // feed()'s
};

}  // namespace walle::stream
