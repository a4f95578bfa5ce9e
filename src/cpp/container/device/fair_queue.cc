#include "container/device/fair_queue.h"

#include <algorithm>

namespace walle::container {

namespace {
// Passes are in 512ths of a microsecond of weight 1: the highest weight still moves on with every one.
constexpr uint64_t kScale = 512;
}  // namespace

void FairQueue::push(Member& member) {
  member.pass = std::max(member.pass, now_);
  member.arrived = ++arrivals_;
  heap_.push_back(&member);
  std::push_heap(heap_.begin(), heap_.end(), later);
}

FairQueue::Member* FairQueue::pop() {
  if (heap_.empty()) return nullptr;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Member* member = heap_.back();
  heap_.pop_back();
  now_ = std::max(now_, member->pass);
  return member;
}

void FairQueue::charge(Member& member, int64_t us) {
  const uint64_t used = us > 0 ? static_cast<uint64_t>(us) : 0;
  member.pass += std::max(kLeast, used * kScale / std::max<uint32_t>(member.weight, 1));
}

}  // namespace walle::container
