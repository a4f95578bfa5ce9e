// RollingMemory: the histories of the keys of one feature, within bounds. It says what it knows exactly, or
// that it does not know: then the log does.
//
// Beyond the declared number of keys, or 16 MB, those keys give way whose newest events are oldest, a
// sixteenth of all at once: to know the one that is oldest would cost every event the neighbours of its key
// in a list, three more lines of memory. Not synchronised.
#pragma once

#include <functional>
#include <unordered_map>

#include "stream/rolling/key_history.h"
#include "stream/rolling/rolling_fold.h"
#include "stream/rolling/rolling_rule.h"

namespace walle::stream {

class RollingMemory {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20;
  // Of time, that is kept behind a window: a firing that runs so much late finds all of it.
  static constexpr int64_t kSlackUs = 10 * kMinuteUs;

  // `rule` outlives it. Of a window by time events from `from_ts` on will be added, of one by number all.
  RollingMemory(const RollingRule& rule, int64_t from_ts) : rule_(rule), from_ts_(from_ts) {}
  RollingMemory(const RollingMemory&) = delete;
  RollingMemory& operator=(const RollingMemory&) = delete;

  void add(std::string_view key, const RollingEntry& e);
  // None: not all that counts is here.
  std::optional<Value> value(std::string_view key, const RollingWindow& w) const;

  int64_t from_ts() const { return from_ts_; }
  size_t keys() const { return keys_.size(); }
  size_t bytes() const { return bytes_; }
  // Keys that gave way while their newest event counted.
  uint64_t evicted() const { return evicted_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  // With a node of the table and its place in it.
  static constexpr size_t kKeyBytes = sizeof(std::pair<const std::string, KeyHistory>) + 24;

  KeyHistory& history_of(std::string_view key);
  void give_way(int64_t now);

  const RollingRule& rule_;
  int64_t from_ts_;
  std::unordered_map<std::string, KeyHistory, Hash, std::equal_to<>> keys_;
  RollingGone forgotten_;  // with keys
  size_t bytes_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace walle::stream
