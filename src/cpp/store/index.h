// The SQLite index beside the segments: which file holds which events, for whoever looks into a directory
// without decoding its segments. It holds nothing that the files do not say, so nothing here fails: an index
// that is damaged, missing or not writable is made anew from what its owner has read, or done without.
//
// The table is in docs/reference/formats/sqlite-index.md. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace walle::store {

struct SegmentEntry {
  std::string file;
  uint64_t first_seq = 0, last_seq = 0;
  int64_t min_ts = 0, max_ts = 0, bytes = 0;
};

class Index {
 public:
  // Without a path there is no file: SQLite opens files itself, past the Env, and a test's file system has
  // none for it.
  static std::unique_ptr<Index> open(const std::string& path);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Whether what the file said was wrong, and it was made anew.
  bool rebuilt() const { return rebuilt_; }
  // Exactly these from now on: what the files say.
  void settle(const std::vector<SegmentEntry>& entries);
  void add(const SegmentEntry& entry);
  void remove(const std::string& file);

 private:
  explicit Index(std::string path) : path_(std::move(path)) {}
  bool connect();
  void close();
  void renew();
  bool insert(const SegmentEntry& entry);
  bool rewrite();

  std::string path_;
  sqlite3* db_ = nullptr;  // nullptr: done without
  std::map<std::string, SegmentEntry> rows_;
  bool rebuilt_ = false;
};

}  // namespace walle::store
