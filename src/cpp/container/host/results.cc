// walle.results: rows that a task leaves in its declared tables, and those that are there.
#include "base/names.h"
#include "container/host/firing_scope.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {
using store::Cell;
using store::CellType;

Result<FiringScope*> scope_of(const TaskContext& context) {
  if (FiringScope* scope = context.room(kResultsSlot)) return scope;
  return resource_error("a task without result tables", "a device that runs it", "walle.results",
                        "install the task on a device, or run it with `walle task test`");
}

// What is no value of any column is left to the column's own words, as a value that fits none.
Result<Cell> cell_of(std::string_view column, const wvm_value& value) {
  switch (vm::kind_of(value)) {
    case WVM_NONE: return Cell();
    case WVM_BOOL: return Cell::of(value.as.integer != 0);
    case WVM_INT: return Cell::of(static_cast<int64_t>(value.as.integer));
    case WVM_FLOAT: return Cell::of(value.as.real);
    case WVM_STR: return Cell::of(std::string_view(value.as.text, value.size));
    case WVM_BYTES: return Cell::of_bytes({value.as.text, value.size});
    case WVM_LIST:
    case WVM_MAP:
    case WVM_TENSOR:
    case WVM_BUFFER: break;
  }
  return argument_error("a value that is no int, float, bool, str, bytes or None", "a value of one row",
                        {"column ", base::shown_name(column)},
                        "convert it: float(tensor), bytes(view), json.dumps(list)")
      .of_kind(base::ErrorKind::wrong_type);
}

// Row `i` of a column.
Value value_of(store::ReadColumn& c, size_t i) {
  if (!c.present[i]) return {};
  switch (c.decl.type) {
    case CellType::i64: return c.ints[i];
    case CellType::f64: return c.floats[i];
    case CellType::boolean: return c.ints[i] != 0;
    case CellType::text: return std::move(c.texts[i]);
    case CellType::bytes: return vm::Bytes{std::move(c.texts[i])};
  }
  return {};
}

Value columns_of(store::TableColumns rows) {
  Map out;
  const auto add = [&](const std::string& name, auto&& value_at) {
    List list;
    list.reserve(rows.rows());
    for (size_t i = 0; i < rows.rows(); ++i) list.push_back(value_at(i));
    out.emplace_back(name, std::move(list));
  };
  bool number = true;
  bool time = true;
  for (store::ReadColumn& c : rows.columns) {
    number = number && c.decl.name != "number";
    time = time && c.decl.name != "time";
    add(c.decl.name, [&](size_t i) { return value_of(c, i); });
  }
  // A table's own columns of these names come first.
  if (number) add("number", [&](size_t i) { return Value(static_cast<int64_t>(rows.numbers[i])); });
  if (time) add("time", [&](size_t i) { return Value(rows.ts[i]); });
  return out;
}

Result<uint64_t> count_arg(HostArgs args, size_t index, uint64_t otherwise, const char* call) {
  if (!vm::has_arg(args, index)) return otherwise;
  WALLE_ASSIGN(const int64_t number, vm::int_arg(args, index));
  if (number < 0)
    return argument_error(number, "0 or more", {call, ", argument ", index + 1}, "count from 0");
  return static_cast<uint64_t>(number);
}
}  // namespace

Result<Value> results_append_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(FiringScope * scope, scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  if (args[1].kind != WVM_MAP)
    return argument_error("a row that is no dict", "{column: value}", "walle.results.append",
                          "name the value of each column")
        .of_kind(base::ErrorKind::wrong_type);
  std::vector<FiringScope::NamedCell> row;
  for (const auto& [column, value] : vm::MapEntries(args[1])) {
    WALLE_ASSIGN(const Cell cell, cell_of(column, value));
    row.push_back({.column = column, .cell = cell});
  }
  WALLE_TRY(scope->append(table, row));
  return Value();
}

Result<Value> results_read_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const FiringScope* scope, scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  WALLE_ASSIGN(const uint64_t start, count_arg(args, 1, 0, "walle.results.read"));
  WALLE_ASSIGN(const uint64_t limit, count_arg(args, 2, FiringScope::kMostRead, "walle.results.read"));
  WALLE_ASSIGN(store::TableColumns rows, scope->read(table, start, limit));
  return columns_of(std::move(rows));
}

Result<Value> results_last_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const FiringScope* scope, scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  WALLE_ASSIGN(const uint64_t count, count_arg(args, 1, 1, "walle.results.last"));
  WALLE_ASSIGN(store::TableColumns rows, scope->last(table, count));
  return columns_of(std::move(rows));
}

}  // namespace walle::container::host
