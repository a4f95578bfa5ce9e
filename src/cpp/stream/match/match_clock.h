// MatchClock: what time it is for a matcher, and the keys that order its events.
//
// A key is microseconds since `base` << kKeyShift, plus a running number within the microsecond
// (stream/match/trie.h). Not synchronised.
#pragma once

#include <algorithm>
#include <cstdint>

#include "stream/match/firing.h"
#include "stream/match/trie.h"

namespace walle::stream {

struct MatchClock {
  // What keys can say before the first event, so that a past may be taken over: 100 years of 570.
  static constexpr int64_t kBeforeUs = 100 * kMaxDurationUs;

  int64_t base = 0;       // from which keys count
  bool started = false;   // an event has come
  bool has_base = false;  // before the first event: another matcher's
  uint64_t key = 0;       // of the newest event
  uint64_t last_seq = 0;
  int64_t last_ts = 0;  // newest event
  int64_t now = 0;      // newest event or advance()

  bool has_begun() const { return started || now != 0; }

  void begin(int64_t ts) {
    // From a century before the first event on: 54 bits of microseconds last 570 years.
    if (!has_base) base = std::max(ts - kBeforeUs, -kMaxTimeUs);
    started = true;
  }

  // Of an event behind the first.
  uint64_t next_key(int64_t ts) {
    // Time 1, number 0 is the first microsecond: a key is never 0. A microsecond with more than 1,024 events
    // runs over into the next one.
    const uint64_t at = static_cast<uint64_t>(std::max<int64_t>(ts - base + 1, 1)) << kKeyShift;
    return key = std::max(at, key + 1);
  }
  int64_t time_of(uint64_t k) const { return base + static_cast<int64_t>(k >> kKeyShift) - 1; }
  EventPlace place_of(uint64_t k) const {
    return {.ts = time_of(k), .nth = static_cast<uint16_t>(k & ((1u << kKeyShift) - 1))};
  }
  uint64_t key_ceiling(int64_t ts) const {
    return (static_cast<uint64_t>(ts - base + 1) << kKeyShift) | ((1u << kKeyShift) - 1);
  }
};

}  // namespace walle::stream
