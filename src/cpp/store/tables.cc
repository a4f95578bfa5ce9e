#include "store/tables.h"

#include <algorithm>

#include "base/nearest_name.h"
#include "store/tables_private.h"

namespace walle::store {

namespace {
// A reader copies the chunk that grows; a few thousand rows share one.
constexpr size_t kChunkBytes = 64 << 10;
}  // namespace

Tables::Tables(Env& env, std::string dir, bool read_only)
    : env_(env), dir_(std::move(dir)), read_only_(read_only) {}

Tables::~Tables() = default;

std::string Tables::path(const std::string& table, const SegmentEntry& segment) const {
  return dir_ + "/" + table_segment_name(table, segment.first, segment.last);
}

TableManifest Tables::manifest() const {
  const std::lock_guard guard(lock_);
  return compose();
}

// The manifest of this moment. With the lock.
TableManifest Tables::compose() const {
  TableManifest out;
  out.applied = applied_;
  out.losses = losses_;
  for (const auto& [name, live] : live_) out.tables.push_back(live->entry);
  return out;
}

Status Tables::declare(const TableDecl& decl, uint64_t since, uint64_t reserve) {
  WALLE_TRY(check_table(decl));
  const std::lock_guard writing(checkpointing_);
  const std::lock_guard guard(lock_);
  const auto known = live_.find(decl.name);
  if (known != live_.end()) {
    TableEntry& entry = known->second->entry;
    WALLE_TRY(check_growth(entry.decl, decl));
    TableDecl before = std::exchange(entry.decl, decl);
    Status stored = write_manifest(compose());
    if (!stored.ok()) entry.decl = std::move(before);
    return stored;
  }
  if (live_.size() >= kMaxTables)
    return resource_error({live_.size(), " result tables"}, {"at most ", kMaxTables}, {"'", dir_, "'"},
                          "drop those of tasks that are gone");
  auto live = std::make_unique<Live>();
  live->entry.decl = decl;
  live->entry.since = since;
  // Numbers that are lost under this name are not given out again.
  for (const Loss& l : losses_)
    if (l.owner == decl.name) live->entry.numbers.newest = std::max(live->entry.numbers.newest, l.last);
  live->entry.numbers.reserve(reserve);
  live->next = live->entry.numbers.next();
  const auto added = live_.emplace(decl.name, std::move(live)).first;
  Status stored = write_manifest(compose());
  if (!stored.ok()) live_.erase(added);
  return stored;
}

Status Tables::drop(const std::string& name) {
  const std::lock_guard writing(checkpointing_);
  const std::lock_guard guard(lock_);
  auto found = live_.find(name);
  if (found == live_.end()) return unknown(name).take_error();
  auto gone = live_.extract(found);
  Status stored = write_manifest(compose());
  if (!stored.ok()) {
    live_.insert(std::move(gone));
    return stored;
  }
  for (const SegmentEntry& s : gone.mapped()->entry.segments) unlisted_.push_back(path(name, s));
  remove_files();
  return {};
}

std::optional<TableDecl> Tables::find(const std::string& name) const {
  const std::lock_guard guard(lock_);
  const auto found = live_.find(name);
  if (found == live_.end()) return std::nullopt;
  return found->second->entry.decl;
}

Result<TableColumns> Tables::unknown(const std::string& table) const {
  std::vector<std::string> names;
  for (const auto& [name, live] : live_) names.push_back(name);
  return argument_error({"result table '", table, "'"}, "a table that was declared", {"'", dir_, "'"},
                        base::did_you_mean(table, names, "declare it first"))
      .of_kind(base::ErrorKind::no_such_key);
}

std::vector<TableInfo> Tables::tables() const {
  std::vector<std::string> names;
  {
    const std::lock_guard guard(lock_);
    for (const auto& [name, live] : live_) names.push_back(name);
  }
  std::vector<TableInfo> out;
  for (const std::string& name : names)
    if (auto one = info(name); one.ok()) out.push_back(*std::move(one));
  return out;
}

Result<TableInfo> Tables::info(const std::string& name) const {
  const std::lock_guard guard(lock_);
  const auto found = live_.find(name);
  if (found == live_.end()) return unknown(name).take_error();
  const Live& live = *found->second;
  TableInfo out;
  out.decl = live.entry.decl;
  out.waiting = out.rows = live.waiting_rows;
  out.segments = live.entry.segments.size();
  out.removed = live.entry.removed;
  for (const SegmentEntry& s : live.entry.segments) {
    out.rows += s.rows;
    out.bytes += s.bytes;
  }
  if (!live.waiting.empty()) out.first = live.waiting.front()->first;
  if (!live.entry.segments.empty()) out.first = live.entry.segments.front().first;
  out.last = live.next - 1;
  return out;
}

uint64_t Tables::next_row(std::string_view table) const {
  const auto at = place(table);
  return at ? at->row : 0;
}

std::optional<Tables::Place> Tables::place(std::string_view table) const {
  const std::lock_guard guard(lock_);
  const auto found = live_.find(table);
  if (found == live_.end()) return std::nullopt;
  return Place{.row = found->second->next, .columns = found->second->entry.decl.columns.size()};
}

void Tables::apply(uint64_t number, uint64_t first, const TableRowsView& rows) {
  const std::lock_guard guard(lock_);
  const auto found = live_.find(rows.table);
  if (rows.rows == 0) return;
  if (found == live_.end()) {
    // Of a table that was dropped, unless its declaration is gone with the manifest.
    if (report_.manifest_lost) lose_rows(rows, first, "its declaration was lost");
    return;
  }
  Live& live = *found->second;
  // A frame is in the segments whole or not at all: its first row tells.
  if (number <= live.entry.since || first < live.next) return;
  const bool grows = !live.closed && live.waiting.back()->columns == rows.columns && first == live.next &&
                     live.waiting.back()->bytes.size() < kChunkBytes;
  if (!grows) {
    live.waiting.push_back(std::make_shared<Chunk>());
    live.waiting.back()->first = first;
    live.waiting.back()->columns = rows.columns;
    live.closed = false;
  }
  Chunk& chunk = *live.waiting.back();
  chunk.bytes += rows.bytes;
  chunk.rows += rows.rows;
  live.next = first + rows.rows;
  live.waiting_rows += rows.rows;
}

void Tables::lose_rows(const TableRowsView& rows, uint64_t first, std::string cause) {
  add_loss(losses_, {.kind = LossKind::manifest,
                     .first = first,
                     .last = first + rows.rows - 1,
                     .count = rows.rows,
                     .noticed_us = env_.wall_us(),
                     .owner = std::string(rows.table),
                     .cause = std::move(cause)});
  unwritten_loss_ = true;
}

uint64_t Tables::applied() const {
  const std::lock_guard guard(lock_);
  return applied_;
}

uint64_t Tables::waiting_rows() const {
  const std::lock_guard guard(lock_);
  uint64_t most = 0;
  for (const auto& [name, live] : live_) most = std::max(most, live->waiting_rows);
  return most;
}

Status Tables::lose_newest(const std::string& cause, uint64_t reserve) {
  const std::lock_guard writing(checkpointing_);
  const std::lock_guard guard(lock_);
  for (auto& [name, live] : live_) {
    NumberSeries& numbers = live->entry.numbers;
    if (numbers.reserved < numbers.next()) continue;
    Loss loss{.kind = LossKind::journal,
              .first = numbers.next(),
              .last = numbers.reserved,
              .count = numbers.reserved + 1 - numbers.next(),
              .exact = false,
              .noticed_us = env_.wall_us(),
              .owner = name,
              .cause = cause};
    numbers.pass_over_reserved();
    numbers.reserve_behind(reserve);
    add_loss(losses_, std::move(loss));
  }
  return read_only_ ? Status() : write_manifest(compose());
}

Status Tables::settle() {
  const std::lock_guard writing(checkpointing_);
  const std::lock_guard guard(lock_);
  bool changed = std::exchange(unwritten_loss_, false);
  for (auto& [name, live] : live_) {
    // Rows that the replay found are not lost.
    for (Loss& l : losses_) {
      const bool narrower = l.owner == name && l.kind == LossKind::journal && !l.exact &&
                            l.first < live->next && l.last >= live->next;
      if (!narrower) continue;
      l.first = live->next;
      l.count = l.last - l.first + 1;
      changed = true;
    }
    if (live->next >= live->entry.numbers.next()) continue;
    live->next = live->entry.numbers.next();
    live->closed = true;  // a chunk's rows have numbers without gaps
  }
  return changed && !read_only_ ? write_manifest(compose()) : Status();
}

std::vector<Loss> Tables::losses() const {
  const std::lock_guard guard(lock_);
  return losses_;
}

Status Tables::acknowledge(const std::vector<Loss>& seen) {
  const std::lock_guard writing(checkpointing_);
  const std::lock_guard guard(lock_);
  std::vector<Loss> before = losses_;
  for (const Loss& loss : seen) std::erase(losses_, loss);
  if (losses_.size() == before.size()) return {};
  Status stored = write_manifest(compose());
  if (!stored.ok()) losses_ = std::move(before);
  return stored;
}

}  // namespace walle::store
