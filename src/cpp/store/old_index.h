// What logs kept at first in their SQLite index although nothing else can say it: read once, when such a log
// is opened for the first time, and never written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace walle::store {

struct OldIndex {
  std::map<std::string, uint64_t> cursors;  // by reader
  std::map<std::string, double> amounts;    // "epsilon/NAME"
};

// nullopt: the file is missing or damaged, so that what it held is not known.
std::optional<OldIndex> read_old_index(const std::string& path);

}  // namespace walle::store
