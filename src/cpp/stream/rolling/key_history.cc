#include "stream/rolling/key_history.h"

#include <algorithm>

namespace walle::stream {

namespace {
constexpr size_t kFirst = 4;  // many keys are seen once

// The first place at or behind `from` for which `holds`, as it does for all behind that.
template <class Holds>
size_t first_place(size_t from, size_t size, const Holds& holds) {
  while (from < size) {
    const size_t middle = from + (size - from) / 2;
    if (holds(middle))
      size = middle;
    else
      from = middle + 1;
  }
  return from;
}
}  // namespace

void KeyHistory::drop_oldest() {
  const RollingEntry& oldest = at(0);
  gone_.note(oldest.seq, oldest.ts);
  first_ = (first_ + 1) & (ring_.size() - 1);
  --size_;
}

void KeyHistory::grow() {
  std::vector<RollingEntry> wider(ring_.empty() ? kFirst : ring_.size() * 2);
  for (size_t i = 0; i < size_; ++i) wider[i] = at(i);
  ring_ = std::move(wider);
  first_ = 0;
}

void KeyHistory::push(const RollingEntry& e, int64_t old, size_t most) {
  if (size_ == ring_.size())
    while (size_ > 0 && at(0).ts < old) drop_oldest();
  while (size_ >= most) drop_oldest();
  if (size_ == ring_.size()) grow();
  ring_[(first_ + size_) & (ring_.size() - 1)] = e;
  ++size_;
}

std::optional<std::pair<size_t, size_t>> KeyHistory::find(const RollingWindow& w) const {
  const size_t end = first_place(0, size_, [&](size_t i) { return at(i).seq > w.to; });
  const size_t there = first_place(0, end, [&](size_t i) { return at(i).seq > w.after; });
  size_t begin = there;
  if (w.events == 0)
    begin = first_place(there, end, [&](size_t i) { return at(i).ts >= w.from_ts; });
  else if (end - there > w.events)
    begin = end - w.events;
  // What left the ring is older than all in it: where one of these is too old, nothing is missing.
  if (begin == 0 && gone_.in(w, end)) return std::nullopt;
  return std::pair(begin, end);
}

}  // namespace walle::stream
