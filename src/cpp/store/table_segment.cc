#include "store/table_segment.h"

#include <algorithm>

#include "base/utf8.h"
#include "store/journal_frame.h"
#include "store/segment.h"
#include "store/segment_manifest.h"
#include "store/table_row.h"

namespace walle::store {

namespace {
using tensor::Column;

constexpr std::string_view kNumber = "#";  // columns that every row has
constexpr std::string_view kTime = "@";
constexpr char kOwn = ':';  // in front of the name of a declared column
// Numbers of fixed width, so that a listing of the folder is in order.
constexpr std::string_view kEnding = ".wtab";

Error damaged(Text what) {
  return model_error({"a damaged segment of a result table: ", what}, "what the table's writer wrote",
                     "segment", "remove the file: the rows in it are lost, the others are not");
}

const Column* find(const Segment& s, std::string_view name) {
  const auto at = std::ranges::find(s.columns, name, &SegmentColumn::name);
  return at == s.columns.end() ? nullptr : &at->cells;
}

// Strictly ascending and within what the segment says: nobody looks a row up by a number twice.
bool read_numbers(const Segment& s, TableColumns& out) {
  const auto complete = [&](const Column* c) {
    return c && c->type() == ColumnType::integer && c->whole() && c->size() == s.rows;
  };
  const Column* numbers = find(s, kNumber);
  const Column* times = find(s, kTime);
  if (!complete(numbers) || !complete(times) || s.rows == 0) return false;
  uint64_t previous = 0;
  for (const int64_t n : numbers->integers()) {
    const auto number = static_cast<uint64_t>(n);
    if (number <= previous || number >= kMaxSeq) return false;
    out.numbers.push_back(previous = number);
  }
  out.ts = times->integers();
  return out.numbers.front() == s.first_seq;
}

bool is_column(const SegmentColumn& c, uint64_t rows) {
  if (c.name.size() < 2 || c.name[0] != kOwn || !base::valid_utf8(c.name) || c.cells.size() != rows)
    return false;
  if (c.cells.type() != ColumnType::text) return true;
  for (size_t row = 0; row < rows; ++row)
    if (!base::valid_utf8(c.cells.runs()[row])) return false;
  return true;
}
}  // namespace

TableColumns empty_columns(std::span<const ColumnDecl> columns) {
  TableColumns out;
  for (const ColumnDecl& c : columns) out.columns.push_back({.decl = c, .cells = Column(c.type)});
  return out;
}

TableSegmentBuilder::TableSegmentBuilder(const TableDecl& decl) : rows_(empty_columns(decl.columns)) {}

bool TableSegmentBuilder::add(uint64_t first, uint16_t columns, std::string_view bytes) {
  if (columns > rows_.columns.size()) return false;
  std::vector<ColumnDecl> decls;
  for (size_t i = 0; i < columns; ++i) decls.push_back(rows_.columns[i].decl);
  RowReader reader(decls, bytes);
  while (reader.next()) {
    rows_.numbers.push_back(first++);
    rows_.ts.push_back(reader.ts());
    for (size_t i = 0; i < rows_.columns.size(); ++i)
      if (!rows_.columns[i].cells.push_back(i < columns ? reader.cells()[i] : Cell())) return false;
  }
  return reader.ok();
}

void TableSegmentBuilder::add(const TableColumns& rows) { append_rows(rows_, rows, 0, rows.rows()); }

void append_rows(TableColumns& to, const TableColumns& from, size_t begin, size_t end) {
  const auto copy = [&](auto& out, const auto& in) {
    out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(begin),
               in.begin() + static_cast<std::ptrdiff_t>(end));
  };
  copy(to.numbers, from.numbers);
  copy(to.ts, from.ts);
  for (TableColumn& c : to.columns) {
    const auto same = std::ranges::find(from.columns, c.decl, &TableColumn::decl);
    if (same != from.columns.end() && c.cells.append(same->cells, begin, end)) continue;
    for (size_t row = begin; row < end; ++row) c.cells.push_absent();
  }
}

std::string TableSegmentBuilder::finish() const {
  Segment s;
  s.first_seq = rows_.numbers.front();
  s.rows = rows_.rows();
  s.min_ts = *std::ranges::min_element(rows_.ts);
  s.max_ts = *std::ranges::max_element(rows_.ts);
  s.columns.push_back({.name = std::string(kNumber),
                       .cells = Column(Column::Integers(rows_.numbers.begin(), rows_.numbers.end()))});
  s.columns.push_back({.name = std::string(kTime), .cells = Column(rows_.ts)});
  for (const TableColumn& c : rows_.columns)
    s.columns.push_back({.name = kOwn + c.decl.name, .cells = c.cells});
  return encode_segment(s);
}

Result<TableColumns> read_table_segment(std::string_view bytes) {
  WALLE_ASSIGN(Segment s, decode_segment(bytes));
  TableColumns out;
  if (!read_numbers(s, out)) return damaged("numbers of its rows");
  for (SegmentColumn& c : s.columns) {
    if (c.name == kNumber || c.name == kTime) continue;
    if (!is_column(c, s.rows)) return damaged({"column '", c.name, "'"});
    const ColumnType type = c.cells.type();
    out.columns.push_back({.decl = {.name = c.name.substr(1), .type = type}, .cells = std::move(c.cells)});
  }
  if (out.columns.empty() || out.columns.size() > kMaxTableColumns) return damaged("its columns");
  return out;
}

std::string table_segment_name(std::string_view table, uint64_t first, uint64_t last) {
  return std::string(table) + "." + segment_name(first, last, kEnding);
}

std::optional<TableSegmentName> parse_table_segment_name(std::string_view name) {
  constexpr size_t kTail = kSegmentNameBytes + kEnding.size();
  if (name.size() <= kTail + 1 || name[name.size() - kTail - 1] != '.') return std::nullopt;
  const auto numbers = parse_segment_name(name.substr(name.size() - kTail), kEnding);
  if (!numbers) return std::nullopt;
  return TableSegmentName{.table = std::string(name.substr(0, name.size() - kTail - 1)),
                          .first = numbers->first,
                          .last = numbers->last};
}

}  // namespace walle::store
