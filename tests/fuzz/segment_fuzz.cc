// Any bytes as a segment, with the checksums made right so that the decoder behind them is reached.
#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "store/segment.h"
#include "stream/event_segment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() >= 48) {
    std::memcpy(bytes.data(), "WSEG0001", 8);
    const uint32_t crc = walle::base::crc32c(0, bytes.data(), 44);
    std::memcpy(bytes.data() + 44, &crc, 4);
  }
  const auto segment = walle::store::decode_segment(bytes);
  if (!segment.ok()) return 0;
  const walle::stream::Catalog catalog;
  (void)walle::stream::read_event_segment(*segment, catalog, [](const walle::stream::Event&) { return true; }).ok();
  return 0;
}
