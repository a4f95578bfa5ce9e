// Append-only result tables in one folder: batches of rows as checked columnar segments, and what came since
// the last batch in memory.
//
// Tables own no journal. Whoever does (container/device/commits.h) writes rows into it first, which makes
// them durable against kill -9, and then calls apply() with the number of that frame; checkpoint() writes
// what has gathered into segments and remembers the number, up to which apply() does nothing from then on. So
// a journal that is replayed from any earlier frame gives each row once, and a reader sees a row as soon as
// it is applied. Rows keep their numbers for ever; numbers are given out once.
//
// What is found damaged or missing is written down as lost before anything is mended, and stays until
// somebody acknowledges it. Thread-safe; reading takes no lock while it decodes. One writer per folder: the
// owner's journal holds the lock.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/env.h"
#include "store/table_columns.h"
#include "store/table_stock.h"
#include "store/twin_file.h"

namespace walle::store {

struct TableInfo {
  TableDecl decl;
  uint64_t rows = 0;     // that can be read
  uint64_t waiting = 0;  // of them not yet in a segment
  uint64_t first = 0;    // number of the oldest row; 0: none
  uint64_t last = 0;     // number of the newest row ever; 0: none
  int64_t bytes = 0;     // of segments
  size_t segments = 0;
  uint64_t removed = 0;  // rows that left by size or age since the table was declared
};

struct TablesReport {
  uint64_t damaged_segments = 0;  // set aside as .damaged
  bool stock_lost = false;        // rebuilt from the segments
  bool mended = false;            // one of two copies of the stock was damaged or missing
};

class Tables {
 public:
  // With `read_only` nothing is written, not even what is found lost.
  static Result<std::unique_ptr<Tables>> open(Env& env, std::string dir, bool read_only = false);
  ~Tables();

  // Durable when it returns. A table that is there may grow columns and change its limits. `since`: the
  // number of the owner's newest frame, none of which has rows of a table that is new.
  Status declare(const TableDecl& decl, uint64_t since);
  // The table and its rows are gone for good when it returns.
  Status drop(const std::string& name);
  // A copy: declarations grow.
  std::optional<TableDecl> find(const std::string& name) const;
  std::vector<TableInfo> tables() const;
  Result<TableInfo> info(const std::string& name) const;

  // Number that the first of rows to come gets; kept in the frame, so that a replay needs nothing else. 0: no
  // such table.
  uint64_t next_row(const std::string& table) const;
  // What frame `number` says: rows of a table from row number `first` on. Nothing where `number` is in the
  // segments, the table is gone or was declared behind it. Borrows nothing.
  void apply(uint64_t number, uint64_t first, const TableRows& rows);
  // All that was applied, durably, and `number` with it. `reserve`: how many rows may come before the next
  // one, at most: their numbers are set aside. After an error nothing is lost: it is tried again.
  Status checkpoint(uint64_t number, uint64_t reserve);
  // Frames up to here are never needed again.
  uint64_t applied() const;
  // The newest frames are gone: for each table the numbers that they may have given out are lost.
  Status lose_newest(uint64_t commits, int64_t now_us);
  uint64_t waiting_rows() const;  // of the table with most of them
  uint64_t waiting_bytes() const;

  // At most `limit` rows with numbers >= from; columns as declared, or those named.
  Result<TableColumns> read(const std::string& table, uint64_t from = 0, uint64_t limit = UINT64_MAX,
                            const std::vector<std::string>& columns = {}) const;
  // The newest `count` rows, oldest first.
  Result<TableColumns> last(const std::string& table, uint64_t count) const;

  std::vector<TableLoss> losses() const;
  // Forgets `seen`, as losses() gave them.
  Status acknowledge(const std::vector<TableLoss>& seen);
  const TablesReport& report() const { return report_; }

 private:
  struct Live;  // a table's entry in the stock and its rows in memory
  Tables(Env& env, std::string dir, bool read_only);

  Env& env_;
  std::string dir_;
  bool read_only_;
  mutable std::mutex lock_;
  std::mutex checkpointing_;  // taken first
  std::optional<TwinFile> stock_file_;
  TableStock stock_;  // as it is on the disk, but for `tables`, which live_ holds
  std::map<std::string, std::unique_ptr<Live>, std::less<>> live_;
  TablesReport report_;
};

}  // namespace walle::store
