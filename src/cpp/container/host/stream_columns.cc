#include "container/host/stream_columns.h"

#include <algorithm>

#include "stream/operators/batch_rows.h"

namespace walle::container {

namespace {

using stream::Cell;
using stream::Floats;
using Cells = std::vector<Cell>;

int64_t size_of(const Cells& cells) { return static_cast<int64_t>(cells.size()); }

Result<vm::Value> integers(const Cells& cells) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::int64, Shape{size_of(cells)}));
  std::ranges::transform(cells, out.as_mutable<int64_t>().begin(),
                         [](const Cell& c) { return *std::get_if<int64_t>(&c); });
  return vm::Value(std::move(out));
}

Result<vm::Value> numbers(const Cells& cells) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::float64, Shape{size_of(cells)}));
  double* to = out.as_mutable<double>().data();
  for (const Cell& c : cells) stream::number_of(c, *to++);
  return vm::Value(std::move(out));
}

Result<vm::Value> vectors(const Cells& cells) {
  const size_t width = std::get_if<Floats>(&cells[0])->size();
  WALLE_ASSIGN(Tensor out,
               Tensor::allocate(DType::float32, Shape{size_of(cells), static_cast<int64_t>(width)}));
  float* to = out.as_mutable<float>().data();
  for (const Cell& c : cells) to = std::ranges::copy(*std::get_if<Floats>(&c), to).out;
  return vm::Value(std::move(out));
}

Result<vm::Value> value_of(const Cell& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return vm::Value(*i);
  if (const auto* d = std::get_if<double>(&cell)) return vm::Value(*d);
  if (const auto* s = std::get_if<std::string>(&cell)) return vm::Value(*s);
  if (const auto* v = std::get_if<Floats>(&cell)) {
    WALLE_ASSIGN(Tensor out,
                 Tensor::from(Shape{static_cast<int64_t>(v->size())}, std::span<const float>(*v)));
    return vm::Value(std::move(out));
  }
  return vm::Value();
}

Result<vm::Value> column_value(const Cells& cells) {
  const auto all = [&](auto holds) { return !cells.empty() && std::ranges::all_of(cells, holds); };
  if (all([](const Cell& c) { return std::holds_alternative<int64_t>(c); })) return integers(cells);
  double ignored = 0;
  if (all([&](const Cell& c) { return stream::number_of(c, ignored); })) return numbers(cells);
  const auto* first = cells.empty() ? nullptr : std::get_if<Floats>(&cells[0]);
  if (first && all([&](const Cell& c) {
        const auto* v = std::get_if<Floats>(&c);
        return v && v->size() == first->size();
      }))
    return vectors(cells);
  vm::List list;
  list.reserve(cells.size());
  for (const Cell& cell : cells) {
    WALLE_ASSIGN(vm::Value value, value_of(cell));
    list.push_back(std::move(value));
  }
  return vm::Value(std::move(list));
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
