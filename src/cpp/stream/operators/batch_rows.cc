#include "stream/operators/batch_rows.h"

namespace walle::stream {

namespace {
constexpr const char* kOwnColumn = "give each kind of value a column of its own";
}  // namespace

Result<size_t> column_of(const Batch& b, std::string_view name, Text where) {
  if (const auto at = b.find(name)) return *at;
  // The names that are there: most mistakes are a misspelt column.
  std::string known;
  for (const Column& c : b.columns) known += (known.empty() ? "" : ", ") + c.name;
  return argument_error({"column '", name, "'"}, {"one of: ", known}, where, "correct the name");
}

Result<std::vector<size_t>> columns_of(const Batch& in, const std::vector<std::string>& names, Text where) {
  std::vector<size_t> out;
  out.reserve(names.size());
  for (const std::string& name : names) {
    WALLE_ASSIGN(const size_t at, column_of(in, name, where));
    out.push_back(at);
  }
  return out;
}

Status check_times(const Batch& in, Text where) {
  for (size_t r = 0; r < in.rows(); ++r)
    // A caller that gives nanoseconds or seconds is found here, not in a window that never closes.
    if (in.ts[r] < -kMaxTimeUs || in.ts[r] > kMaxTimeUs)
      return argument_error({"time ", in.ts[r], " us in row ", r}, "microseconds between -2^60 and 2^60",
                            where, "check the unit and the source of the times");
  return {};
}

Status check_duration(int64_t us, std::string_view name, std::string_view where) {
  if (us >= 0 && us <= kMaxTimeUs) return {};
  return argument_error({name, " ", us, " us"}, "microseconds between 0 and 2^60", where, "correct it");
}

Key key_of(const Batch& in, size_t row, const std::vector<size_t>& columns) {
  Key out;
  set_key(out, in, row, columns);
  return out;
}

void set_key(Key& key, const Batch& in, size_t row, const std::vector<size_t>& columns) {
  key.clear();
  key.reserve(columns.size());
  for (const size_t c : columns) key.emplace_back(in.columns[c].cells[row]);
}

Batch empty_like(const Batch& b) {
  Batch out;
  out.columns.reserve(b.columns.size());
  for (const Column& c : b.columns)
    out.columns.push_back({.name = c.name,
                           .sensitivity = c.sensitivity,
                           .cells = tensor::Column(c.cells.type()),
                           .path = c.path});
  return out;
}

void copy_row(const Batch& from, size_t row, Batch& to) {
  to.ts.push_back(from.ts[row]);
  // An empty list means one event per row and stays empty: most batches never aggregate.
  if (!from.support.empty()) to.support.push_back(from.support[row]);
  for (size_t c = 0; c < from.columns.size(); ++c) put(to.columns[c], from.columns[c].cells[row]);
}

Error wrong_cell(const Column& column, const Cell& given, std::string_view where) {
  return argument_error({"a value of type ", column_type_name(given.type), " in column '", column.name, "'"},
                        {column_type_name(column.cells.type()), ", as in the rows before"}, where, kOwnColumn)
      .of_kind(base::ErrorKind::wrong_type);
}

Status add_cell(Column& column, const Cell& cell, std::string_view where) {
  if (column.cells.push_back(cell)) return {};
  return wrong_cell(column, cell, where);
}

Status ColumnKinds::check(const Batch& in, Text where) {
  types_.reserve(in.columns.size());
  for (size_t i = 0; i < in.columns.size(); ++i) {
    const Column& c = in.columns[i];
    if (c.cells.absent() == c.cells.size()) continue;  // of any type
    const ColumnType before = types_.at(c.name, i, c.cells.type());
    const bool numbers = tensor::is_number(before) && tensor::is_number(c.cells.type());
    if (numbers || before == c.cells.type()) continue;
    return argument_error({"column '", c.name, "' of type ", column_type_name(c.cells.type())},
                          {column_type_name(before), ", as in the rows before"}, where, kOwnColumn)
        .of_kind(base::ErrorKind::wrong_type);
  }
  return {};
}

std::string path_through(const Column& c, std::string_view done) {
  // A path starts with the name of the column that was given: the gate's error then names where the data came
  // from.
  return (c.path.empty() ? c.name : c.path) + " > " + std::string(done);
}

}  // namespace walle::stream
