#include "store/entry_map.h"

namespace walle::store {

void put_entries(base::ByteWriter& out, const EntryMap& entries) {
  out.put_count(entries.size());
  for (const auto& [key, value] : entries) {
    out.put_count(key.size());
    out.put_count(value.size());
    out.put_bytes(key);
    out.put_bytes(value);
  }
}

bool read_entries(base::ByteReader& in, EntryMap& out) {
  const uint32_t count = in.count(kEntryHeadBytes);
  for (uint32_t i = 0; i < count; ++i) {
    const auto key_size = in.get<uint32_t>();
    const auto value_size = in.get<uint32_t>();
    const std::string_view key = in.bytes(key_size);
    const std::string_view value = in.bytes(value_size);
    if (!in.ok()) return false;
    out.emplace(key, value);
  }
  return in.done() && out.size() == count;  // no key twice
}

}  // namespace walle::store
