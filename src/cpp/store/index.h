// The SQLite index beside the segments: which file holds which events, and how far each named reader has
// come. The files are the truth; a damaged or missing index is made anew from them (readers' cursors are lost
// then, and that is reported).
//
// The tables are in docs/reference/formats/sqlite-index.md. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

struct sqlite3;

namespace walle::store {

struct SegmentEntry {
  std::string file;
  uint64_t first_seq = 0, last_seq = 0;
  int64_t min_ts = 0, max_ts = 0, bytes = 0;
};

class Index {
 public:
  // ":memory:" for tests. `rebuilt` tells whether a damaged file was replaced.
  static Result<std::unique_ptr<Index>> open(const std::string& path);
  ~Index();

  bool rebuilt() const { return rebuilt_; }
  Status add(const SegmentEntry& entry);
  Status remove(const std::string& file);
  Result<std::vector<SegmentEntry>> segments() const;  // by first_seq
  Status set_cursor(const std::string& reader, uint64_t seq);
  Result<uint64_t> cursor(const std::string& reader) const;  // 0: never read
  // Small durable values of other parts (privacy budgets, ledgers' heads).
  Status set_value(const std::string& key, double value);
  Result<double> value(const std::string& key) const;

 private:
  Index(sqlite3* db, bool rebuilt) : db_(db), rebuilt_(rebuilt) {}
  sqlite3* db_;
  bool rebuilt_;
};

}  // namespace walle::store
