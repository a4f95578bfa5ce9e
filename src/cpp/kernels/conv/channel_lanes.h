// f32 convolution of 1 x 1 with output channels in lanes and pixels broadcast: maps of 7 x 7 and 14 x 14 do
// not fill panels of columns (49 of 64, 196 of 208), channels do.
//
// Immutable after make_lane_conv; run_lane_conv may be called from any thread with a workspace of its own.
#pragma once

#include "kernels/conv/channel_lanes_table.h"
#include "kernels/conv/conv.h"

namespace walle::kernels {

const ChannelLanesTable& channel_lanes_table(Isa isa);

// 1 x 1 without stride, padding or groups.
bool lane_conv_fits(const ConvShape& shape);

struct LaneConv {
  ConvShape shape;
  const ChannelLanesTable* table = nullptr;
  int64_t block = 0;  // pixels turned at once

  int64_t pixels() const { return shape.oh * shape.ow; }
};

LaneConv make_lane_conv(const ConvShape& shape, Isa isa);

// What a run does, for the search.
struct LaneWork {
  double product_flops = 0;
  double turned_floats = 0;  // from rows to lanes and back
};
LaneWork lane_work(const LaneConv& conv);

// Filters [m, c] in panels.
int64_t lane_weight_elements(const LaneConv& conv);
void lane_weights(const LaneConv& conv, const float* filters, float* out);

int64_t lane_workspace_bytes(const LaneConv& conv, int threads);

// `weights` as lane_weights makes them. The residual has the output's shape; the bias is epilogue.row_bias.
void run_lane_conv(const LaneConv& conv, const float* x, const float* weights, const Epilogue& epilogue,
                   float* y, int threads, std::byte* workspace);

}  // namespace walle::kernels
