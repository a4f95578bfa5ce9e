// Shape: up to kMaxRank non-negative dimensions, stored inline (no allocation).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/limits.h"
#include "base/status.h"

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

  // Rank, sign, and product (as `dtype_size` bytes) within the limits; `where` goes into the message.
  static Result<Shape> checked(std::span<const int64_t> dims, int64_t dtype_size, const std::string& where);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t back() const { return dims_[rank_ - 1]; }

  // Product of dims[from, to); 1 for an empty range.
  int64_t product(int from, int to) const;
  int64_t elements() const { return product(0, rank_); }

  // Precondition: rank() < kMaxRank.
  void push_back(int64_t dim) { dims_[rank_++] = dim; }
  Shape sub(int from, int to) const { return Shape(dims().subspan(from, to - from)); }

  // Row-major strides in elements.
  Shape strides() const;

  bool operator==(const Shape& other) const;
  std::string text() const;  // "[1, 3, 224, 224]"

 private:
  // Inline and 72 bytes in all: shapes are copied everywhere while planning, and a heap block each would cost
  // more than the copy. Entries from rank_ on are 0.
  std::array<int64_t, base::kMaxRank> dims_{};
  int rank_ = 0;
};

// NumPy broadcasting of two shapes (also ONNX multidirectional); an error names both.
Result<Shape> broadcast(const Shape& a, const Shape& b);

// Axis in [-rank, rank) to [0, rank).
Result<int> normalize_axis(int64_t axis, int rank, const char* what = "axis");

}  // namespace walle::tensor

namespace walle {
using tensor::Shape;
}
