// f32 convolution of few channels with output channels in lanes: the first layer of a network, whose depth
// (27 for 3 x 3 over three channels) is too short to make columns for. Pixels are broadcast from the rows
// that a row of outputs reads, copied with their padding.
//
// Immutable after make_window_conv; run_window_conv may be called from any thread with a workspace of its
// own.
#pragma once

#include <vector>

#include "kernels/conv/channel_lanes.h"

namespace walle::kernels {

// A window of more than 1 x 1, strides of 1 or 2 between columns, no groups, at least table.rows columns of
// outputs, and rows that stay in the first-level cache.
bool window_conv_fits(const ConvShape& shape, Isa isa);

struct WindowConv {
  ConvShape shape;
  const ChannelLanesTable* table = nullptr;
  int64_t pitch = 0;            // of a copied row
  std::vector<int64_t> offset;  // of each element of a window in the copied rows
};

WindowConv make_window_conv(const ConvShape& shape, Isa isa);

// What a run does, for the search: products, values copied, and values turned from lanes to rows.
struct WindowWork {
  double product_flops = 0;
  double copied_floats = 0;
  double turned_floats = 0;
};
WindowWork window_work(const WindowConv& conv);

// Filters [m, c, kh, kw] in panels.
int64_t window_weight_elements(const WindowConv& conv);
void window_weights(const WindowConv& conv, const float* filters, float* out);

int64_t window_workspace_bytes(const WindowConv& conv, int threads);

// `weights` as window_weights makes them. The residual has the output's shape; the bias is epilogue.row_bias.
void run_window_conv(const WindowConv& conv, const float* x, const float* weights, const Epilogue& epilogue,
                     float* y, int threads, std::byte* workspace);

}  // namespace walle::kernels
