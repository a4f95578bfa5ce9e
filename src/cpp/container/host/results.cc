// walle.results: rows that a task leaves in its declared tables, and those that are there.
#include "container/host/cell_values.h"
#include "container/host/firing_scope.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {
Result<FiringScope*> firing_scope_of(const TaskContext& context) {
  if (FiringScope* scope = context.room(kResultsSlot)) return scope;
  return resource_error("a task without result tables", "a device that runs it", "walle.results",
                        "install the task on a device, or run it with `walle task test`");
}

Result<Value> columns_of(const store::TableColumns& rows) {
  Map out;
  const auto add = [&](const std::string& name, auto&& value_at) -> Status {
    List list;
    list.reserve(rows.rows());
    for (size_t i = 0; i < rows.rows(); ++i) {
      WALLE_ASSIGN(Value value, value_at(i));
      list.push_back(std::move(value));
    }
    out.emplace_back(name, std::move(list));
    return {};
  };
  const auto integer = [](int64_t v) { return value_of(Cell::of(v)); };
  // Names that no column may have (base/name_kind.inc).
  WALLE_TRY(add("_number", [&](size_t i) { return integer(static_cast<int64_t>(rows.numbers[i])); }));
  WALLE_TRY(add("_ts", [&](size_t i) { return integer(rows.ts[i]); }));
  for (const store::TableColumn& c : rows.columns)
    WALLE_TRY(add(c.decl.name, [&](size_t i) { return value_of(c.cells[i]); }));
  return Value(std::move(out));
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
  WALLE_ASSIGN(FiringScope * scope, firing_scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  if (args[1].kind != WVM_MAP)
    return argument_error("a row that is no dict", "{column: value}", "walle.results.append",
                          "name the value of each column")
        .of_kind(base::ErrorKind::wrong_type);
  std::vector<FiringScope::NamedCell> row;
  for (const auto& [column, value] : vm::MapEntries(args[1])) {
    WALLE_ASSIGN(const Cell cell, cell_of(value, column));
    row.push_back({.column = column, .cell = cell});
  }
  WALLE_TRY(scope->append(table, row));
  return Value();
}

Result<Value> results_read_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const FiringScope* scope, firing_scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  WALLE_ASSIGN(const uint64_t start, count_arg(args, 1, 0, "walle.results.read"));
  WALLE_ASSIGN(const uint64_t limit, count_arg(args, 2, FiringScope::kMostRead, "walle.results.read"));
  WALLE_ASSIGN(const store::TableColumns rows, scope->read(table, start, limit));
  return columns_of(rows);
}

Result<Value> results_last_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const FiringScope* scope, firing_scope_of(context));
  WALLE_ASSIGN(const std::string_view table, vm::text_arg(args, 0));
  WALLE_ASSIGN(const uint64_t count, count_arg(args, 1, 1, "walle.results.last"));
  WALLE_ASSIGN(const store::TableColumns rows, scope->last(table, count));
  return columns_of(rows);
}

}  // namespace walle::container::host
