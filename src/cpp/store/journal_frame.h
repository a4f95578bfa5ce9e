// Frame: one record of a journal's ring: {u32 crc, u32 size, u64 seq, payload}, padded to 8 bytes; crc =
// CRC-32C of size, seq and payload. Two sizes mean something else: a skip frame ends the lap, a gap frame
// (payload u64) tells the next number.
//
// Pure functions of bytes; none reads outside `ring`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/checked_write.h"

namespace walle::store {

inline constexpr size_t kFrameHeaderBytes = 16;  // 4 + 4 + 8
inline constexpr size_t kFrameSizeAt = 4;        // what the checksum covers starts here
inline constexpr size_t kFrameSeqAt = 8;
inline constexpr size_t kFrameAlignment = 8;  // so that a number is one aligned word, stored at once
// Sizes that no payload can have: a ring holds at most 2^30 bytes.
inline constexpr uint32_t kSkipFrame = 0xffffffffu;
inline constexpr uint32_t kGapFrame = 0xfffffffeu;
inline constexpr size_t kGapPayload = sizeof(uint64_t);
// A device that records a million events a second is there in 146,000 years.
inline constexpr uint64_t kMaxSeq = uint64_t{1} << 62;

inline size_t frame_bytes(size_t payload) {
  return static_cast<size_t>(
      base::round_up(static_cast<int64_t>(kFrameHeaderBytes + payload), kFrameAlignment));
}

// What the bytes at one ring offset are, checksum and all: decoded by recovery and by the fuzzer.
struct FrameView {
  enum class Kind { none, frame, skip, gap } kind = Kind::none;
  uint64_t seq = 0;
  std::span<const std::byte> payload;
};
FrameView decode_frame(std::span<const std::byte> ring, size_t offset);

// A place in a chain that recovery followed or this process wrote: its checksums are not asked again.
struct ChainPlace {
  FrameView::Kind kind = FrameView::Kind::skip;  // also where too few bytes for a frame's head end the lap
  uint64_t seq = 0;                              // of a frame
  uint64_t next_seq = 0;                         // of the frame behind it; not behind a skip frame
  size_t bytes = 0;                              // to the next place
  std::span<const std::byte> payload;
};
ChainPlace chain_place(std::span<const std::byte> ring, size_t offset);

// The frame becomes valid with its checksum, which is stored last.
// `write(writer)` puts the payload: see base/checked_write.h.
template <class Write>
void write_frame_with(std::byte* frame, uint32_t size, uint64_t seq, Write&& write) {
  const uint32_t crc = base::checked_write(frame + kFrameSizeAt, [&](auto& w) {
    w.put(size);
    w.put(seq);
    write(w);
  });
  // Atomic, although one process writes: the compiler may not move it before the payload's stores, and on x86
  // it costs nothing more.
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(frame))
      .store(base::little_endian(crc), std::memory_order_release);
}
void write_frame(std::byte* frame, uint32_t size, uint64_t seq, std::span<const std::byte> payload);

}  // namespace walle::store
