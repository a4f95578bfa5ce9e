// Entry map: entries of a small map as bytes and back, which is what the key-value file and the state file
// hold behind their heads. Sorted by the key's bytes, so that the file depends on the content alone.
#pragma once

#include <map>
#include <string>

#include "base/bytes.h"

namespace walle::store {

using EntryMap = std::map<std::string, std::string>;

inline constexpr size_t kEntryHeadBytes = 8;  // the two sizes in front of a key and its value

inline size_t entry_bytes(const std::string& key, const std::string& value) {
  return kEntryHeadBytes + key.size() + value.size();
}

void put_entries(base::ByteWriter& out, const EntryMap& entries);
// All that is left of `in`. False: not what put_entries() writes.
bool read_entries(base::ByteReader& in, EntryMap& out);

}  // namespace walle::store
