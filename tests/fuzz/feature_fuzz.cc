// Any bytes as rows of a feature, and as a state file with its checksum made right: what is read is written
// to the same bytes, and nothing is allocated that the bytes do not hold.
#include <cstdlib>
#include <string>

#include "store/state_file.h"
#include "stream/egress/feature_bytes.h"

namespace {
void require(bool holds) {
  if (!holds) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto rows = walle::stream::unpack_batch(bytes); rows.ok())
    require(walle::stream::pack_batch(*rows) == bytes);
  walle::store::EntryMap entries;
  walle::base::ByteReader in(bytes);
  if (walle::store::read_entries(in, entries)) {
    size_t held = sizeof(uint32_t);
    for (const auto& [key, value] : entries) held += walle::store::entry_bytes(key, value);
    require(held == size);
  }
  uint64_t number = 0;
  std::string content;
  const std::string copy = walle::store::encode_mirrored("STAT", 1, bytes);
  require(walle::store::decode_mirrored(copy, "STAT", number, content) && number == 1 && content == bytes);
  (void)walle::store::decode_mirrored(bytes, "STAT", number, content);
  return 0;
}
