// Any bytes as a journal's ring: decoding never reads outside and never accepts a frame whose checksum is wrong.
#include "store/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> ring(reinterpret_cast<const std::byte*>(data), size);
  for (size_t at = 0; at < size; at += 8) {
    const auto f = walle::store::decode_frame(ring, at);
    if (f.kind == walle::store::FrameView::Kind::frame && f.payload.size() + walle::store::kFrameHeaderBytes > size - at) __builtin_trap();
  }
  return 0;
}
