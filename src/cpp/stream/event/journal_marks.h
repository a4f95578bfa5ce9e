// JournalMarks: where some of a journal's frames lie, so that a reader who wants the newest events need not
// walk over all of them: one in 64 of the last 65,536 events.
//
// Threads: one appender notes, any number of others look, without a lock: an append would pay for it. A mark
// that is overwritten while it is read is not taken.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace walle::stream {

class JournalMarks {
 public:
  static constexpr uint64_t kEvery = 64;
  static constexpr uint64_t kMarks = 1024;

  struct Mark {
    uint64_t seq = 0;
    int64_t ts = 0;
    uint64_t at = 0;  // store::JournalPlace::at
  };

  static bool due(uint64_t seq) { return seq % kEvery == 0; }

  // Appender's; `mark.seq` is due.
  void note(const Mark& mark) {
    Slot& slot = slots_[mark.seq / kEvery % kMarks];
    slot.seq.store(0, std::memory_order_relaxed);
    slot.at.store(mark.at, std::memory_order_release);
    slot.ts.store(mark.ts, std::memory_order_release);
    slot.seq.store(mark.seq, std::memory_order_release);
    newest_.store(mark.seq, std::memory_order_release);
  }

  // The newest mark before which lies no event with a number from `from` on and a time from `from_ts` on;
  // nullopt where none is known.
  std::optional<Mark> before(uint64_t from, int64_t from_ts) const {
    const uint64_t newest = newest_.load(std::memory_order_acquire);
    // Newest first: what is asked for has mostly just happened.
    for (uint64_t back = 0; back < kMarks && newest > back * kEvery; ++back) {
      const auto mark = read(newest - back * kEvery);
      if (mark && (mark->seq <= from || mark->ts < from_ts)) return mark;
    }
    return std::nullopt;
  }

 private:
  struct Slot {
    std::atomic<uint64_t> seq{0}, at{0};
    std::atomic<int64_t> ts{0};
  };

  std::optional<Mark> read(uint64_t seq) const {
    const Slot& slot = slots_[seq / kEvery % kMarks];
    if (slot.seq.load(std::memory_order_acquire) != seq) return std::nullopt;
    const Mark out{.seq = seq,
                   .ts = slot.ts.load(std::memory_order_acquire),
                   .at = slot.at.load(std::memory_order_acquire)};
    if (slot.seq.load(std::memory_order_relaxed) != seq) return std::nullopt;
    return out;
  }

  std::array<Slot, kMarks> slots_;
  std::atomic<uint64_t> newest_{0};
};

}  // namespace walle::stream
