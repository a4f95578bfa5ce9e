// Cell: one value of a table, typed and perhaps absent; a row is a span of them, one a column. Contents of
// events, rows of result tables and of stream operators, answers: all are cells.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace walle::tensor {

enum class ColumnType : uint8_t {
#define WALLE_COLUMN(number, id, word) id = number,
#include "tensor/kinds/column.inc"
};
std::string_view column_type_name(ColumnType type);  // "int"; "unknown" of a number that is none
std::optional<ColumnType> column_type(std::string_view word);

// What runs of bytes hold: a text, bytes, or the floats of a vector as they lie in memory.
constexpr bool has_bytes(ColumnType type) { return type >= ColumnType::text; }
// Of these each is one of the next, too.
constexpr bool is_number(ColumnType type) { return type <= ColumnType::boolean; }

using Floats = std::vector<float>;

// One value, or none. What it has of bytes is borrowed from whoever made it.
struct Cell {
  bool present = false;
  ColumnType type = ColumnType::integer;
  union {
    int64_t i;  // a boolean is 0 or 1
    double d;
  };
  std::string_view text;  // and bytes, and a vector's

  Cell() : i(0) {}
  // Functions, not constructors: an `int` converts to all of int64_t, double and bool, and a silent choice
  // would store the wrong type.
  static Cell of(int64_t v) { return Cell(ColumnType::integer, v); }
  static Cell of(bool v) { return Cell(ColumnType::boolean, v); }
  static Cell of(double v) {
    Cell x(ColumnType::real, 0);
    x.d = v;
    return x;
  }
  static Cell of(std::string_view v) { return Cell(ColumnType::text, 0, v); }
  static Cell of(const char* v) { return of(std::string_view(v)); }
  static Cell of_bytes(std::string_view v, ColumnType type = ColumnType::bytes) { return Cell(type, 0, v); }
  static Cell of(std::span<const float> v) {
    return Cell(ColumnType::vector, 0, {reinterpret_cast<const char*>(v.data()), v.size_bytes()});
  }

  bool is(ColumnType t) const { return present && type == t; }
  // Integers, floats and booleans.
  std::optional<double> number() const {
    if (!present || has_bytes(type)) return std::nullopt;
    return type == ColumnType::real ? d : static_cast<double>(i);
  }
  size_t floats() const { return text.size() / sizeof(float); }  // of a vector
  void append_floats(Floats& to) const;

 private:
  Cell(ColumnType t, int64_t v, std::string_view s = {}) : present(true), type(t), i(v), text(s) {}
};

// Absent cells first, then numbers by their size whatever their type, then texts, bytes and vectors by their
// bytes. A total order: a NaN equals itself and stands behind the other numbers.
int compare(const Cell& a, const Cell& b);
// The same type and the same bits: a NaN is the same NaN.
bool identical(const Cell& a, const Cell& b);

// A cell with memory of its own. Keys of windows and states are made of them, one for each row: it holds no
// view beside its bytes, and two integers are compared where they stand. To find a row's window among seven
// takes 7.4 ns so, and 16.5 with a whole Cell in each.
class Scalar {
 public:
  Scalar() = default;
  template <class T>
    requires std::same_as<T, int64_t> || std::same_as<T, double> || std::same_as<T, bool>
  Scalar(T v) : Scalar(Cell::of(v)) {}  // NOLINT: implicit on purpose, as those below
  Scalar(const std::string& v) : Scalar(Cell::of(std::string_view(v))) {}
  Scalar(const Floats& v) : Scalar(Cell::of(std::span(v))) {}
  Scalar(const Cell& c)
      : present_(c.present),
        type_(c.type),
        number_(c.type == ColumnType::real ? std::bit_cast<int64_t>(c.d) : c.i),
        bytes_(c.text) {}

  // Borrows from this.
  Cell cell() const {
    if (!present_) return {};
    if (has_bytes(type_)) return Cell::of_bytes(bytes_, type_);
    if (type_ == ColumnType::real) return Cell::of(std::bit_cast<double>(number_));
    return type_ == ColumnType::integer ? Cell::of(number_) : Cell::of(number_ != 0);
  }
  friend bool operator==(const Scalar& a, const Scalar& b) { return a <=> b == 0; }
  friend std::strong_ordering operator<=>(const Scalar& a, const Scalar& b) {
    if (a.is_integer() && b.is_integer()) return a.number_ <=> b.number_;
    return compare(a.cell(), b.cell()) <=> 0;
  }

 private:
  bool is_integer() const { return present_ && type_ == ColumnType::integer; }

  bool present_ = false;
  ColumnType type_ = ColumnType::integer;
  int64_t number_ = 0;  // or a double's bits
  std::string bytes_;
};

// One cell a column; what stands behind the last cell is absent.
using Row = std::span<const Cell>;

}  // namespace walle::tensor

namespace walle {
using tensor::Cell;
using tensor::column_type_name;
using tensor::ColumnType;
using tensor::Floats;
using tensor::Scalar;
}  // namespace walle
