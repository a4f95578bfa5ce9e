// f32 convolution over channel-blocked storage: dense windows of any size, stride and dilation, in groups
// whose outputs fill vectors too, and depthwise windows of 3 or 5 with strides of 1 or 2. Dense windows over
// few channels also read rows and write blocks: a network's first layer. Taps outside the image are left out,
// not multiplied by zero, and nothing is copied or packed but the weights, once.
//
// Immutable after make_blocked_conv; run_blocked_conv may be called from any thread.
#pragma once

#include <vector>

#include "kernels/blocked/blocked.h"
#include "kernels/blocked/blocked_columns.h"
#include "kernels/conv/conv.h"

namespace walle::kernels {

bool blocked_conv_fits(const ConvShape& shape, Isa isa);

// Images of rows that are read as they lie: with more channels the planes of one pixel are too many pages.
inline constexpr int64_t kMostRowChannels = 8;
bool row_conv_fits(const ConvShape& shape);

struct BlockedConv {
  ConvShape shape;  // where one row of pixels is as good, the image as such a row
  const BlockedTable* table = nullptr;
  std::vector<BlockedColumns> columns;  // dense only; the widest first
  bool flat = false;                    // that row
  bool from_rows = false;               // x is [n, c, h, w] as tensors have it
  bool by_panels = false;               // threads share output channels and not pixels
  bool depthwise = false;
  bool fours = false;   // groups of four channels and four outputs: a vector holds several
  int64_t inputs = 0;   // channels that an output is made of
  int64_t outputs = 0;  // channels of a panel, of one group: half of panel() where a group holds no more

  int64_t panel() const { return 2 * table->lanes; }
  int64_t panels() const { return base::ceil_div(blocks_of(shape.m) * kBlock, outputs); }
};

BlockedConv make_blocked_conv(const ConvShape& shape, Isa isa);
BlockedConv make_row_conv(const ConvShape& shape, Isa isa);

// What a run does, for the search: arithmetic with the lanes that hold no channel, and register tiles.
struct BlockedWork {
  double flops = 0;
  double tiles = 0;
};
BlockedWork blocked_work(const BlockedConv& conv);

// Weights [m, c / groups, kh, kw] and bias [m], null for none, in the kernels' order.
int64_t blocked_weight_elements(const BlockedConv& conv);
void blocked_weights(const BlockedConv& conv, const float* weights, const float* bias, float* out);

// `tail.residual` has the result's layout and shape.
void run_blocked_conv(const BlockedConv& conv, const float* x, const float* weights, const BlockedTail& tail,
                      float* y, int threads);

}  // namespace walle::kernels
