#include "store/index.h"

#include <sqlite3.h>

#include <cstdio>

namespace walle::store {

namespace {
Error sql_error(sqlite3* db, std::string_view what) {
  return resource_error(
      "the event index cannot " + std::string(what) + ": " + (db ? sqlite3_errmsg(db) : "no memory"),
      "a working SQLite file", "event index",
      "check the disk; a removed index is made anew from the segments");
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) { sqlite3_prepare_v2(db, sql, -1, &s_, nullptr); }
  ~Statement() { sqlite3_finalize(s_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  // A failed bind shows in the step.
  Statement& bind(int64_t v) {
    sqlite3_bind_int64(s_, ++at_, v);
    return *this;
  }
  Statement& bind(double v) {
    sqlite3_bind_double(s_, ++at_, v);
    return *this;
  }
  Statement& bind(const std::string& v) {
    // TRANSIENT: SQLite copies, since `v` may end before the step.
    sqlite3_bind_text(s_, ++at_, v.data(), static_cast<int>(v.size()), SQLITE_TRANSIENT);
    return *this;
  }
  // A statement that did not compile (a table is missing) fails here, with SQLite's message.
  int step() { return s_ ? sqlite3_step(s_) : SQLITE_ERROR; }
  Status run(std::string_view what) {
    return step() == SQLITE_DONE ? Status() : Status(sql_error(db_, what));
  }
  int64_t integer(int column) { return sqlite3_column_int64(s_, column); }
  double real(int column) { return sqlite3_column_double(s_, column); }
  // Empty for NULL, which no table of ours holds but a file may.
  std::string text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(s_, column));
    return bytes ? bytes : "";
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* s_ = nullptr;
  int at_ = 0;
};

// WAL and NORMAL: a commit costs no sync. What a power loss takes is found again in the files.
constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS segments(file TEXT PRIMARY KEY, first INTEGER, last INTEGER,"
    " min_ts INTEGER, max_ts INTEGER, bytes INTEGER);"
    "CREATE TABLE IF NOT EXISTS cursors(reader TEXT PRIMARY KEY, seq INTEGER);"
    "CREATE TABLE IF NOT EXISTS amounts(key TEXT PRIMARY KEY, value REAL);";

bool usable(sqlite3* db) {
  if (sqlite3_exec(db, kSchema, nullptr, nullptr, nullptr) != SQLITE_OK) return false;
  // quick_check, not integrity_check: it leaves out comparing indexes with tables, which takes most of the
  // time.
  Statement check(db, "PRAGMA quick_check");
  return check.step() == SQLITE_ROW && check.text(0) == "ok";
}
}  // namespace

Result<std::unique_ptr<Index>> Index::open(const std::string& path) {
  // Twice at most: a file that is damaged again right after it was made tells of the disk.
  for (const bool again : {false, true}) {
    sqlite3* db = nullptr;
    if (sqlite3_open(path.c_str(), &db) == SQLITE_OK && usable(db))
      return std::unique_ptr<Index>(new Index(db, again));
    const int code = sqlite3_errcode(db);
    // Not an error of the disk or of another process: the bytes are wrong, or quick_check says so.
    const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_OK ||
                         code == SQLITE_ROW || code == SQLITE_DONE;
    Error e = sql_error(db, "open '" + path + "'");
    sqlite3_close(db);
    if (again || !damaged) return e;
    // All three, or the old log would be replayed into the new file.
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
  }
  return internal_error("unreachable", "event index");
}

Index::~Index() { sqlite3_close(db_); }

Status Index::add(const SegmentEntry& e) {
  return Statement(db_, "INSERT OR REPLACE INTO segments VALUES(?,?,?,?,?,?)")
      .bind(e.file)
      // SQLite's integers are signed; sequence numbers stay below 2^62.
      .bind(static_cast<int64_t>(e.first_seq))
      .bind(static_cast<int64_t>(e.last_seq))
      .bind(e.min_ts)
      .bind(e.max_ts)
      .bind(e.bytes)
      .run("add a segment");
}

Status Index::remove(const std::string& file) {
  return Statement(db_, "DELETE FROM segments WHERE file=?").bind(file).run("remove a segment");
}

Result<std::vector<SegmentEntry>> Index::segments() const {
  std::vector<SegmentEntry> out;
  Statement s(db_, "SELECT file,first,last,min_ts,max_ts,bytes FROM segments ORDER BY first");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    out.push_back({.file = s.text(0),
                   .first_seq = static_cast<uint64_t>(s.integer(1)),
                   .last_seq = static_cast<uint64_t>(s.integer(2)),
                   .min_ts = s.integer(3),
                   .max_ts = s.integer(4),
                   .bytes = s.integer(5)});
  if (code != SQLITE_DONE) return sql_error(db_, "list segments");
  return out;
}

Status Index::set_cursor(const std::string& reader, uint64_t seq) {
  return Statement(db_, "INSERT OR REPLACE INTO cursors VALUES(?,?)")
      .bind(reader)
      .bind(static_cast<int64_t>(seq))
      .run("store a cursor");
}

Result<uint64_t> Index::cursor(const std::string& reader) const {
  Statement s(db_, "SELECT seq FROM cursors WHERE reader=?");
  const int code = s.bind(reader).step();
  if (code == SQLITE_ROW) return static_cast<uint64_t>(s.integer(0));
  // No row is no error: a reader that never read starts at 0.
  if (code != SQLITE_DONE) return sql_error(db_, "read a cursor");
  return uint64_t{0};
}

Status Index::set_value(const std::string& key, double value) {
  return Statement(db_, "INSERT OR REPLACE INTO amounts VALUES(?,?)")
      .bind(key)
      .bind(value)
      .run("store a value");
}

Result<double> Index::value(const std::string& key) const {
  Statement s(db_, "SELECT value FROM amounts WHERE key=?");
  const int code = s.bind(key).step();
  if (code == SQLITE_ROW) return s.real(0);
  if (code != SQLITE_DONE) return sql_error(db_, "read a value");
  return 0.0;
}

}  // namespace walle::store
