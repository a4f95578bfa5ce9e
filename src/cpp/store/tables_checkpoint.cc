// What has gathered in memory as segments. File, then manifest, then what is not needed any more: whatever is
// cut off here is done by the next open.
#include <algorithm>

#include "base/log.h"
#include "base/trace.h"
#include "store/tables_private.h"

namespace walle::store {

namespace {
// Rows of one segment, packed, by the table's limit: a table of a few segments could only forget nearly all
// or nothing. Smaller files cost more in names and heads than they say.
constexpr int64_t kLeastPiece = 4 << 10;
constexpr int64_t kMostPiece = 8 << 20;
constexpr int64_t kPiecesPerTable = 8;
// Of a segment that others are merged into: it is written whole each time.
constexpr uint64_t kMostMergedRows = 65'536;

size_t piece_bytes(const TableDecl& decl) {
  return static_cast<size_t>(std::clamp(decl.max_bytes / kPiecesPerTable, kLeastPiece, kMostPiece));
}

// How many of the newest segments go into the next one. One that is larger than what is new stays: so a row
// is written again at most as often as the rows of a table double, and small batches leave few files.
size_t segments_to_merge(const std::vector<SegmentEntry>& segments, uint64_t rows, size_t most_bytes) {
  size_t count = 0;
  int64_t bytes = 0;
  for (auto s = segments.rbegin(); s != segments.rend() && s->rows <= rows; ++s, ++count) {
    rows += s->rows;
    bytes += s->bytes;
    if (rows > kMostMergedRows || bytes > static_cast<int64_t>(most_bytes)) break;
  }
  return count;
}

// Oldest segments above the table's limits, out of the list.
std::vector<SegmentEntry> expire(TableEntry& e, int64_t now) {
  std::vector<SegmentEntry> gone;
  int64_t total = 0;
  for (const SegmentEntry& s : e.segments) total += s.bytes;
  while (!e.segments.empty()) {
    const SegmentEntry s = e.segments.front();
    const bool over = total > e.decl.max_bytes && e.segments.size() > 1;
    // By the newest row of a segment: none goes before all of it is too old.
    const bool old = e.decl.max_age_us > 0 && s.max_ts < now - e.decl.max_age_us;
    if (!over && !old) break;
    total -= s.bytes;
    e.removed += s.rows;
    e.removed_to = s.last;
    e.segments.erase(e.segments.begin());
    gone.push_back(s);
  }
  return gone;
}
}  // namespace

struct Tables::Batch {
  std::string table;
  TableEntry entry;  // of the manifest to come
  std::vector<std::shared_ptr<const Chunk>> chunks;
  uint64_t rows = 0;
  std::vector<std::string> written, replaced;  // paths
  std::vector<Loss> losses;
};

std::vector<Tables::Batch> Tables::take_batches() {
  const std::lock_guard guard(lock_);
  std::vector<Batch> out;
  for (auto& [name, live] : live_) {
    Batch& b = out.emplace_back();
    b.table = name;
    b.entry = live->entry;
    b.entry.numbers.newest = live->next - 1;
    b.chunks.assign(live->waiting.begin(), live->waiting.end());
    b.rows = live->waiting_rows;
    live->closed = true;
  }
  return out;
}

Status Tables::write_segment(Batch& batch, const TableSegmentBuilder& rows) {
  const base::TraceSpan span("table.write", static_cast<int64_t>(rows.rows()));
  const TableColumns& columns = rows.columns();
  SegmentEntry s{.first = columns.numbers.front(),
                 .last = columns.numbers.back(),
                 .rows = columns.rows(),
                 .min_ts = *std::ranges::min_element(columns.ts),
                 .max_ts = *std::ranges::max_element(columns.ts)};
  const std::string file = path(batch.table, s);
  WALLE_TRY(env_.replace_file(file, rows.finish()));
  s.bytes = env_.file_size(file);
  batch.written.push_back(file);
  batch.entry.segments.push_back(s);
  return {};
}

Status Tables::write_batch(Batch& batch) {
  const size_t most = piece_bytes(batch.entry.decl);
  std::vector<SegmentEntry>& segments = batch.entry.segments;
  TableSegmentBuilder builder(batch.entry.decl);
  size_t bytes = 0;
  size_t merged = segments_to_merge(segments, batch.rows, most);
  for (; merged > 0; --merged) {
    const SegmentEntry s = segments[segments.size() - merged];
    auto file = env_.read_file(path(batch.table, s));
    auto rows = file.ok() ? read_table_segment(*file) : Result<TableColumns>(file.take_error());
    // One that does not read stays as it is, and those before it: whoever reads the table tells of it.
    if (!rows.ok()) {
      builder = TableSegmentBuilder(batch.entry.decl);
      continue;
    }
    builder.add(*rows);
  }
  // Those that are in the builder stand at the end.
  while (!segments.empty() && builder.rows() > 0 && segments.back().first >= builder.columns().numbers[0]) {
    batch.replaced.push_back(path(batch.table, segments.back()));
    segments.pop_back();
  }
  for (const auto& chunk : batch.chunks) {
    const size_t before = builder.rows();
    if (!builder.add(chunk->first, chunk->columns, chunk->bytes)) {
      const uint64_t read = builder.rows() - before;
      if (read >= chunk->rows) continue;
      add_loss(batch.losses, {.kind = LossKind::journal,
                              .first = chunk->first + read,
                              .last = chunk->first + chunk->rows - 1,
                              .count = chunk->rows - read,
                              .noticed_us = env_.wall_us(),
                              .owner = batch.table,
                              .cause = "a commit with rows that are none of this table"});
    }
    bytes += chunk->bytes.size();
    if (bytes < most || builder.rows() == 0) continue;
    WALLE_TRY(write_segment(batch, builder));
    builder = TableSegmentBuilder(batch.entry.decl);
    bytes = 0;
  }
  return builder.rows() > 0 ? write_segment(batch, builder) : Status();
}

// Durable when it returns; nothing is written where nothing has changed. With checkpointing_.
Status Tables::write_manifest(const TableManifest& manifest) {
  if (read_only_)
    return resource_error("a change of result tables", "tables opened for writing", {"'", dir_, "'"},
                          "open them without read_only");
  const std::string now = manifest.serialize();
  if (now == manifest_file_->content()) return {};
  Status written = manifest_file_->write(now);
  in_doubt_ = !written.ok();
  return written;
}

// What cannot be removed now is tried behind the next checkpoint, and by the next open.
void Tables::remove_files() {
  // One copy of a manifest whose write failed may be on the disk and list them.
  if (in_doubt_) return;
  std::erase_if(unlisted_, [&](const std::string& file) { return env_.remove_file(file).ok(); });
}

Status Tables::write_batches(std::vector<Batch>& batches, bool& changed) {
  const int64_t now = env_.wall_us();
  for (Batch& b : batches) {
    if (b.rows > 0) WALLE_TRY(write_batch(b));
    const std::vector<SegmentEntry> gone = expire(b.entry, now);
    for (const SegmentEntry& s : gone) b.replaced.push_back(path(b.table, s));
    if (!gone.empty())
      base::log(base::LogLevel::info, "result table '" + b.table + "': rows up to number " +
                                          std::to_string(gone.back().last) + " left by size or age");
    changed = changed || b.rows > 0 || !gone.empty();
  }
  return {};
}

Status Tables::checkpoint(uint64_t number, uint64_t reserve) {
  const std::lock_guard writing(checkpointing_);
  std::vector<Batch> batches = take_batches();
  bool changed = false;
  Status status = write_batches(batches, changed);
  if (status.ok() && !changed) return {};
  TableManifest next = manifest();
  next.applied = number;
  for (Batch& b : batches) {
    b.entry.numbers.reserve(reserve);
    for (Loss& l : b.losses) add_loss(next.losses, std::move(l));
    *next.find(b.table) = b.entry;
  }
  if (status.ok()) status = write_manifest(next);
  if (!status.ok()) {
    // The rows are still in memory and in the owner's journal.
    for (const Batch& b : batches) unlisted_.insert(unlisted_.end(), b.written.begin(), b.written.end());
    remove_files();
    return status;
  }
  publish(batches, std::move(next));
  remove_files();
  return {};
}

// What was written is what readers see from now on.
void Tables::publish(std::vector<Batch>& batches, TableManifest manifest) {
  const std::lock_guard guard(lock_);
  applied_ = manifest.applied;
  losses_ = std::move(manifest.losses);
  for (Batch& b : batches) {
    Live& live = *live_.find(b.table)->second;
    live.entry = std::move(b.entry);
    live.waiting.erase(live.waiting.begin(),
                       live.waiting.begin() + static_cast<std::ptrdiff_t>(b.chunks.size()));
    live.waiting_rows -= b.rows;
    const auto listed = [&](const std::string& file) { return std::ranges::count(b.written, file) > 0; };
    // A file of an attempt that failed may have the name of one that is listed now.
    std::erase_if(unlisted_, listed);
    for (const std::string& file : b.replaced)
      if (!listed(file)) unlisted_.push_back(file);
  }
}

}  // namespace walle::store
