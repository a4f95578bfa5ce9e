#include "stream/rolling/rolling_memory.h"

#include <algorithm>
#include <bit>

namespace walle::stream {

namespace {
// Beyond a window by number, for firings that run late.
constexpr size_t kSlackEvents = 16;
constexpr size_t kParts = 16;  // of all keys, of which one gives way
}  // namespace

KeyHistory& RollingMemory::history_of(std::string_view key) {
  const auto found = keys_.find(key);
  if (found != keys_.end()) return found->second;
  KeyHistory& fresh = keys_.emplace(key, KeyHistory()).first->second;
  // It may be one of those that were forgotten.
  fresh.gone() = forgotten_;
  bytes_ += kKeyBytes + key.size();
  return fresh;
}

void RollingMemory::give_way(int64_t now) {
  using Named = std::pair<uint64_t, const std::string*>;
  std::vector<Named> all;
  all.reserve(keys_.size());
  for (const auto& [name, history] : keys_) all.emplace_back(history.newest().seq, &name);
  const size_t count = std::max<size_t>(1, all.size() / kParts);
  std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(count), all.end());
  for (size_t i = 0; i < count; ++i) {
    const auto at = keys_.find(*all[i].second);
    const RollingEntry& last = at->second.newest();
    forgotten_.note(last.seq, last.ts);
    evicted_ += !rule_.by_time() || last.ts >= now - rule_.spec().over_us;
    bytes_ -= at->second.bytes() + kKeyBytes + at->first.size();
    keys_.erase(at);
  }
}

void RollingMemory::add(std::string_view key, const RollingEntry& e) {
  const RollingSpec& spec = rule_.spec();
  KeyHistory& history = history_of(key);
  const size_t before = history.bytes();
  if (rule_.by_time())
    history.push(e, e.ts - spec.over_us - kSlackUs, KeyHistory::kMost);
  else
    history.push(e, INT64_MIN, std::bit_ceil(spec.over_events + kSlackEvents));
  bytes_ += history.bytes() - before;
  while (keys_.size() > spec.keys || (bytes_ > kMostBytes && keys_.size() > 1)) give_way(e.ts);
}

std::optional<Value> RollingMemory::value(std::string_view key, const RollingWindow& w) const {
  RollingFold fold(rule_.spec().kind, rule_.whole());
  if (w.events == 0 && w.from_ts < from_ts_) return std::nullopt;
  const auto found = keys_.find(key);
  if (found == keys_.end()) {
    if (forgotten_.in(w, 0)) return std::nullopt;
    return fold.value();
  }
  const KeyHistory& history = found->second;
  const auto places = history.find(w);
  if (!places) return std::nullopt;
  const auto [begin, end] = *places;
  if (fold.counts_only()) {
    fold.count(end - begin);
    return fold.value();
  }
  for (size_t i = begin; i < end; ++i) fold.add(history.at(i).bits);
  return fold.value();
}

}  // namespace walle::stream
