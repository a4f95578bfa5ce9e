// `once per item`, `cooldown 1h per item`, `rate 3 per 1d per user`: at most so many firings in so long for
// each key. All three are one rule; `once` has no end.
//
// All memory is taken when it is made. Beyond the declared number of keys the least recently fired gives way;
// that is counted if it would still have held something back. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "stream/match/match_times.h"

namespace walle::stream {

class KeyedLimit {
 public:
  static constexpr int64_t kForever = INT64_MAX;

  KeyedLimit(int count, int64_t per_us, int keep);

  // A firing exactly per_us after the one it is counted with is allowed.
  bool allows(uint64_t key, int64_t ts) const;
  void note(uint64_t key, int64_t ts);
  uint64_t evicted() const { return evicted_; }
  size_t keys() const { return size_; }
  size_t memory_bytes() const;

  // The keys with their times, the least recently fired first.
  void put(base::ByteWriter& out) const;
  // What put() wrote; that of another limit is passed over.
  void get(base::ByteReader& in);
  static void pass(base::ByteReader& in);  // reads over one
  void clear();

 private:
  struct Entry {
    uint64_t key = 0;
    uint16_t older = 0, newer = 0;  // neighbours in order of firing
    uint8_t next = 0;               // the oldest of its times, which is overwritten next
  };
  static constexpr uint16_t kNoEntry = 0xffff;

  uint16_t find(uint64_t key) const;
  uint16_t take(uint64_t key, int64_t ts);
  size_t slot_of(uint64_t key) const { return (key >> 1) & (index_.size() - 1); }
  void drop_from_index(uint16_t at);
  void unlink(uint16_t at);
  void link_newest(uint16_t at);
  bool holds(const Entry& e, int64_t ts) const;

  int count_;
  int64_t per_us_;
  std::vector<Entry> entries_;
  std::vector<int64_t> times_;   // count_ for each entry
  std::vector<uint16_t> index_;  // by key, a power of two, at most half full
  size_t size_ = 0;
  uint16_t oldest_ = kNoEntry, newest_ = kNoEntry;
  uint64_t evicted_ = 0;
};

}  // namespace walle::stream
