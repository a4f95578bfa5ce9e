// Opening a folder of tables: what its manifest says there must be beside what is there. Losses are written
// down before any file is touched.
#include <algorithm>

#include "base/log.h"
#include "store/tables_private.h"

namespace walle::store {

namespace {
constexpr const char* kManifestFile = "/tables.wals";
constexpr const char* kManifestKind = "TABL";

SegmentEntry segment_of(const TableColumns& rows, int64_t bytes) {
  return {.first = rows.numbers.front(),
          .last = rows.numbers.back(),
          .rows = rows.rows(),
          .min_ts = *std::ranges::min_element(rows.ts),
          .max_ts = *std::ranges::max_element(rows.ts),
          .bytes = bytes};
}
}  // namespace

Result<std::unique_ptr<Tables>> Tables::open(Env& env, std::string dir, Access access) {
  const bool read_only = access == Access::read_only;
  if (!read_only) WALLE_TRY(env.make_dirs(dir));
  auto tables = std::unique_ptr<Tables>(new Tables(env, std::move(dir), read_only));
  WALLE_TRY(tables->load(access == Access::existing));
  for (const Loss& l : tables->losses_)
    base::log(base::LogLevel::warning, "result table '" + l.owner + "': " + loss_text(l, "rows"));
  return tables;
}

Status Tables::load(bool existing) {
  WALLE_ASSIGN(MirroredFile file, MirroredFile::open(env_, dir_ + kManifestFile, kManifestKind));
  const MirroredFile::Found found = file.found();
  manifest_file_ = std::move(file);
  report_.mended = found == MirroredFile::Found::mended;
  auto listed = env_.list_files(dir_);
  if (!listed.ok() && !read_only_) return listed.take_error();
  std::vector<std::string> files = listed.ok() ? *std::move(listed) : std::vector<std::string>();
  const std::vector<std::string> all = files;
  std::erase_if(files, [](const std::string& f) { return !parse_table_segment_name(f); });
  auto manifest = manifest_file_->readable() ? TableManifest::parse(manifest_file_->content()) : std::nullopt;
  if (manifest) {
    applied_ = manifest->applied;
    losses_ = std::move(manifest->losses);
    for (TableEntry& e : manifest->tables) {
      auto live = std::make_unique<Live>();
      live->next = e.numbers.newest + 1;
      live->entry = std::move(e);
      live_.emplace(live->entry.decl.name, std::move(live));
    }
    WALLE_TRY(find_segments(files));
  } else if (existing || found != MirroredFile::Found::nothing || !files.empty()) {
    WALLE_TRY(rebuild(files));
  }
  if (read_only_) return {};
  if (found == MirroredFile::Found::damaged) WALLE_TRY(manifest_file_->set_aside());
  WALLE_TRY(write_manifest(compose()));
  (void)manifest_file_->mend().ok();  // the other copy serves where the disk is full
  return clear_files(all);
}

// A file of another size than was written is not read to be known as damaged; one of the same size is, when
// somebody reads it or verify() does: decoding all of them would make a start as slow as a table is large.
Status Tables::find_segments(const std::vector<std::string>& files) {
  for (auto& [name, live] : live_) {
    const std::vector<SegmentEntry> listed = live->entry.segments;
    for (const SegmentEntry& s : listed) {
      const std::string file = table_segment_name(name, s.first, s.last);
      const bool there = std::ranges::binary_search(files, file);
      if (there && env_.file_size(dir_ + "/" + file) == s.bytes) continue;
      std::erase_if(live->entry.segments, [&](const SegmentEntry& o) { return o.first == s.first; });
      add_loss(losses_, {.kind = there ? LossKind::damaged_segment : LossKind::missing_segment,
                         .first = s.first,
                         .last = s.last,
                         .count = s.rows,
                         .noticed_us = env_.wall_us(),
                         .owner = name,
                         .cause = "the file " + file + (there ? " is cut or grown" : " is gone")});
      if (!there) continue;
      ++report_.damaged_segments;
      aside_.push_back(file);
    }
  }
  return {};
}

// Segments say what they hold. Those that a crash left beside the one they were merged into lie within it.
Status Tables::rebuild(const std::vector<std::string>& files) {
  report_.manifest_lost = true;
  std::vector<TableSegmentName> names;
  for (const std::string& f : files) names.push_back(*parse_table_segment_name(f));
  std::ranges::sort(names, [](const TableSegmentName& a, const TableSegmentName& b) {
    return a.table != b.table ? a.table < b.table : a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  for (const TableSegmentName& n : names) {
    const std::string file = table_segment_name(n.table, n.first, n.last);
    auto& live = live_[n.table];
    if (!live) live = std::make_unique<Live>();
    live->entry.decl.name = n.table;
    if (n.last < live->next) continue;
    live->next = n.last + 1;
    WALLE_ASSIGN(const std::string bytes, env_.read_file(dir_ + "/" + file));
    const auto rows = read_table_segment(bytes);
    const bool good = rows.ok() && rows->numbers.front() == n.first && rows->numbers.back() == n.last;
    if (!good) {
      ++report_.damaged_segments;
      aside_.push_back(file);
      add_loss(losses_, {.kind = LossKind::damaged_segment,
                         .first = n.first,
                         .last = n.last,
                         .count = n.last - n.first + 1,
                         .exact = false,
                         .noticed_us = env_.wall_us(),
                         .owner = n.table,
                         .cause = "the file " + file + " does not read"});
      continue;
    }
    // The newest segment has all the columns that a table has grown.
    live->entry.decl.columns.clear();
    for (const TableColumn& c : rows->columns) live->entry.decl.columns.push_back(c.decl);
    live->entry.segments.push_back(segment_of(*rows, env_.file_size(dir_ + "/" + file)));
  }
  // Of a table without one whole segment nothing is known but its name.
  std::erase_if(live_, [](const auto& table) { return table.second->entry.segments.empty(); });
  for (auto& [name, live] : live_) {
    live->entry.numbers = {.newest = live->next - 1, .reserved = live->next - 1};
    for (const SegmentEntry& s : live->entry.segments) live->entry.decl.max_bytes += s.bytes;
    add_loss(losses_, {.kind = LossKind::manifest,
                       .first = 1,
                       .last = live->next - 1,
                       .exact = false,
                       .noticed_us = env_.wall_us(),
                       .owner = name,
                       .cause = "both copies of tables.wals were damaged or removed: rows that were lost "
                                "before, limits and empty tables are not known any more"});
  }
  return {};
}

// Behind the manifest: what is gone is written down by now.
Status Tables::clear_files(const std::vector<std::string>& files) {
  for (const std::string& name : aside_) WALLE_TRY(store::set_aside(env_, dir_ + "/" + name));
  std::vector<std::string> listed;
  for (const auto& [name, live] : live_)
    for (const SegmentEntry& s : live->entry.segments)
      listed.push_back(table_segment_name(name, s.first, s.last));
  for (const std::string& f : files) {
    const bool draft = f.ends_with(".wtab.new");
    const bool ours = parse_table_segment_name(f) && std::ranges::count(aside_, f) == 0;
    // Rows of these are in a merged segment, in the owner's journal, or left by size or age.
    if (draft || (ours && std::ranges::count(listed, f) == 0)) WALLE_TRY(env_.remove_file(dir_ + "/" + f));
  }
  aside_.clear();
  return {};
}

}  // namespace walle::store
