// Chain: the frames that follow each other in whatever bytes a journal's file holds: found alike by the
// writer that opens it and by readers beside a writer. Pure functions of bytes that anybody may have made.
#pragma once

#include "store/journal_frame.h"
#include "store/journal_header.h"

namespace walle::store {

// Two pages: one page's ring would take payloads of a kilobyte only.
inline constexpr uint64_t kMinRing = 8192;
// Sizes of frames are 32 bits with two values taken, and offsets must stay far from both.
inline constexpr uint64_t kMaxRing = uint64_t{1} << 30;
inline constexpr uint64_t kRingUnit = 4096;  // a page: what is mapped and synced
inline bool valid_capacity(uint64_t c) { return c >= kMinRing && c % kRingUnit == 0 && c <= kMaxRing; }

struct Chain {
  Tail tail;      // where it begins
  uint64_t end;   // counted in bytes like Journal::head_
  uint64_t next;  // number of the frame that would come next
};

// A chain is never longer than the ring, and a gap in it never wider than what a ring can lose.
Chain follow_chain(std::span<const std::byte> ring, const Tail& tail);

// The chain of a journal. Both copies of the tail may be gone or one of them out of date: `expected`, where
// it is not 0, is the number of the oldest frame that somebody else knows must be there, and where it is
// found counts when more follows it than follows the tail.
Chain find_chain(std::span<const std::byte> header, std::span<const std::byte> ring, uint64_t expected);

// How many accepted frames lie behind a chain's end: the header knows the newest number; failing that, any
// later frame that still reads tells of those before it.
uint64_t lost_behind(std::span<const std::byte> header, std::span<const std::byte> ring, const Chain& chain);

}  // namespace walle::store
