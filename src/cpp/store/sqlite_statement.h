// One prepared statement of SQLite, for the two files of this room that talk to it.
#pragma once

#include <sqlite3.h>

#include <string>

namespace walle::store {

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &s_, nullptr); }
  ~Statement() { sqlite3_finalize(s_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  // A failed bind shows in the step.
  Statement& bind(int64_t v) {
    sqlite3_bind_int64(s_, ++at_, v);
    return *this;
  }
  Statement& bind(const std::string& v) {
    // TRANSIENT: SQLite copies, since `v` may end before the step.
    sqlite3_bind_text(s_, ++at_, v.data(), static_cast<int>(v.size()), SQLITE_TRANSIENT);
    return *this;
  }
  // A statement that did not compile (a table is missing) fails here.
  int step() { return s_ ? sqlite3_step(s_) : SQLITE_ERROR; }
  int64_t integer(int column) { return sqlite3_column_int64(s_, column); }
  double real(int column) { return sqlite3_column_double(s_, column); }
  // Empty for NULL, which no table of ours holds but a file may.
  std::string text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(s_, column));
    return bytes ? bytes : "";
  }

 private:
  sqlite3_stmt* s_ = nullptr;
  int at_ = 0;
};

// Not quick_check, which leaves out comparing indexes with tables: a flipped bit in an index hides rows from
// some statements and not from others. A log has few rows.
inline bool whole(sqlite3* db) {
  Statement check(db, "PRAGMA integrity_check");
  return check.step() == SQLITE_ROW && check.text(0) == "ok";
}

}  // namespace walle::store
