#include "store/table_segment.h"

#include <algorithm>

#include "base/utf8.h"
#include "store/journal_frame.h"
#include "store/segment.h"
#include "store/segment_manifest.h"

namespace walle::store {

namespace {
constexpr std::string_view kTypeLetters = "ifbty";  // by CellType, in front of a column's name
constexpr std::string_view kNumber = "#";           // columns that every row has
constexpr std::string_view kTime = "@";
constexpr char kPresent = '?';  // 0 or 1 per row, where some have no value
// Numbers of fixed width, so that a listing of the folder is in order.
constexpr std::string_view kEnding = ".wtab";

ColumnType stored_type(CellType type) {
  if (type == CellType::f64) return ColumnType::floats;
  return type == CellType::text || type == CellType::bytes ? ColumnType::texts : ColumnType::ints;
}

void add_value(ReadColumn& to, const Cell& c) {
  to.present.push_back(c.kind != Cell::Kind::absent);
  switch (stored_type(to.decl.type)) {
    case ColumnType::ints: to.ints.push_back(c.integer); break;
    case ColumnType::floats: to.floats.push_back(c.real); break;
    case ColumnType::texts: to.texts.emplace_back(c.text); break;
  }
}

// Values of rows that have one.
template <class T>
std::vector<T> of_present(const std::vector<T>& values, const std::vector<uint8_t>& present) {
  std::vector<T> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (present[i]) out.push_back(values[i]);
  return out;
}

// And back: false where their number is not that of the rows that have one.
template <class T>
bool spread(std::vector<T>&& values, const std::vector<uint8_t>& present, std::vector<T>& out) {
  if (values.size() == present.size()) {  // nearly always
    out = std::move(values);
    return std::ranges::all_of(present, [](uint8_t p) { return p == 1; });
  }
  out.resize(present.size());
  size_t used = 0;
  for (size_t i = 0; i < present.size(); ++i) {
    if (!present[i]) continue;
    if (used == values.size()) return false;
    out[i] = std::move(values[used++]);
  }
  return used == values.size();
}

Error damaged(Text what) {
  return model_error({"a damaged segment of a result table: ", what}, "what the table's writer wrote",
                     "segment", "remove the file: the rows in it are lost, the others are not");
}

std::optional<ColumnDecl> column_of(const SegmentColumn& c) {
  if (c.name.size() < 2) return std::nullopt;
  const size_t type = kTypeLetters.find(c.name[0]);
  if (type == std::string_view::npos) return std::nullopt;
  ColumnDecl decl{.name = c.name.substr(1), .type = static_cast<CellType>(type)};
  if (stored_type(decl.type) != c.type || !base::valid_utf8(decl.name)) return std::nullopt;
  return decl;
}

// Strictly ascending and within what the segment says: nobody looks a row up by a number twice.
bool read_numbers(const Segment& s, TableColumns& out) {
  const SegmentColumn* numbers = s.find(kNumber);
  const SegmentColumn* times = s.find(kTime);
  if (!numbers || !times || numbers->ints.size() != s.rows || times->ints.size() != s.rows || s.rows == 0)
    return false;
  uint64_t previous = 0;
  for (const int64_t n : numbers->ints) {
    const auto number = static_cast<uint64_t>(n);
    if (number <= previous || number >= kMaxSeq) return false;
    out.numbers.push_back(previous = number);
  }
  out.ts = times->ints;
  return out.numbers.front() == s.first_seq;
}

bool read_present(const SegmentColumn* marks, uint64_t rows, std::vector<uint8_t>& out) {
  out.assign(rows, 1);
  if (!marks) return true;
  if (marks->ints.size() != rows) return false;
  for (size_t i = 0; i < rows; ++i) {
    if (marks->ints[i] != 0 && marks->ints[i] != 1) return false;
    out[i] = static_cast<uint8_t>(marks->ints[i]);
  }
  return true;
}

bool read_values(SegmentColumn& c, ReadColumn& out) {
  const auto flag = [](int64_t v) { return v == 0 || v == 1; };
  const auto utf8 = [](const std::string& text) { return base::valid_utf8(text); };
  if (c.type == ColumnType::floats) return spread(std::move(c.floats), out.present, out.floats);
  if (c.type == ColumnType::ints) {
    if (out.decl.type == CellType::boolean && !std::ranges::all_of(c.ints, flag)) return false;
    return spread(std::move(c.ints), out.present, out.ints);
  }
  if (out.decl.type == CellType::text && !std::ranges::all_of(c.texts, utf8)) return false;
  return spread(std::move(c.texts), out.present, out.texts);
}
}  // namespace

TableColumns empty_columns(std::span<const ColumnDecl> columns) {
  TableColumns out;
  for (const ColumnDecl& c : columns) {
    out.columns.emplace_back();
    out.columns.back().decl = c;
  }
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
      add_value(rows_.columns[i], i < columns ? reader.cells()[i] : Cell());
  }
  return reader.ok();
}

void TableSegmentBuilder::add(const TableColumns& rows) { append_rows(rows_, rows, 0, rows.rows()); }

void append_rows(TableColumns& to, const TableColumns& from, size_t begin, size_t end) {
  const auto copy = [&](auto& out, const auto& in) {
    out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(begin),
               in.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const size_t rows = to.rows() + (end - begin);
  copy(to.numbers, from.numbers);
  copy(to.ts, from.ts);
  for (ReadColumn& c : to.columns) {
    const auto same = std::ranges::find(from.columns, c.decl, &ReadColumn::decl);
    if (same != from.columns.end()) copy(c.present, same->present);
    c.present.resize(rows);
    const ColumnType type = stored_type(c.decl.type);
    if (same != from.columns.end() && type == ColumnType::ints) copy(c.ints, same->ints);
    if (same != from.columns.end() && type == ColumnType::floats) copy(c.floats, same->floats);
    if (same != from.columns.end() && type == ColumnType::texts) copy(c.texts, same->texts);
    if (type == ColumnType::ints) c.ints.resize(rows);
    if (type == ColumnType::floats) c.floats.resize(rows);
    if (type == ColumnType::texts) c.texts.resize(rows);
  }
}

std::string TableSegmentBuilder::finish() const {
  Segment s;
  s.first_seq = rows_.numbers.front();
  s.rows = rows_.rows();
  s.min_ts = *std::ranges::min_element(rows_.ts);
  s.max_ts = *std::ranges::max_element(rows_.ts);
  SegmentColumn numbers{.name = std::string(kNumber), .ints = {}, .floats = {}, .texts = {}};
  numbers.ints.assign(rows_.numbers.begin(), rows_.numbers.end());
  s.columns.push_back(std::move(numbers));
  s.columns.push_back({.name = std::string(kTime), .ints = rows_.ts, .floats = {}, .texts = {}});
  for (const ReadColumn& c : rows_.columns) {
    const std::string letter(1, kTypeLetters[static_cast<size_t>(c.decl.type)]);
    if (std::ranges::count(c.present, 0) > 0) {
      SegmentColumn marks{.name = kPresent + c.decl.name, .ints = {}, .floats = {}, .texts = {}};
      marks.ints.assign(c.present.begin(), c.present.end());
      s.columns.push_back(std::move(marks));
    }
    s.columns.push_back({.name = letter + c.decl.name,
                         .type = stored_type(c.decl.type),
                         .ints = of_present(c.ints, c.present),
                         .floats = of_present(c.floats, c.present),
                         .texts = of_present(c.texts, c.present)});
  }
  return encode_segment(s);
}

Result<TableColumns> read_table_segment(std::string_view bytes) {
  WALLE_ASSIGN(Segment s, decode_segment(bytes));
  TableColumns out;
  if (!read_numbers(s, out)) return damaged("numbers of its rows");
  const SegmentColumn* marks = nullptr;
  for (SegmentColumn& c : s.columns) {
    if (c.name == kNumber || c.name == kTime) continue;
    if (c.name[0] == kPresent) {
      marks = &c;
      continue;
    }
    const auto decl = column_of(c);
    // Marks stand right in front of the values that they are of.
    const bool own = !marks || (decl && std::string_view(marks->name).substr(1) == decl->name);
    ReadColumn column;
    if (!decl || !own || !read_present(marks, s.rows, column.present)) return damaged("a column's name");
    column.decl = *decl;
    if (!read_values(c, column)) return damaged({"values of column '", decl->name, "'"});
    out.columns.push_back(std::move(column));
    marks = nullptr;
  }
  if (marks || out.columns.empty() || out.columns.size() > kMaxTableColumns) return damaged("its columns");
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
