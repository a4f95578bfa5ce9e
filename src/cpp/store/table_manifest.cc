#include "store/table_manifest.h"

#include <algorithm>

#include "store/journal_frame.h"

namespace walle::store {

namespace {
constexpr uint8_t kTableManifestVersion = 1;
// What one entry takes at least, for counts that are read from a file.
constexpr size_t kSegmentBytes = 6 * 8;
constexpr size_t kLossBytes = 1 + 4 * 8 + 1 + 2 * 4;
constexpr size_t kTableBytes = 6 * 8 + 2 * 4;
// A disk that eats a file at every open must not fill the rest of itself with news of that.
constexpr size_t kMaxLosses = 1024;

constexpr std::string_view kLossNames[] = {"journal", "damaged_segment", "missing_segment", "manifest"};

void put_segment(base::ByteWriter& out, const TableSegment& s) {
  for (const uint64_t number : {s.first, s.last, s.rows}) out.put(number);
  for (const int64_t number : {s.min_ts, s.max_ts, s.bytes}) out.put(number);
}

TableSegment get_segment(base::ByteReader& in) {
  TableSegment s;
  for (uint64_t* number : {&s.first, &s.last, &s.rows}) *number = in.get<uint64_t>();
  for (int64_t* number : {&s.min_ts, &s.max_ts, &s.bytes}) *number = in.get<int64_t>();
  const bool possible = s.first > 0 && s.first <= s.last && s.last < kMaxSeq && s.rows > 0 &&
                        s.rows <= s.last - s.first + 1 && s.bytes >= 0;
  if (!possible) in.fail();
  return s;
}

void put_loss(base::ByteWriter& out, const TableLoss& l) {
  out.put(l.kind);
  out.put(l.first);
  out.put(l.last);
  out.put(l.rows);
  out.put(l.noticed_us);
  out.put(static_cast<uint8_t>(l.exact));
  out.put_text(l.table);
  out.put_text(l.cause);
}

TableLoss get_loss(base::ByteReader& in) {
  TableLoss l;
  const auto kind = in.get<uint8_t>();
  if (kind >= std::size(kLossNames))
    in.fail();
  else
    l.kind = static_cast<TableLossKind>(kind);
  l.first = in.get<uint64_t>();
  l.last = in.get<uint64_t>();
  l.rows = in.get<uint64_t>();
  l.noticed_us = in.get<int64_t>();
  const auto exact = in.get<uint8_t>();
  if (exact > 1) in.fail();
  l.exact = exact == 1;
  l.table = in.text();
  l.cause = in.text();
  return l;
}

void put_entry(base::ByteWriter& out, const TableEntry& e) {
  put_table(out, e.decl);
  for (const uint64_t number : {e.since, e.next, e.reserved, e.floor, e.removed, e.removed_to})
    out.put(number);
  out.put_count(e.segments.size());
  for (const TableSegment& s : e.segments) put_segment(out, s);
}

TableEntry get_entry(base::ByteReader& in) {
  TableEntry e;
  if (!read_table(in, e.decl)) in.fail();
  for (uint64_t* number : {&e.since, &e.next, &e.reserved, &e.floor, &e.removed, &e.removed_to})
    *number = in.get<uint64_t>();
  if (e.next == 0 || e.next >= kMaxSeq || e.reserved >= kMaxSeq || e.floor >= kMaxSeq) in.fail();
  uint64_t previous = 0;
  for (uint32_t n = in.count(kSegmentBytes); n > 0; --n) {
    e.segments.push_back(get_segment(in));
    if (e.segments.back().first <= previous) in.fail();
    previous = e.segments.back().last;
  }
  return e;
}
}  // namespace

std::string_view table_loss_name(TableLossKind kind) { return kLossNames[static_cast<size_t>(kind)]; }

TableEntry* TableManifest::find(std::string_view name) {
  const auto found = std::ranges::find(tables, name, [](const TableEntry& e) { return e.decl.name; });
  return found == tables.end() ? nullptr : &*found;
}

void add_loss(std::vector<TableLoss>& losses, TableLoss loss) {
  // As after a crash between noticing and mending: one line for what overlaps.
  const auto known = std::ranges::find_if(losses, [&](const TableLoss& l) {
    return l.kind == loss.kind && l.table == loss.table && loss.first <= l.last && l.first <= loss.last;
  });
  if (known == losses.end() && losses.size() < kMaxLosses) {
    losses.push_back(std::move(loss));
    return;
  }
  TableLoss& l = known == losses.end() ? losses.back() : *known;
  l.rows = known == losses.end() ? l.rows + loss.rows : std::max(l.rows, loss.rows);
  l.first = std::min(l.first, loss.first);
  l.last = std::max(l.last, loss.last);
  l.exact = l.exact && loss.exact;
}

std::string TableManifest::serialize() const {
  base::ByteWriter out;
  out.put(kTableManifestVersion);
  out.put(applied);
  out.put_count(tables.size());
  for (const TableEntry& e : tables) put_entry(out, e);
  out.put_count(losses.size());
  for (const TableLoss& l : losses) put_loss(out, l);
  return out.take();
}

std::optional<TableManifest> TableManifest::parse(std::string_view bytes) {
  base::ByteReader in(bytes);
  TableManifest s;
  if (in.get<uint8_t>() != kTableManifestVersion) in.fail();
  s.applied = in.get<uint64_t>();
  if (s.applied >= kMaxSeq) in.fail();
  for (uint32_t n = in.count(kTableBytes); n > 0 && in.ok(); --n) {
    TableEntry entry = get_entry(in);
    if (s.find(entry.decl.name)) in.fail();
    s.tables.push_back(std::move(entry));
  }
  for (uint32_t n = in.count(kLossBytes); n > 0 && in.ok(); --n) s.losses.push_back(get_loss(in));
  if (!in.done() || s.tables.size() > kMaxTables) return std::nullopt;
  return s;
}

}  // namespace walle::store
