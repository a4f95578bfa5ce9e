#include "tensor/table.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace walle::tensor {

namespace {
// Booleans go into integers, and both into floats.
int width(ColumnType type) { return type == ColumnType::boolean ? 0 : type == ColumnType::integer ? 1 : 2; }

std::ptrdiff_t step(size_t n) { return static_cast<std::ptrdiff_t>(n); }
}  // namespace

bool Column::push_back(const Cell& cell) {
  if (!cell.present) {
    push_absent();
    return true;
  }
  if (cell.type != type_ && !make_room_for(cell.type)) return false;
  switch (type_) {
    case ColumnType::integer: std::get_if<Integers>(&values_)->push_back(cell.i); break;
    case ColumnType::real: std::get_if<Reals>(&values_)->push_back(*cell.number()); break;
    case ColumnType::boolean: std::get_if<Booleans>(&values_)->push_back(cell.i != 0); break;
    case ColumnType::text:
    case ColumnType::bytes:
    case ColumnType::vector: std::get_if<Runs>(&values_)->push_back(cell.text); break;
  }
  if (absent_ > 0) present_.push_back(1);
  ++rows_;
  return true;
}

void Column::push_absent() {
  if (absent_++ == 0) present_.assign(rows_, 1);
  present_.push_back(0);
  ++rows_;
  std::visit([&](auto& values) { values.resize(rows_); }, values_);
}

bool Column::append(const Column& from, size_t begin, size_t end) {
  const auto marks = from.present_.begin();
  const size_t absent =
      from.whole() ? 0 : static_cast<size_t>(std::count(marks + step(begin), marks + step(end), 0));
  if (from.type_ != type_) {
    if (absent < end - begin && !make_room_for(from.type_)) return false;
    for (size_t row = begin; row < end; ++row) static_cast<void>(push_back(from[row]));
    return true;
  }
  if (absent + absent_ > 0) {
    present_.resize(rows_, 1);
    for (size_t row = begin; row < end; ++row) present_.push_back(from.present(row));
  }
  absent_ += absent;
  rows_ += end - begin;
  std::visit(
      [&](const auto& values) {
        auto& to = *std::get_if<std::decay_t<decltype(values)>>(&values_);
        if constexpr (std::is_same_v<std::decay_t<decltype(values)>, Runs>)
          for (size_t row = begin; row < end; ++row) to.push_back(values[row]);
        else
          to.insert(to.end(), values.begin() + step(begin), values.begin() + step(end));
      },
      from.values_);
  return true;
}

void Column::reserve(size_t rows) {
  std::visit([rows](auto& values) { values.reserve(rows); }, values_);
}

bool Column::make_room_for(ColumnType type) {
  if (absent_ == rows_)
    retype(type);
  else if (!is_number(type) || !is_number(type_))
    return false;
  else if (width(type) > width(type_))
    widen(type);
  return true;
}

void Column::retype(ColumnType type) {
  type_ = type;
  if (has_bytes(type))
    values_.emplace<Runs>();
  else if (type == ColumnType::integer)
    values_.emplace<Integers>();
  else if (type == ColumnType::real)
    values_.emplace<Reals>();
  else
    values_.emplace<Booleans>();
  std::visit([this](auto& values) { values.resize(rows_); }, values_);
}

void Column::widen(ColumnType type) {
  const auto convert = [this](auto to) {
    if (type_ == ColumnType::boolean)
      to.assign(booleans().begin(), booleans().end());
    else
      to.assign(integers().begin(), integers().end());
    values_ = std::move(to);
  };
  if (type == ColumnType::real)
    convert(Reals());
  else
    convert(Integers());
  type_ = type;
}

std::string marks_of(const Column& column) {
  std::string marks(mark_bytes(column.size()), '\0');
  for (size_t row = 0; row < column.size(); ++row)
    marks[row / 8] = static_cast<char>(marks[row / 8] | column.present(row) << row % 8);
  return marks;
}

bool are_marks(std::string_view marks, size_t rows) {
  size_t set = 0;
  for (const char bits : marks) set += static_cast<size_t>(std::popcount(static_cast<uint8_t>(bits)));
  const size_t used = (rows + 7) % 8 + 1;  // bits of the last byte
  return marks.size() == mark_bytes(rows) && set < rows && static_cast<uint8_t>(marks.back()) >> used == 0;
}

}  // namespace walle::tensor
