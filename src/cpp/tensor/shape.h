// Shape: up to kMaxRank non-negative dimensions, stored inline (no allocation).
//
// While a plan for a class of shapes is made some dimensions are symbols (tensor/dim.h): what reads them as
// numbers pins them, what reads dim() serves the class.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/limits.h"
#include "base/status.h"
#include "tensor/dim.h"

namespace walle::tensor {

// A value; nothing is shared between copies.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  // Precondition: dims.size() <= kMaxRank. Sizes from files or users go through checked().
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
    for (int i = 0; i < rank_; ++i) dims_[i] = dims[i];
  }
  explicit Shape(std::span<const Dim> dims) {
    for (const Dim d : dims) push_back(d);
  }

  // Of sizes that may be symbols, which the constructor of a list would pin.
  static Shape of(std::initializer_list<Dim> dims) {
    return Shape(std::span<const Dim>(dims.begin(), dims.size()));
  }

  // Rank, sign, and product (as `dtype_size` bytes) within the limits; `where` goes into the message.
  static Result<Shape> checked(std::span<const int64_t> dims, int64_t dtype_size, const std::string& where);

  // The same of a shape, whose symbols stay what they are: as they are now, and again where they change.
  Status check(int64_t dtype_size, const std::string& where) const;

  int rank() const { return rank_; }
  int64_t operator[](int axis) const {
    if (symbolic_) [[unlikely]]
      pin(axis, axis + 1);
    return dims_[axis];
  }
  int64_t& operator[](int axis) {  // a number from now on, whatever is written
    if (symbolic_) [[unlikely]]
      forget(axis);
    return dims_[axis];
  }
  std::span<const int64_t> dims() const {
    if (symbolic_) [[unlikely]]
      pin(0, rank_);
    return {dims_.data(), static_cast<size_t>(rank_)};
  }
  const int64_t* begin() const { return dims().data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t back() const { return (*this)[rank_ - 1]; }

  bool symbolic() const { return symbolic_; }
  Dim dim(int axis) const { return {dims_[axis], terms_[axis]}; }
  void set(int axis, Dim d) {
    dims_[axis] = d.value();
    terms_[axis] = d.term();
    symbolic_ = d.symbolic() || (symbolic_ && has_terms());
  }
  // With the numbers of this moment alone: to be looked at, or, of a tensor, to stay.
  Shape plain() const;
  Shape pinned() const { return symbolic_ ? Shape(dims()) : *this; }

  // Product of dims[from, to); 1 for an empty range.
  int64_t product(int from, int to) const;
  int64_t elements() const { return product(0, rank_); }
  Dim dim_product(int from, int to) const;
  Dim dim_elements() const { return dim_product(0, rank_); }

  // Precondition: rank() < kMaxRank.
  void push_back(int64_t dim) { dims_[rank_++] = dim; }
  void push_back(Dim dim) { set(rank_++, dim); }
  Shape sub(int from, int to) const;

  // Row-major strides in elements.
  Shape strides() const;

  bool operator==(const Shape& other) const;
  std::string text() const;  // "[1, 3, 224, 224]"

 private:
  void pin(int from, int to) const;
  void forget(int axis);
  bool has_terms() const;

  // Inline and 104 bytes in all: shapes are copied everywhere while planning, and a heap block each would
  // cost more than the copy. Entries from rank_ on are 0.
  std::array<int64_t, base::kMaxRank> dims_{};
  std::array<Dim::Term, base::kMaxRank> terms_{};
  int rank_ = 0;
  bool symbolic_ = false;  // some term is not 0
};

// NumPy broadcasting of two shapes (also ONNX multidirectional); an error names both.
Result<Shape> broadcast(const Shape& a, const Shape& b);

// Axis in [-rank, rank) to [0, rank).
Result<int> normalize_axis(int64_t axis, int rank, const char* what = "axis");

}  // namespace walle::tensor

namespace walle {
using tensor::Shape;
}
