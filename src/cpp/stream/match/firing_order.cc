#include "stream/match/firing_order.h"

#include <set>

namespace walle::stream {

uint16_t FiringOrder::take_place() {
  const auto place = static_cast<uint16_t>(places_++);
  tight::grow_to(bits_, places_ / 64 + 1);
  tight::grow_to(words_, bits_.size() / 64 + 1);
  tight::grow_to(at_, places_);
  return place;
}

bool FiringOrder::is_full(size_t live) const {
  constexpr size_t kFewGaps = 64;
  return places_ >= kNone - 1 || places_ > 2 * live + kFewGaps;
}

void FiringOrder::count_ends(const CompiledTrigger& t, int change) {
  std::set<uint16_t> events;
  for (const auto& chain : t.variants)
    for (const CompiledAtom& a : chain.back().atoms) events.insert(a.event);
  // Who ends with any event is not counted for one of them, too.
  if (events.count(kAny)) events = {kAny};
  for (const uint16_t event : events) {
    const size_t at = event == kAny ? 0 : event + size_t{1};
    tight::grow_to(ends_, at + 1);
    ends_[at] = static_cast<uint16_t>(ends_[at] + change);
  }
  if (ends_.empty()) return;
  size_t most = 0;
  for (size_t at = 1; at < ends_.size(); ++at) most = std::max<size_t>(most, ends_[at]);
  most += ends_[0];
  if (ended_.capacity() < most) ended_.reserve(most + most / 16);
}

}  // namespace walle::stream
