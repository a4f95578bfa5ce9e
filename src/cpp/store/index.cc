#include "store/index.h"

#include <cstdio>

#include "base/log.h"
#include "store/sqlite_statement.h"

namespace walle::store {

namespace {
// WAL and NORMAL: a commit costs no sync. What a power loss takes is found again in the files. The two tables
// that are dropped held readers' places and accounts before the state file did (store/old_index.h).
constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "DROP TABLE IF EXISTS cursors; DROP TABLE IF EXISTS amounts;"
    "CREATE TABLE IF NOT EXISTS segments(file TEXT PRIMARY KEY, first INTEGER, last INTEGER,"
    " min_ts INTEGER, max_ts INTEGER, bytes INTEGER);";

// False: the table cannot be read.
bool read_rows(sqlite3* db, std::map<std::string, SegmentEntry>& out) {
  Statement s(db, "SELECT file,first,last,min_ts,max_ts,bytes FROM segments");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    out[s.text(0)] = {.file = s.text(0),
                      // SQLite's integers are signed; sequence numbers stay below 2^62.
                      .first_seq = static_cast<uint64_t>(s.integer(1)),
                      .last_seq = static_cast<uint64_t>(s.integer(2)),
                      .min_ts = s.integer(3),
                      .max_ts = s.integer(4),
                      .bytes = s.integer(5)};
  return code == SQLITE_DONE;
}

bool same_row(const SegmentEntry& a, const SegmentEntry& b) {
  return a.first_seq == b.first_seq && a.last_seq == b.last_seq && a.min_ts == b.min_ts &&
         a.max_ts == b.max_ts && a.bytes == b.bytes;
}
}  // namespace

std::unique_ptr<Index> Index::open(const std::string& path) {
  auto index = std::unique_ptr<Index>(new Index(path));
  if (!path.empty() && !index->connect()) {
    index->rebuilt_ = true;
    index->renew();
  }
  return index;
}

Index::~Index() { close(); }

bool Index::connect() {
  if (sqlite3_open(path_.c_str(), &db_) == SQLITE_OK &&
      sqlite3_exec(db_, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK && whole(db_))
    return true;
  close();
  return false;
}

void Index::close() {
  sqlite3_close(db_);
  db_ = nullptr;
}

// A new file with the rows that are known. Whatever was wrong with the old one - damage, a table of another
// shape, a file that somebody holds - the files it speaks of are there, so it is done without at the worst.
void Index::renew() {
  if (path_.empty()) return;
  close();
  // All three, or the old log would be replayed into the new file.
  for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  if (connect() && rewrite()) return;
  close();
  base::log(base::LogLevel::warning,
            "the event index '" + path_ + "' cannot be written; the log does without");
}

bool Index::insert(const SegmentEntry& e) {
  return Statement(db_, "INSERT OR REPLACE INTO segments VALUES(?,?,?,?,?,?)")
             .bind(e.file)
             .bind(static_cast<int64_t>(e.first_seq))
             .bind(static_cast<int64_t>(e.last_seq))
             .bind(e.min_ts)
             .bind(e.max_ts)
             .bind(e.bytes)
             .step() == SQLITE_DONE;
}

void Index::settle(const std::vector<SegmentEntry>& entries) {
  rows_.clear();
  for (const SegmentEntry& e : entries) rows_[e.file] = e;
  if (!db_) return;
  std::map<std::string, SegmentEntry> before;
  bool right = read_rows(db_, before);
  bool same = right && before.size() == rows_.size();
  for (const auto& [file, entry] : before) {
    const auto now = rows_.find(file);
    same = same && now != rows_.end();
    // A row that is missing or left over is what a crash leaves; one that says something else is damage.
    right = right && (now == rows_.end() || same_row(now->second, entry));
  }
  if (right && (same || rewrite())) return;
  rebuilt_ = true;
  renew();
}

// All rows anew, in one transaction: a row that cannot be found by its name is gone with the others.
bool Index::rewrite() {
  bool done = sqlite3_exec(db_, "BEGIN; DELETE FROM segments", nullptr, nullptr, nullptr) == SQLITE_OK;
  for (const auto& [file, entry] : rows_) done = done && insert(entry);
  return done && sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
}

void Index::add(const SegmentEntry& entry) {
  rows_[entry.file] = entry;
  if (db_ && !insert(entry)) renew();
}

void Index::remove(const std::string& file) {
  rows_.erase(file);
  if (db_ && Statement(db_, "DELETE FROM segments WHERE file=?").bind(file).step() != SQLITE_DONE) renew();
}

}  // namespace walle::store
