#include "container/host/stream_columns.h"

#include <algorithm>

#include "container/host/cell_values.h"

namespace walle::container {

namespace {

using tensor::Column;

template <class T>
Result<vm::Value> numbers(DType dtype, const std::vector<T>& values) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(dtype, Shape{static_cast<int64_t>(values.size())}));
  std::ranges::copy(values, static_cast<T*>(out.mutable_data()));
  return vm::Value(std::move(out));
}

Result<vm::Value> vectors(const Column& column, size_t width) {
  Floats all;
  all.reserve(column.size() * width);
  for (size_t row = 0; row < column.size(); ++row) column[row].append_floats(all);
  const Shape shape{static_cast<int64_t>(column.size()), static_cast<int64_t>(width)};
  WALLE_ASSIGN(Tensor out, Tensor::from(shape, std::span<const float>(all)));
  return vm::Value(std::move(out));
}

Result<vm::Value> list_of(const Column& column) {
  vm::List list;
  list.reserve(column.size());
  for (size_t row = 0; row < column.size(); ++row) {
    WALLE_ASSIGN(vm::Value value, value_of(column[row]));
    list.push_back(std::move(value));
  }
  return vm::Value(std::move(list));
}

bool of_one_width(const Column& column) {
  for (size_t row = 1; row < column.size(); ++row)
    if (column[row].floats() != column[0].floats()) return false;
  return true;
}

Result<vm::Value> column_value(const Column& column) {
  if (column.size() == 0 || !column.whole()) return list_of(column);
  switch (column.type()) {
    case ColumnType::integer: return numbers(DType::int64, column.integers());
    case ColumnType::real: return numbers(DType::float64, column.reals());
    case ColumnType::boolean: return numbers(DType::boolean, column.booleans());
    case ColumnType::vector:
      return of_one_width(column) ? vectors(column, column[0].floats()) : list_of(column);
    case ColumnType::text:
    case ColumnType::bytes: break;
  }
  return list_of(column);
}

}  // namespace

Result<vm::Value> columns_value(const stream::Batch& rows) {
  vm::Map out;
  WALLE_ASSIGN(Tensor ts, Tensor::from(Shape{static_cast<int64_t>(rows.rows())}, std::span(rows.ts)));
  out.emplace_back("ts", std::move(ts));
  for (const stream::Column& column : rows.columns) {
    WALLE_ASSIGN(vm::Value value, column_value(column.cells));
    out.emplace_back(column.name, std::move(value));
  }
  return vm::Value(std::move(out));
}

}  // namespace walle::container
