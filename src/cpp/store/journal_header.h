// The header page of a journal file, private to the journal. Numbers that change too often for a checksum are
// stored beside their complement.
#pragma once

#include <optional>

#include "base/crc32c.h"
#include "store/journal_frame.h"

namespace walle::store {

inline constexpr uint64_t kJournalMagic = 0x314c4e524a4c4157ull;  // "WALJRNL1", at 0
inline constexpr size_t kCapacityOffset = 8;                      // and 16
inline constexpr size_t kLastSeqOffset = 24;                      // and 32: the newest accepted seq
inline constexpr size_t kTailOffset[2] = {64, 128};

struct Tail {
  uint64_t generation, seq, offset;
  uint32_t crc, zero;
};
inline uint32_t tail_crc(const Tail& t) { return base::crc32c(0, &t, 24); }

inline std::optional<uint64_t> load_pair(std::span<const std::byte> bytes, size_t at) {
  if (bytes.size() < at + 16) return std::nullopt;
  const auto value = load<uint64_t>(bytes, at);
  if (load<uint64_t>(bytes, at + 8) != ~value) return std::nullopt;
  return value;
}
inline void put_pair(std::span<std::byte> bytes, size_t at, uint64_t value) {
  put(bytes, at, value);
  put(bytes, at + 8, ~value);
}

}  // namespace walle::store
