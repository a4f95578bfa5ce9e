// Column: a typed buffer and which of its values are there. Tables of every kind are columns of one length:
// segments of a log, result tables, the batches of stream operators, frames of NumPy and Arrow.
//
// A plain value: copies share nothing, nothing is synchronised.
#pragma once

#include <variant>

#include "tensor/cell.h"

namespace walle::tensor {

// Bytes one behind another, without an allocation each.
class Runs {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i ? ends_[i - 1] : 0;
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  void push_back(std::string_view run) {
    bytes_.append(run);
    ends_.push_back(bytes_.size());
  }
  void resize(size_t size) { ends_.resize(size, bytes_.size()); }  // to more, of empty ones
  void reserve(size_t size) { ends_.reserve(size); }
  size_t bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// A typed buffer, and which of its values are there.
class Column {
 public:
  // An entry per row, 0 or empty where the value is absent.
  using Integers = std::vector<int64_t>;
  using Reals = std::vector<double>;
  using Booleans = std::vector<uint8_t>;

  Column() = default;  // of integers
  explicit Column(ColumnType type) {
    if (type != type_) retype(type);
  }
  // All present.
  explicit Column(Integers values) : rows_(values.size()), values_(std::move(values)) {}
  explicit Column(Reals values) : type_(ColumnType::real), rows_(values.size()), values_(std::move(values)) {}

  ColumnType type() const { return type_; }
  size_t size() const { return rows_; }
  bool present(size_t row) const { return present_.empty() || present_[row]; }
  bool whole() const { return absent_ == 0; }
  size_t absent() const { return absent_; }
  // One byte per row, 0 or 1; empty where nothing is absent.
  const std::vector<uint8_t>& presence() const { return present_; }
  // Borrows from the column.
  Cell operator[](size_t row) const {
    if (!present(row)) return {};
    if (type_ == ColumnType::integer) return Cell::of(integers()[row]);
    if (type_ == ColumnType::real) return Cell::of(reals()[row]);
    if (type_ == ColumnType::boolean) return Cell::of(booleans()[row] != 0);
    return Cell::of_bytes(runs()[row], type_);
  }

  // False, with nothing changed, for a value that the column cannot hold. A column in which nothing is
  // present takes the type of the first value; booleans, integers and floats become the widest of them.
  [[nodiscard]] bool push_back(const Cell& cell);
  void push_absent();
  // Rows [begin, end) of another.
  [[nodiscard]] bool append(const Column& from, size_t begin, size_t end);
  void reserve(size_t rows);

  // The buffers, of the type's own. Precondition: that type; what is written leaves the number of rows.
  const Integers& integers() const { return *std::get_if<Integers>(&values_); }
  const Reals& reals() const { return *std::get_if<Reals>(&values_); }
  const Booleans& booleans() const { return *std::get_if<Booleans>(&values_); }
  const Runs& runs() const { return *std::get_if<Runs>(&values_); }
  Integers take_integers() && { return std::move(*std::get_if<Integers>(&values_)); }
  Reals take_reals() && { return std::move(*std::get_if<Reals>(&values_)); }
  Booleans take_booleans() && { return std::move(*std::get_if<Booleans>(&values_)); }

 private:
  void retype(ColumnType type);
  bool make_room_for(ColumnType type);
  void widen(ColumnType type);

  ColumnType type_ = ColumnType::integer;
  size_t rows_ = 0;
  size_t absent_ = 0;
  std::variant<Integers, Reals, Booleans, Runs> values_;
  std::vector<uint8_t> present_;  // none while nothing is absent
};

// Which rows of a stored column have a value, a bit each, the lowest first.
constexpr size_t mark_bytes(size_t rows) { return (rows + 7) / 8; }
inline bool marked(std::string_view marks, size_t row) {
  return static_cast<uint8_t>(marks[row / 8]) >> row % 8 & 1;
}
std::string marks_of(const Column& column);
// Whether a writer may have made them: some row has none, and no bit stands behind the last one.
bool are_marks(std::string_view marks, size_t rows);

}  // namespace walle::tensor
