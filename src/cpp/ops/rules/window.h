// The sliding window that convolutions and pools share: kernel, strides, dilations and padding per spatial
// axis. Everything is checked here: sizes are positive and small enough that no product below overflows.
#pragma once

#include <string>
#include <vector>

#include "ir/attributes.h"
#include "tensor/shape.h"

namespace walle::ops {

// The largest size, stride, dilation or pad: a product of any two fits 64 bits.
inline constexpr int64_t kMaxWindowEntry = (int64_t{1} << 31) - 1;

struct Window {
  std::vector<int64_t> kernel, stride, dilation, pad_begin, pad_end;
  std::vector<Dim> out;  // output size per spatial axis

  int rank() const { return static_cast<int>(kernel.size()); }
  int64_t taps() const;  // product of the kernel sizes
  int64_t extent(int i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  std::vector<int64_t> pads() const;             // begins, then ends
  void insert_axis();                            // of one element, before the others
  void write(ir::Attributes& attributes) const;  // kernel_shape, strides, dilations, pads; drops auto_pad
};

// Reads kernel_shape (or `kernel` when the attribute is absent), strides,
// dilations, pads, auto_pad and ceil_mode for the spatial axes 2.. of
// `x`. An empty output is an error unless an input axis is empty already.
Result<Window> resolve_window(const ir::Attributes& attrs, const Shape& x,
                              const std::vector<int64_t>& kernel = {});

// A list attribute with one entry per spatial axis between
// `low` and kMaxWindowEntry; `fallback` for each when absent.
Result<std::vector<int64_t>> spatial_list(const ir::Attributes& attrs, const char* name, size_t count,
                                          int64_t low, int64_t fallback);

// True when the attributes say everything explicitly for two spatial axes: the form kernels take.
bool canonical_window(const ir::Attributes& attrs, const Shape& x);

// The attributes of the ConvTranspose that spreads values of shape `out` back over windows of `in`.
ir::Attributes spreading(const Window& window, const Shape& in, const Shape& out);

// Output index range [first, last) of one axis whose input
// index o * stride + tap - pad lies inside [0, size).
struct Span {
  int64_t first = 0, last = 0;
  int64_t length() const { return last > first ? last - first : 0; }
};
Span inside(int64_t size, int64_t out, int64_t stride, int64_t tap_offset, int64_t pad);

}  // namespace walle::ops
