// Journal header: the first page of a journal file, private to the journal. Numbers that change too often
// for a checksum are stored beside their complement. The layout is in docs/reference/formats/journal.md.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::store {

inline constexpr uint64_t kJournalMagic = 0x314c4e524a4c4157ull;  // "WALJRNL1", at 0
inline constexpr size_t kCapacityOffset = 8;                      // and 16
inline constexpr size_t kLastSeqOffset = 24;                      // and 32: the newest accepted seq
// Two copies, written in turn and a cache line apart: no torn store and no lost line takes both.
inline constexpr size_t kTailOffset[2] = {64, 128};
inline constexpr size_t kTailBytes = 32;
inline constexpr size_t kTailChecksumAt = 24;  // of the bytes before it

struct Tail {               // the oldest frame kept
  uint64_t generation = 0;  // of two copies, the higher one holds
  uint64_t seq = 1;
  uint64_t offset = 0;  // in the ring
};

inline void store_tail(std::span<std::byte> header, const Tail& tail) {
  const auto place = header.subspan(kTailOffset[tail.generation % 2], kTailBytes);
  base::store_le(place, 0, tail.generation);
  base::store_le(place, 8, tail.seq);
  base::store_le(place, 16, tail.offset);
  base::store_le(place, kTailChecksumAt, base::crc32c(0, place.data(), kTailChecksumAt));
  base::store_le(place, kTailChecksumAt + 4, uint32_t{0});
}

// Whatever the bytes say when their checksum is right; the journal asks whether it is possible.
inline std::optional<Tail> load_tail(std::span<const std::byte> header, size_t at) {
  base::ByteReader r(header.subspan(at, kTailBytes));
  const Tail tail{r.get<uint64_t>(), r.get<uint64_t>(), r.get<uint64_t>()};
  if (!r.checksum()) return std::nullopt;
  return tail;
}

// A number beside its complement: two stores instead of a checksum, at every append. Torn, it reads as
// nothing, and the frames are asked.
inline std::optional<uint64_t> load_pair(std::span<const std::byte> bytes, size_t at) {
  if (bytes.size() < at + 16) return std::nullopt;
  const auto value = base::load_le<uint64_t>(bytes, at);
  if (base::load_le<uint64_t>(bytes, at + 8) != ~value) return std::nullopt;
  return value;
}
inline void store_pair(std::span<std::byte> bytes, size_t at, uint64_t value) {
  base::store_le(bytes, at, value);
  base::store_le(bytes, at + 8, ~value);
}

}  // namespace walle::store
