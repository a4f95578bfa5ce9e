#include "container/device/result_rows.h"

#include <array>
#include <string>

#include "base/nearest_name.h"
#include "container/host/cell_values.h"
#include "vm/convert.h"

namespace walle::container {

namespace {

struct KindName {
  std::string_view none() { return "None"; }
  std::string_view boolean(bool) { return "bool"; }
  std::string_view integer(int64_t) { return "int"; }
  std::string_view real(double) { return "float"; }
  std::string_view text(std::string_view) { return "str"; }
  std::string_view bytes(std::string_view) { return "bytes"; }
  std::string_view list(std::span<const wvm_value>) { return "list"; }
  std::string_view map(const vm::MapEntries&) { return "dict"; }
  std::string_view tensor(const Tensor&) { return "walle.Tensor"; }
  std::string_view buffer(const Buffer&) { return "memoryview"; }
};

std::string kind_name(const wvm_value& value) {
  KindName names;
  return std::string(vm::visit(value, names));
}

std::string where(const store::TableDecl& decl, size_t row) {
  return "table '" + decl.name + "', row " + std::to_string(row) + " of what the task returned";
}

Error no_column(const store::TableDecl& decl, std::string_view name, size_t row) {
  std::string columns;
  std::vector<std::string> names;
  for (const store::ColumnDecl& column : decl.columns) {
    columns += (columns.empty() ? "" : ", ") + column.name;
    names.push_back(column.name);
  }
  return argument_error({"column '", name, "'"}, {"one of: ", columns}, where(decl, row),
                        base::did_you_mean(name, names, "declare the column in task.toml"))
      .of_kind(base::ErrorKind::no_such_key);
}

Status add_one(const wvm_value& value, const store::TableDecl& decl, int64_t ts_us, size_t row,
               store::TableRows& rows) {
  if (value.kind != WVM_MAP) {
    return argument_error({"a ", kind_name(value)}, "None, a dict of columns, or a list of such dicts",
                          where(decl, row), "return {column: value}")
        .of_kind(base::ErrorKind::wrong_type);
  }
  std::array<Cell, store::kMaxTableColumns> cells{};
  for (const auto& [key, item] : vm::entries_of(value)) {
    const std::optional<size_t> at = decl.find(key);
    if (!at) return no_column(decl, key, row);
    Result<Cell> cell = cell_of(item, key);
    if (!cell.ok()) {
      Error error = cell.take_error();
      error.within(where(decl, row));
      return error;
    }
    cells[*at] = *cell;
  }
  return store::add_row(decl, ts_us, std::span(cells).first(decl.columns.size()), rows);
}

}  // namespace

Status add_rows(const wvm_value& value, const store::TableDecl& decl, int64_t ts_us, store::TableRows& rows) {
  if (value.kind == WVM_NONE) return {};
  if (value.kind != WVM_LIST) return add_one(value, decl, ts_us, 1, rows);
  size_t row = 0;
  for (const wvm_value& item : vm::items_of(value)) WALLE_TRY(add_one(item, decl, ts_us, ++row, rows));
  return {};
}

}  // namespace walle::container
