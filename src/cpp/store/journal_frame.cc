#include "store/journal_frame.h"

namespace walle::store {

FrameView decode_frame(std::span<const std::byte> ring, size_t offset) {
  // Subtractions that cannot wrap: offsets and sizes come from a file.
  if (offset > ring.size() || ring.size() - offset < kFrameHeaderBytes) return {};
  const auto size = base::load_le<uint32_t>(ring, offset + kFrameSizeAt);
  const auto seq = base::load_le<uint64_t>(ring, offset + kFrameSeqAt);
  const size_t payload = size == kSkipFrame ? 0 : size == kGapFrame ? kGapPayload : size;
  // Before the checksum, which would read as far as the size says.
  if (payload > ring.size() - offset - kFrameHeaderBytes) return {};
  // The checksum sits in front of the twelve bytes (size, seq) and the payload, which lie next to each other.
  const auto covered = ring.subspan(offset + kFrameSizeAt, kFrameHeaderBytes - kFrameSizeAt + payload);
  if (base::load_le<uint32_t>(ring, offset) != base::crc32c(0, covered.data(), covered.size())) return {};
  if (size == kSkipFrame) return {FrameView::Kind::skip, seq, {}};
  const auto kind = size == kGapFrame ? FrameView::Kind::gap : FrameView::Kind::frame;
  return {kind, seq, ring.subspan(offset + kFrameHeaderBytes, payload)};
}

ChainPlace chain_place(std::span<const std::byte> ring, size_t offset) {
  ChainPlace place;
  place.bytes = ring.size() - offset;
  if (place.bytes < kFrameHeaderBytes) return place;
  const auto size = base::load_le<uint32_t>(ring, offset + kFrameSizeAt);
  if (size == kSkipFrame) return place;
  const bool gap = size == kGapFrame;
  place.kind = gap ? FrameView::Kind::gap : FrameView::Kind::frame;
  place.seq = base::load_le<uint64_t>(ring, offset + kFrameSeqAt);
  place.payload = ring.subspan(offset + kFrameHeaderBytes, gap ? kGapPayload : size);
  place.next_seq = gap ? base::load_le<uint64_t>(place.payload, 0) : place.seq + 1;
  place.bytes = frame_bytes(place.payload.size());
  return place;
}

void write_frame(std::byte* frame, uint32_t size, uint64_t seq, std::span<const std::byte> payload) {
  write_frame_with(frame, size, seq, [&](auto& w) { w.copy(payload.data(), payload.size()); });
}

}  // namespace walle::store
