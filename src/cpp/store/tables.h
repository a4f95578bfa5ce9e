// Tables: append-only result tables in one folder: batches of rows as checked columnar segments, and what
// came since the last batch in memory.
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
#include "store/mirrored_file.h"
#include "store/table_manifest.h"
#include "store/table_row.h"
#include "store/table_segment.h"

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
  bool manifest_lost = false;     // rebuilt from the segments
  bool mended = false;            // one of two copies of the manifest was damaged or missing
};

class Tables {
 public:
  enum class Access : uint8_t {
    create,    // a folder without anything is a new one
    existing,  // tables have been declared: a manifest that is not there was removed
    read_only  // nothing is written, not even what is found lost
  };
  static Result<std::unique_ptr<Tables>> open(Env& env, std::string dir, Access access = Access::create);
  ~Tables();

  // Durable when it returns. A table that is there may grow columns and change its limits. `since`: the
  // number of the owner's newest frame, none of which has rows of a table that is new. `reserve`: as of
  // checkpoint().
  Status declare(const TableDecl& decl, uint64_t since, uint64_t reserve = 0);
  // The table and its rows are gone for good when it returns.
  Status drop(const std::string& name);
  // A copy: declarations grow.
  std::optional<TableDecl> find(const std::string& name) const;
  std::vector<TableInfo> tables() const;
  Result<TableInfo> info(const std::string& name) const;

  // Number that the first of rows to come gets; kept in the frame, so that a replay needs nothing else. 0: no
  // such table.
  uint64_t next_row(std::string_view table) const;
  // And how many columns its rows have; nothing of no such table.
  struct Place {
    uint64_t row = 0;
    size_t columns = 0;
  };
  std::optional<Place> place(std::string_view table) const;
  // What frame `number` says: rows of a table from row number `first` on. Nothing where the rows are there
  // already, the table is gone or was declared behind the frame. Borrows nothing.
  void apply(uint64_t number, uint64_t first, const TableRowsView& rows);
  // All that was applied, durably, and `number` with it: every frame up to it was. `reserve`: how many rows
  // may come before the next one, at most; their numbers are set aside. After an error nothing is lost: it is
  // tried again with the next one.
  Status checkpoint(uint64_t number, uint64_t reserve);
  // Frames up to here are never needed again.
  uint64_t applied() const;
  // The owner's newest frames are gone, and with them whatever rows of any table; `cause` says why. Before
  // the replay of those that are left. `reserve`: as of checkpoint().
  Status lose_newest(const std::string& cause, uint64_t reserve = 0);
  // Behind the replay: what is lost is known to begin where the rows end.
  Status settle();
  uint64_t waiting_rows() const;  // of the table with most of them

  // At most `limit` rows with numbers >= from; columns as declared, or those named.
  // A segment that turns out to be damaged is passed over; losses() tells.
  Result<TableColumns> read(const std::string& table, uint64_t from = 0, uint64_t limit = UINT64_MAX,
                            const std::vector<std::string>& columns = {});
  // The newest `count` rows, oldest first.
  Result<TableColumns> last(const std::string& table, uint64_t count);
  // Reads every segment, so that damage is told of before somebody looks.
  Status verify();

  std::vector<Loss> losses() const;
  // Forgets `seen`, as losses() gave them.
  Status acknowledge(const std::vector<Loss>& seen);
  const TablesReport& report() const { return report_; }

 private:
  struct Chunk;     // rows as they came, in memory
  struct Live;      // a table
  struct Snapshot;  // what a reader looks at
  struct Batch;     // what a checkpoint writes of one table

  Tables(Env& env, std::string dir, bool read_only);
  // tables_open.cc
  Status load(bool existing);
  Status find_segments(const std::vector<std::string>& files);
  Status rebuild(const std::vector<std::string>& files);
  Status clear_files(const std::vector<std::string>& files);
  // tables_checkpoint.cc
  std::vector<Batch> take_batches();
  Status write_batch(Batch& batch);
  Status write_segment(Batch& batch, const TableSegmentBuilder& rows);
  Status write_batches(std::vector<Batch>& batches, bool& changed);
  void publish(std::vector<Batch>& batches, TableManifest manifest);
  Status write_manifest(const TableManifest& manifest);
  void remove_files();
  // tables_read.cc
  std::optional<Snapshot> snapshot(const std::string& table) const;
  Result<bool> read_segment(const std::string& table, const SegmentEntry& segment, TableColumns& out);
  Result<bool> read_once(const std::string& table, const Snapshot& now, uint64_t from, uint64_t limit,
                         TableColumns& out);
  Status lose_segment(const std::string& table, const SegmentEntry& segment, LossKind kind);

  void lose_rows(const TableRowsView& rows, uint64_t first, std::string cause);
  Result<TableColumns> unknown(const std::string& table) const;
  TableManifest manifest() const;
  TableManifest compose() const;
  std::string path(const std::string& table, const SegmentEntry& segment) const;

  Env& env_;
  std::string dir_;
  bool read_only_;
  mutable std::mutex lock_;
  std::mutex checkpointing_;  // taken first
  std::optional<MirroredFile> manifest_file_;
  uint64_t applied_ = 0;      // of the manifest
  std::vector<Loss> losses_;  // of the manifest
  std::map<std::string, std::unique_ptr<Live>, std::less<>> live_;
  // Files that nobody lists any more, or that only a manifest lists whose write failed half way: removed
  // behind the next one that succeeds. With checkpointing_.
  std::vector<std::string> unlisted_;
  bool unwritten_loss_ = false;
  bool in_doubt_ = false;           // the write of the newest manifest failed: either may be on the disk
  std::vector<std::string> aside_;  // of load(): files that do not read
  TablesReport report_;
};

}  // namespace walle::store
