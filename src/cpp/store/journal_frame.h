// One frame of a journal's ring: {u32 crc, u32 size, u64 seq, payload}, padded to 8 bytes; crc = CRC-32C of
// size, seq and payload. Two sizes mean something else: a skip frame ends the lap, a gap frame (payload u64)
// tells the next number.
//
// Pure functions of bytes; none reads outside `ring`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/checked.h"
#include "base/crc32c_write.h"

namespace walle::store {

inline constexpr size_t kFrameHeaderBytes = 16;
inline constexpr uint32_t kSkipFrame = 0xffffffffu;
inline constexpr uint32_t kGapFrame = 0xfffffffeu;

template <class T>
T load(std::span<const std::byte> bytes, size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}
template <class T>
void put(std::span<std::byte> bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

inline size_t frame_bytes(size_t payload) {
  return static_cast<size_t>(base::round_up(static_cast<int64_t>(kFrameHeaderBytes + payload), 8));
}

// What the bytes at one ring offset are: decoded by recovery and by the fuzzer.
struct FrameView {
  enum class Kind { none, frame, skip, gap } kind = Kind::none;
  uint64_t seq = 0;
  std::span<const std::byte> payload;
};
FrameView decode_frame(std::span<const std::byte> ring, size_t offset);

// The frame becomes valid with its checksum, which is stored last. `write(writer)` puts the payload: see
// base/crc32c_write.h.
template <class Write>
void write_frame_with(std::byte* frame, uint32_t size, uint64_t seq, Write&& write) {
  const uint32_t crc = base::crc32c_write(frame + 4, [&](auto& w) { w.put(size), w.put(seq), write(w); });
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(frame)).store(crc, std::memory_order_release);
}
void write_frame(std::byte* frame, uint32_t size, uint64_t seq, std::span<const std::byte> payload);

}  // namespace walle::store
