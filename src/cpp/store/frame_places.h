// Where every 64th frame of a journal lies: who wants one event of 20,000 need not check all before it, which
// takes 20 ns each.
//
// Hints, not facts: a place is believed where the frame that lies there has the number. So two threads may
// note at once, and nothing is cleared when frames go.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace walle::store {

class FramePlaces {
 public:
  struct Place {
    uint64_t seq = 0, at = 0;  // bytes placed before it, as Journal counts them
  };

  void note(uint64_t seq, uint64_t at) {
    if (seq % kEvery != 0) [[likely]]
      return;
    Slot& slot = slots_[seq / kEvery % kSlots];
    slot.at.store(at, std::memory_order_relaxed);
    slot.seq.store(seq, std::memory_order_relaxed);
  }

  // The newest noted place not behind frame `seq`. Numbers may have gaps: a few steps back are tried.
  std::optional<Place> before(uint64_t seq) const {
    uint64_t group = seq / kEvery;
    for (int tries = 0; tries < kTries && group > 0; ++tries, --group) {
      const Slot& slot = slots_[group % kSlots];
      const Place found{slot.seq.load(std::memory_order_relaxed), slot.at.load(std::memory_order_relaxed)};
      if (found.seq == group * kEvery) return found;
    }
    return std::nullopt;
  }

 private:
  static constexpr uint64_t kEvery = 64;
  static constexpr size_t kSlots = 1024;  // 65,536 frames: more than the usual journal of 4 MB holds
  static constexpr int kTries = 4;
  struct Slot {
    std::atomic<uint64_t> seq{0}, at{0};
  };
  std::array<Slot, kSlots> slots_{};
};

}  // namespace walle::store
