// f32 convolution in NCHW: an implicit matrix product (weights
// times columns made panel by panel), and depthwise lines.
//
// Immutable after make_conv; run_conv may be called from any thread with a workspace of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/conv/conv_table.h"
#include "kernels/gemm/gemm.h"
#include "kernels/window_shape.h"

namespace walle::kernels {

const ConvTable& conv_table(Isa isa);

struct ConvShape : WindowShape {
  int64_t n = 1, c = 1, m = 1;  // images, and channels of the input and of the output
  int64_t groups = 1;

  int64_t taps() const { return kh * kw; }
  int64_t depth() const { return c / groups * taps(); }  // length of one dot product
  // One input channel per group. A single channel with groups = 1 is an ordinary convolution and goes to the
  // matrix product.
  bool depthwise() const { return groups == c && groups > 1; }
};

struct Conv {
  ConvShape shape;
  const GemmTable* gemm = nullptr;
  const ConvTable* table = nullptr;
  ConvPlanes planes;            // of one channel
  std::vector<int32_t> phases;  // planes.phase points into it
  std::vector<int64_t> tap;     // offset of each tap inside a channel's planes
  std::vector<int64_t> offset;  // of each row of B, relative to the group's first channel
  bool direct = false;          // the input serves as its own planes
  bool in_place = false;        // depthwise over the image as it lies: no planes
  bool pointwise = false;       // 1 x 1, stride 1: the input is B

  Conv() = default;
  Conv(Conv&& other) noexcept { *this = std::move(other); }
  Conv& operator=(Conv&& other) noexcept;
};

Conv make_conv(const ConvShape& shape, Isa isa);
// The same without offsets, of which there are as many as a filter has weights: enough to count its work.
Conv plan_conv(const ConvShape& shape, Isa isa);

// Floating point operations of a run, for the search: columns that fill up a vector count as the work they
// are.
double conv_flops(const Conv& conv);

// Weights [m, c / groups, kh, kw] in the kernel's own order (a copy of the weights when depthwise).
int64_t packed_weight_elements(const Conv& conv);
void pack_weights(const Conv& conv, const float* weights, float* out);

int64_t conv_workspace_bytes(const Conv& conv, int threads, bool weights_packed);

// `weights` when not packed. The residual has the output's shape; the bias is epilogue.row_bias.
void run_conv(const Conv& conv, const float* x, const float* weights, const float* packed,
              const Epilogue& epilogue, float* y, int threads, std::byte* workspace);

}  // namespace walle::kernels
