// Reading tables beside their writer: a list of what there is, taken under the lock, and then files and
// chunks without it.
#include <algorithm>

#include "base/log.h"
#include "store/tables_private.h"

namespace walle::store {

namespace {
// How often files may be merged or leave under a reader before it gives up: each time takes a checkpoint.
constexpr int kAttempts = 8;

Result<std::vector<ColumnDecl>> selected(const TableDecl& decl, const std::vector<std::string>& names) {
  if (names.empty()) return decl.columns;
  std::vector<ColumnDecl> out;
  for (const std::string& name : names) {
    WALLE_ASSIGN(const size_t at, column_at(decl, name));
    out.push_back(decl.columns[at]);
  }
  return out;
}

// Rows with numbers from `from` on, up to `limit` in all.
void take(TableColumns& out, const TableColumns& rows, uint64_t from, uint64_t limit) {
  const auto at = std::ranges::lower_bound(rows.numbers, from);
  const auto begin = static_cast<size_t>(at - rows.numbers.begin());
  const size_t room = limit - out.rows();
  append_rows(out, rows, begin, begin + std::min(rows.rows() - begin, room));
}
}  // namespace

std::optional<Tables::Snapshot> Tables::snapshot(const std::string& table) const {
  const std::lock_guard guard(lock_);
  const auto found = live_.find(table);
  if (found == live_.end()) return std::nullopt;
  const Live& live = *found->second;
  Snapshot out{.decl = live.entry.decl, .segments = live.entry.segments, .chunks = {}};
  out.chunks.assign(live.waiting.begin(), live.waiting.end());
  // The last one grows while it is read.
  if (!live.closed) out.chunks.back() = std::make_shared<Chunk>(*live.waiting.back());
  return out;
}

// False: the list has changed meanwhile, and this segment is not in it any more.
Result<bool> Tables::read_segment(const std::string& table, const SegmentEntry& segment, TableColumns& out) {
  const std::string file = path(table, segment);
  auto bytes = env_.read_file(file);
  if (bytes.ok()) {
    auto rows = read_table_segment(*bytes);
    const bool good =
        rows.ok() && rows->numbers.front() == segment.first && rows->numbers.back() == segment.last;
    if (good) out = *std::move(rows);
    if (good) return true;
  }
  const bool there = env_.file_size(file) >= 0;
  const auto now = snapshot(table);
  const auto same = [&](const SegmentEntry& s) { return s.first == segment.first && s.last == segment.last; };
  if (!now || std::ranges::none_of(now->segments, same)) return false;
  // The disk may be asked again; nothing is decided by an error of it.
  if (there && !bytes.ok()) return bytes.take_error();
  WALLE_TRY(lose_segment(table, segment, there ? LossKind::damaged_segment : LossKind::missing_segment));
  return false;
}

Status Tables::lose_segment(const std::string& table, const SegmentEntry& segment, LossKind kind) {
  const std::lock_guard writing(checkpointing_);
  const std::string file = table_segment_name(table, segment.first, segment.last);
  const bool damaged = kind == LossKind::damaged_segment;
  {
    const std::lock_guard guard(lock_);
    const auto found = live_.find(table);
    if (found == live_.end()) return {};
    const auto same = [&](const SegmentEntry& s) {
      return s.first == segment.first && s.last == segment.last;
    };
    if (std::erase_if(found->second->entry.segments, same) == 0) return {};
    add_loss(losses_, {.kind = kind,
                       .first = segment.first,
                       .last = segment.last,
                       .count = segment.rows,
                       .noticed_us = env_.wall_us(),
                       .owner = table,
                       .cause = "the file " + file + (damaged ? " does not read" : " is gone")});
    report_.damaged_segments += damaged;
  }
  base::log(base::LogLevel::warning, "result table '" + table + "': " + std::to_string(segment.rows) +
                                         " rows are lost: the file " + file +
                                         (damaged ? " does not read" : " is gone"));
  if (read_only_) return {};
  WALLE_TRY(write_manifest(manifest()));
  return damaged ? set_aside(env_, dir_ + "/" + file) : Status();
}

// False: to be done again with what there is now.
Result<bool> Tables::read_once(const std::string& table, const Snapshot& from_now, uint64_t from,
                               uint64_t limit, TableColumns& out) {
  for (const SegmentEntry& s : from_now.segments) {
    if (s.last < from) continue;
    if (out.rows() >= limit) return true;
    TableColumns rows;
    WALLE_ASSIGN(const bool there, read_segment(table, s, rows));
    if (!there) return false;
    take(out, rows, from, limit);
  }
  for (const auto& chunk : from_now.chunks) {
    if (chunk->first + chunk->rows <= from) continue;
    if (out.rows() >= limit) return true;
    TableSegmentBuilder builder(from_now.decl);
    // Rows that do not read are told of by the checkpoint that writes the others.
    (void)builder.add(chunk->first, chunk->columns, chunk->bytes);
    take(out, builder.columns(), from, limit);
  }
  return true;
}

Result<TableColumns> Tables::read(const std::string& table, uint64_t from, uint64_t limit,
                                  const std::vector<std::string>& columns) {
  for (int i = 0; i < kAttempts; ++i) {
    const auto now = snapshot(table);
    if (!now) break;
    WALLE_ASSIGN(const std::vector<ColumnDecl> wanted, selected(now->decl, columns));
    TableColumns out = empty_columns(wanted);
    WALLE_ASSIGN(const bool whole, read_once(table, *now, from, limit, out));
    if (whole) return out;
  }
  if (snapshot(table))
    return resource_error({"result table '", table, "' changed at each of ", kAttempts, " attempts"},
                          "a moment without a checkpoint", {"'", dir_, "'"}, "read it again");
  const std::lock_guard guard(lock_);
  return unknown(table);
}

Result<TableColumns> Tables::last(const std::string& table, uint64_t count) {
  const auto now = snapshot(table);
  if (!now) return read(table);
  // Back until what is passed has so many rows.
  uint64_t from = UINT64_MAX;
  uint64_t passed = 0;
  const auto pass = [&](uint64_t first, uint64_t last, uint64_t rows) {
    const bool gaps = rows != last - first + 1;
    const bool enough = passed + rows > count;
    from = enough && !gaps ? first + (passed + rows - count) : first;
    passed += rows;
  };
  for (auto c = now->chunks.rbegin(); c != now->chunks.rend() && passed < count; ++c)
    pass((*c)->first, (*c)->first + (*c)->rows - 1, (*c)->rows);
  for (auto s = now->segments.rbegin(); s != now->segments.rend() && passed < count; ++s)
    pass(s->first, s->last, s->rows);
  WALLE_ASSIGN(TableColumns rows, read(table, from));
  if (rows.rows() <= count) return rows;
  std::vector<ColumnDecl> columns;
  for (const TableColumn& c : rows.columns) columns.push_back(c.decl);
  TableColumns out = empty_columns(columns);
  append_rows(out, rows, rows.rows() - count, rows.rows());
  return out;
}

Status Tables::verify() {
  std::vector<std::string> names;
  for (const TableEntry& e : manifest().tables) names.push_back(e.decl.name);
  for (const std::string& name : names) {
    const auto now = snapshot(name);
    if (!now) continue;
    for (const SegmentEntry& s : now->segments) {
      TableColumns rows;
      WALLE_TRY(read_segment(name, s, rows));
    }
  }
  return {};
}

}  // namespace walle::store
