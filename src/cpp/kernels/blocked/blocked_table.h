// What blocked_simd.cc exports per instruction set. Plain data and function pointers: shared by files of
// different flags.
//
// In blocked storage an image [c, h, w] lies as [ceil(c / 16), h, w, 16]: sixteen channels of a pixel side by
// side, whatever the vectors of the machine, so that there is one layout and a conversion knows nothing of
// instruction sets. Lanes behind the last channel hold any value, and no kernel lets them reach another lane.
#pragma once

#include "kernels/activation.h"
#include "kernels/window_shape.h"

namespace walle::kernels {

inline constexpr int64_t kBlock = 16;

// What is left of a fused tail once the bias is packed with the weights.
struct BlockedTail {
  const float* residual = nullptr;  // laid out as the result
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
};

// Pixels that meet the same taps of a window, side by side or one below the other; one panel of output
// channels. From rows a tap is one of a single channel, with weights [tap][panel]; x_block and channels are
// not looked at.
struct BlockedDense {
  const float* x = nullptr;        // where a tap of offset 0 meets the first pixel
  int64_t x_step = 0;              // floats from pixel to pixel
  int64_t x_block = 0;             // from block to block of input channels
  int64_t channels = 0;            // of input
  int64_t lane = 0;                // of the first of them in its block
  bool fours = false;              // lanes hold groups of four, made of the four channels in the same lanes
  const int64_t* tap = nullptr;    // offset of each tap in x
  const int64_t* which = nullptr;  // and its number among the panel's weights
  int64_t taps = 0;
  int64_t pixels = 0;              // one or more
  const float* weights = nullptr;  // [tap][channel][panel]
  const float* next = nullptr;     // weights of the task after this, to be fetched meanwhile; null: none
  const float* bias = nullptr;     // [panel]
  bool narrow = false;             // the panel holds one vector, its second one is not looked at
  float* y = nullptr;              // the first pixel's first channel of the panel
  int64_t y_step = 0;              // from pixel to pixel
  int64_t y_vector = 0;            // from a panel's first vector to its second
  BlockedTail tail;                // residual already where y is
};

// Rows of outputs of one block of channels, a square window without dilation. `Element`: of the image; what
// is computed is float32.
template <class Element>
struct BlockedDepthwiseOf {
  // Functions behind bounds; whoever rounds results applies them itself.
  static constexpr bool kActivates = sizeof(Element) == sizeof(float);

  const Element* x = nullptr;
  int64_t h = 0, w = 0, pt = 0, pl = 0;
  int64_t ow = 0;
  int64_t row = 0, end = 0;        // of outputs
  const float* weights = nullptr;  // [tap][kBlock]
  const float* bias = nullptr;     // [kBlock]
  float* y = nullptr;              // the first pixel of row `y_row`, of the residual too
  int64_t y_row = 0;
  BlockedTail tail;
};
using BlockedDepthwise = BlockedDepthwiseOf<float>;

// Rows of outputs of one block of channels.
template <class Element>
struct BlockedPoolOf : WindowShape {
  const Element* x = nullptr;
  int64_t row = 0, end = 0;
  const float* row_counts = nullptr;  // of a mean: what it divides by is a row's count times a column's
  const float* col_counts = nullptr;  // null: the maximum
  float* y = nullptr;                 // the first pixel of row `y_row`
  int64_t y_row = 0;
};
using BlockedPool = BlockedPoolOf<float>;

enum class BlockedScale : uint8_t { add, subtract, multiply, prelu };

struct BlockedTable {
  int lanes = 0;
  int rows = 0;  // pixels of one register tile
  // Some pixels of one block from rows, `plane` floats from channel to channel, and back. Lanes behind
  // `channels` become zero, and are not written.
  void (*from_rows)(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out);
  void (*to_rows)(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out);
  void (*dense)(const BlockedDense& task);
  void (*rows_to_blocks)(const BlockedDense& task);
  // Windows of 3 or 5, strides of 1 or 2; windows of 7, stride 1.
  void (*depthwise)(int64_t window, int64_t stride, const BlockedDepthwise& task);
  void (*pool)(const BlockedPool& task);
  // Sums of a block's lanes over pixels, divided by `count`.
  void (*mean)(const float* x, int64_t pixels, float count, float* out);
  // A block's pixels and one value per lane.
  void (*scale)(BlockedScale kind, const float* x, const float* lanes, int64_t pixels, float* out);
};

}  // namespace walle::kernels
