// Strided: elements of somebody's memory under a shape and strides, as NumPy has them: what indexing, slices,
// transposes and most reshapes of an array are. A Tensor is always dense; whoever computes with views -
// tasks' walle.Tensor, array and vision libraries - goes through this, and graphs go through rasters.
//
// Layouts are plain values: indexing one gives another, nothing is read or written. Offsets and strides count
// elements; a stride may be 0 (repeat) or negative (reversed).
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace walle::tensor {

struct Layout {
  Shape shape;
  std::array<int64_t, base::kMaxRank> stride{};
  int64_t offset = 0;

  static Layout dense(const Shape& shape);

  int rank() const { return shape.rank(); }
  // Row-major without gaps, from its offset on: axes of one element may have any stride.
  bool is_dense() const;
};

// One item of an index such as t[1, ::2, None, ...].
struct IndexItem {
  enum class Kind : uint8_t { integer, slice, new_axis, ellipsis };
  Kind kind = Kind::integer;
  int64_t start = 0;  // the integer itself; of slices as written, not yet fitted to the axis
  int64_t stop = 0;
  int64_t step = 1;
};

// Basic indexing. An error (kind no_such_index) for an integer out of bounds and for too many items.
Result<Layout> index(const Layout& layout, std::span<const IndexItem> items);

// The axes in the order `axes` names them. Precondition: a permutation of the layout's axes.
Layout transposed(const Layout& layout, std::span<const int> axes);

// `shape` with its one -1 filled in; an argument error when the element counts differ.
Result<Shape> reshaped_shape(const Shape& from, std::span<const int64_t> shape);
// The same elements in the same order under another shape; nullopt where that needs a copy.
// Precondition: equal element counts.
std::optional<Layout> reshaped(const Layout& layout, const Shape& shape);

// The layout repeated to `shape`. Precondition: it broadcasts to it.
Layout broadcast_to(const Layout& layout, const Shape& shape);

// Whoever holds this holds the memory by other means.
struct Strided {
  DType dtype = DType::undefined;
  std::byte* data = nullptr;  // what the layout's offset counts from
  Layout layout;

  const Shape& shape() const { return layout.shape; }
  std::byte* first() const { return data + layout.offset * dtype_size(dtype); }
};

}  // namespace walle::tensor

namespace walle {
using tensor::Layout;
using tensor::Strided;
}  // namespace walle
