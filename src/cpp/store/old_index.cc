#include "store/old_index.h"

#include "store/sqlite_statement.h"

namespace walle::store {

namespace {
bool read(sqlite3* db, OldIndex& out) {
  if (!whole(db)) return false;
  int code;
  Statement cursors(db, "SELECT reader,seq FROM cursors");
  while ((code = cursors.step()) == SQLITE_ROW)
    // SQLite's integers are signed; sequence numbers stay below 2^62.
    out.cursors[cursors.text(0)] = static_cast<uint64_t>(cursors.integer(1));
  if (code != SQLITE_DONE) return false;
  Statement amounts(db, "SELECT key,value FROM amounts");
  while ((code = amounts.step()) == SQLITE_ROW) out.amounts[amounts.text(0)] = amounts.real(1);
  return code == SQLITE_DONE;
}
}  // namespace

std::optional<OldIndex> read_old_index(const std::string& path) {
  sqlite3* db = nullptr;
  OldIndex out;
  // Writable, so that what a killed process left in the write-ahead log is read; never created.
  const bool known =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK && read(db, out);
  sqlite3_close(db);
  if (!known) return std::nullopt;
  return out;
}

}  // namespace walle::store
