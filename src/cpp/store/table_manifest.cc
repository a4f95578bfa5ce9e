#include "store/table_manifest.h"

#include <algorithm>

#include "store/journal_frame.h"

namespace walle::store {

namespace {
constexpr uint8_t kTableManifestVersion = 3;  // 2 had numbers of its own, 1 kinds of losses
// What one entry takes at least, for counts that are read from a file.
constexpr size_t kTableBytes = 6 * 8 + 2 * 4;

void put_entry(base::ByteWriter& out, const TableEntry& e) {
  put_table(out, e.decl);
  out.put(e.since);
  e.numbers.put(out);
  for (const uint64_t number : {e.removed, e.removed_to}) out.put(number);
  put_segments(out, e.segments);
}

TableEntry get_entry(base::ByteReader& in) {
  TableEntry e;
  in.check(read_table(in, e.decl));
  e.since = in.get<uint64_t>();
  e.numbers = NumberSeries::get(in);
  for (uint64_t* number : {&e.removed, &e.removed_to}) *number = in.get<uint64_t>();
  e.segments = get_segments(in);
  // None is written without rows.
  for (const SegmentEntry& s : e.segments) in.check(s.rows > 0);
  return e;
}
}  // namespace

TableEntry* TableManifest::find(std::string_view name) {
  const auto found = std::ranges::find(tables, name, [](const TableEntry& e) { return e.decl.name; });
  return found == tables.end() ? nullptr : &*found;
}

std::string TableManifest::serialize() const {
  base::ByteWriter out;
  out.put(kTableManifestVersion);
  out.put(applied);
  out.put_count(tables.size());
  for (const TableEntry& e : tables) put_entry(out, e);
  put_losses(out, losses);
  return out.take();
}

std::optional<TableManifest> TableManifest::parse(std::string_view bytes) {
  base::ByteReader in(bytes);
  TableManifest s;
  in.checked(kTableManifestVersion, kTableManifestVersion);
  s.applied = in.checked<uint64_t>(0, kMaxSeq - 1);
  for (uint32_t n = in.count(kTableBytes); n > 0 && in.ok(); --n) {
    TableEntry entry = get_entry(in);
    in.check(s.find(entry.decl.name) == nullptr);
    s.tables.push_back(std::move(entry));
  }
  s.losses = get_losses(in);
  if (!in.done() || s.tables.size() > kMaxTables) return std::nullopt;
  return s;
}

}  // namespace walle::store
