#include "stream/match/keyed_limit.h"

#include <algorithm>
#include <bit>

#include "stream/event/event.h"
#include "stream/match/tight.h"

namespace walle::stream {

KeyedLimit::KeyedLimit(int count, int64_t per_us, int keep)
    : count_(count),
      per_us_(per_us),
      entries_(keep),
      times_(static_cast<size_t>(count) * keep, kNever),
      index_(std::bit_ceil(size_t{2} * keep), kNoEntry) {}

bool KeyedLimit::holds(const Entry& e, int64_t ts) const {
  const int64_t first = times_[(&e - entries_.data()) * count_ + e.next];
  return first != kNever && (per_us_ == kForever || ts - first < per_us_);
}

uint16_t KeyedLimit::find(uint64_t key) const {
  for (size_t i = slot_of(key);; i = (i + 1) & (index_.size() - 1))
    if (index_[i] == kNoEntry || entries_[index_[i]].key == key) return index_[i];
}

bool KeyedLimit::allows(uint64_t key, int64_t ts) const {
  const uint16_t at = find(key);
  return at == kNoEntry || !holds(entries_[at], ts);
}

void KeyedLimit::note(uint64_t key, int64_t ts) {
  uint16_t at = find(key);
  if (at == kNoEntry)
    at = take(key, ts);
  else
    unlink(at);
  link_newest(at);
  Entry& e = entries_[at];
  times_[static_cast<size_t>(at) * count_ + e.next] = ts;
  e.next = static_cast<uint8_t>((e.next + 1) % count_);
}

// A free entry, or the one whose key fired longest ago.
uint16_t KeyedLimit::take(uint64_t key, int64_t ts) {
  auto at = static_cast<uint16_t>(size_);
  if (size_ == entries_.size()) {
    at = oldest_;
    evicted_ += holds(entries_[at], ts);
    unlink(at);
    drop_from_index(at);
    std::fill_n(times_.begin() + static_cast<ptrdiff_t>(at) * count_, count_, kNever);
  } else {
    ++size_;
  }
  entries_[at] = {.key = key};
  size_t i = slot_of(key);
  while (index_[i] != kNoEntry) i = (i + 1) & (index_.size() - 1);
  index_[i] = at;
  return at;
}

// Those behind move up, so that the table has no holes.
void KeyedLimit::drop_from_index(uint16_t at) {
  const size_t mask = index_.size() - 1;
  size_t hole = slot_of(entries_[at].key);
  while (index_[hole] != at) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; index_[i] != kNoEntry; i = (i + 1) & mask) {
    const size_t home = slot_of(entries_[index_[i]].key);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;  // the hole lies before its home
    index_[hole] = index_[i];
    hole = i;
  }
  index_[hole] = kNoEntry;
}

void KeyedLimit::unlink(uint16_t at) {
  const Entry& e = entries_[at];
  (e.older == kNoEntry ? oldest_ : entries_[e.older].newer) = e.newer;
  (e.newer == kNoEntry ? newest_ : entries_[e.newer].older) = e.older;
}

void KeyedLimit::link_newest(uint16_t at) {
  entries_[at].older = newest_;
  entries_[at].newer = kNoEntry;
  (newest_ == kNoEntry ? oldest_ : entries_[newest_].newer) = at;
  newest_ = at;
}

void KeyedLimit::clear() {
  size_ = 0;
  oldest_ = newest_ = kNoEntry;
  std::fill(times_.begin(), times_.end(), kNever);
  std::fill(index_.begin(), index_.end(), kNoEntry);
}

void KeyedLimit::put(base::ByteWriter& out) const {
  out.put_count(static_cast<size_t>(count_));
  out.put_count(size_);
  for (uint16_t at = oldest_; at != kNoEntry; at = entries_[at].newer) {
    out.put(entries_[at].key);
    for (int i = 0; i < count_; ++i)
      out.put(times_[static_cast<size_t>(at) * count_ + (entries_[at].next + i) % count_]);
  }
}

void KeyedLimit::get(base::ByteReader& in) {
  base::ByteReader ahead = in;
  // A forged one may count otherwise.
  if (ahead.get<uint32_t>() != static_cast<uint32_t>(count_)) return pass(in);
  in = ahead;
  clear();
  for (uint32_t n = in.count(sizeof(uint64_t) * (1 + count_)); n-- > 0 && in.ok();) {
    const auto key = in.get<uint64_t>();
    for (int i = 0; i < count_; ++i) {
      if (const int64_t ts = get_past_time(in); ts != kNever) note(key, ts);
    }
  }
}

void KeyedLimit::pass(base::ByteReader& in) {
  const uint64_t words = uint64_t{1} + in.get<uint32_t>();
  for (uint32_t n = in.count(sizeof(uint64_t)); n-- > 0 && in.ok();) (void)in.bytes(words * sizeof(uint64_t));
}

size_t KeyedLimit::memory_bytes() const {
  return tight::bytes(entries_) + tight::bytes(times_) + tight::bytes(index_);
}

}  // namespace walle::stream
