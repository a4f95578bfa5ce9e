#include "store/journal_frame.h"

namespace walle::store {

FrameView decode_frame(std::span<const std::byte> ring, size_t offset) {
  if (offset > ring.size() || ring.size() - offset < kFrameHeaderBytes) return {};
  const auto size = load<uint32_t>(ring, offset + 4);
  const auto seq = load<uint64_t>(ring, offset + 8);
  const size_t payload = size == kSkipFrame ? 0 : size == kGapFrame ? 8 : size;
  if (payload > ring.size() - offset - kFrameHeaderBytes) return {};
  // `crc` sits in front of the twelve bytes (size, seq) and the payload, which lie next to each other.
  if (load<uint32_t>(ring, offset) !=
      base::crc32c(0, ring.data() + offset + 4, kFrameHeaderBytes - 4 + payload))
    return {};
  if (size == kSkipFrame) return {FrameView::Kind::skip, seq, {}};
  const auto kind = size == kGapFrame ? FrameView::Kind::gap : FrameView::Kind::frame;
  return {kind, seq, ring.subspan(offset + kFrameHeaderBytes, payload)};
}

void write_frame(std::byte* frame, uint32_t size, uint64_t seq, std::span<const std::byte> payload) {
  write_frame_with(frame, size, seq, [&](auto& w) { w.copy(payload.data(), payload.size()); });
}

}  // namespace walle::store
