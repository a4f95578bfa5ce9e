#include "store/table_decl.h"

#include <algorithm>

#include "base/names.h"
#include "base/nearest_name.h"

namespace walle::store {

namespace {
constexpr size_t kColumnBytes = 5;  // of a column in a declaration, at least: type and size of its name

Error bad_table(const TableDecl& decl, Text given, Text expected, Text next) {
  return argument_error(given, expected, {"result table ", base::shown_name(decl.name)}, next);
}
}  // namespace

std::optional<size_t> TableDecl::find(std::string_view column) const {
  // Linear: tens of columns, and names differ in their first bytes.
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == column) return i;
  return std::nullopt;
}

Result<size_t> column_at(const TableDecl& decl, std::string_view column) {
  if (const auto at = decl.find(column)) return *at;
  std::vector<std::string> known;
  for (const ColumnDecl& c : decl.columns) known.push_back(c.name);
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  return bad_table(decl, {"column ", base::shown_name(column)}, {"one of ", names},
                   base::did_you_mean(column, known, "declare the column"))
      .of_kind(base::ErrorKind::no_such_key);
}

Status check_table(const TableDecl& decl) {
  WALLE_TRY(base::check_name(base::NameKind::stored_table, decl.name, "result table"));
  if (decl.columns.empty() || decl.columns.size() > kMaxTableColumns)
    return bad_table(decl, {decl.columns.size(), " columns"}, {"1 to ", kMaxTableColumns},
                     "declare what a row holds");
  if (decl.max_bytes <= 0 || decl.max_age_us < 0)
    return bad_table(decl, {decl.max_bytes, " bytes and ", decl.max_age_us, " us"},
                     "a positive size, and an age of 0 (none) or more", "correct the limits");
  for (const ColumnDecl& c : decl.columns) {
    WALLE_TRY(
        base::check_name(base::NameKind::column, c.name, "result table " + base::shown_name(decl.name)));
    if (c.type > ColumnType::bytes)
      return bad_table(decl, {"type ", static_cast<int>(c.type), " of column ", c.name},
                       "int, float, bool, text or bytes", "correct the type");
    if (std::ranges::count(decl.columns, c.name, &ColumnDecl::name) > 1)
      return bad_table(decl, {"two columns named ", base::shown_name(c.name)}, "a name of its own for each",
                       "rename one of them");
  }
  return {};
}

Status check_growth(const TableDecl& before, const TableDecl& after) {
  for (size_t i = 0; i < before.columns.size(); ++i) {
    const ColumnDecl& old = before.columns[i];
    const auto other = [&](Text given, Text next) {
      return bad_table(after, given,
                       {column_type_name(old.type), " ", base::shown_name(old.name), " as column ", i + 1,
                        ", which has rows already"},
                       next);
    };
    if (i >= after.columns.size())
      return other({"no column ", base::shown_name(old.name)},
                   "keep the columns that are there, or give the table another name");
    if (!(after.columns[i] == old))
      return other({column_type_name(after.columns[i].type), " ", base::shown_name(after.columns[i].name)},
                   "add new columns behind the others, or give the table another name");
  }
  return {};
}

void put_table(base::ByteWriter& out, const TableDecl& decl) {
  out.put_text(decl.name);
  out.put(decl.max_bytes);
  out.put(decl.max_age_us);
  out.put_count(decl.columns.size());
  for (const ColumnDecl& c : decl.columns) {
    out.put(c.type);
    out.put_text(c.name);
  }
}

bool read_table(base::ByteReader& in, TableDecl& out) {
  out.name = in.text();
  out.max_bytes = in.get<int64_t>();
  out.max_age_us = in.get<int64_t>();
  const uint32_t columns = in.count(kColumnBytes);
  if (columns > kMaxTableColumns) in.fail();
  for (uint32_t i = 0; i < columns && in.ok(); ++i) {
    const auto type = in.get<uint8_t>();
    if (type > static_cast<uint8_t>(ColumnType::bytes)) in.fail();
    out.columns.push_back({.name = std::string(in.text()), .type = static_cast<ColumnType>(type)});
  }
  return in.ok() && check_table(out).ok();
}

}  // namespace walle::store
