#include "kernels/conv/channel_lanes.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/parallel.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(ChannelLanesTable, kChannelLanesF32, channel_lanes_table)

namespace {
using base::ceil_div;
using base::round_up;

int64_t blocks_of_channels(const LaneConv& c) { return ceil_div(c.shape.c, c.table->lanes); }
int64_t panel(const LaneConv& c) { return 2 * c.table->lanes; }
int64_t panels(const LaneConv& c) { return ceil_div(c.shape.m, panel(c)); }

// As many channels are summed from zero; kChain in gemm_simd.cc says why.
constexpr int64_t kChain = 256;

// Of one thread: a block of pixels with channels in lanes, and the sums of one panel.
int64_t turned_floats(const LaneConv& c) {
  return whole_lines(blocks_of_channels(c) * c.block * c.table->lanes);
}
int64_t thread_floats(const LaneConv& c) { return turned_floats(c) + whole_lines(c.block * panel(c)); }

// Pixels [from, to) of one image by panels [p0, p1).
void run_block(const LaneConv& c, const float* image, const float* weights, const Epilogue& e, float* y,
               int64_t from, int64_t to, int64_t p0, int64_t p1, float* turned) {
  const ConvShape& s = c.shape;
  const int64_t lanes = c.table->lanes;
  const int64_t pixels = to - from;
  float* sums = turned + turned_floats(c);
  for (int64_t b = 0; b < blocks_of_channels(c); ++b)
    c.table->strip({.image = image + b * lanes * c.pixels(),
                    .plane = c.pixels(),
                    .channels = std::min(lanes, s.c - b * lanes),
                    .h = 1,
                    .w = c.pixels(),
                    .row = 0,
                    .col = from,
                    .rows = 1,
                    .cols = pixels,
                    .out = turned + b * pixels * lanes});
  for (int64_t q = p0; q < p1; ++q) {
    const int64_t m = q * panel(c);
    const int64_t filters = std::min(panel(c), s.m - m);
    c.table->product({.positions = 1,
                      .tiles = pixels,
                      .channels = s.c,
                      .filters = filters,
                      .a = turned,
                      .a_block = pixels * lanes,
                      .b = weights + q * s.c * panel(c),
                      .c = sums,
                      .chain = kChain});
    const int64_t at = m * c.pixels() + from;
    LaneOutput out{.sums = sums,
                   .pixels = pixels,
                   .filters = filters,
                   .out = y + at,
                   .plane = c.pixels(),
                   .epilogue = e};
    if (out.epilogue.row_bias) out.epilogue.row_bias += m;
    if (out.epilogue.residual) out.epilogue.residual += at;
    c.table->pixels(out);
  }
}
}  // namespace

bool lane_conv_fits(const ConvShape& s) {
  return s.taps() == 1 && s.sh == 1 && s.sw == 1 && s.pt == 0 && s.pl == 0 && s.groups == 1 && s.oh == s.h &&
         s.ow == s.w;
}

LaneConv make_lane_conv(const ConvShape& shape, Isa isa) {
  LaneConv c{.shape = shape, .table = &channel_lanes_table(isa)};
  // The block of pixels stays in half of the second-level cache while panels of weights pass by; two register
  // blocks at least, because each block reads all weights anew.
  const int64_t bytes = round_up(shape.c, c.table->lanes) * kFloatBytes;
  const int64_t fit = base::cpu_features().l2_bytes / 2 / std::max<int64_t>(bytes, 1);
  const int64_t most = std::max<int64_t>(fit, 2 * c.table->rows);
  const int64_t pixels = std::max<int64_t>(c.pixels(), 1);
  c.block = ceil_div(pixels, ceil_div(pixels, most));
  return c;
}

LaneWork lane_work(const LaneConv& c) {
  const auto filters = static_cast<double>(round_up(c.shape.m, c.table->lanes));
  const auto pixels = static_cast<double>(c.shape.n * c.pixels());
  const auto channels = static_cast<double>(c.shape.c);
  return {.product_flops = 2 * pixels * channels * filters,
          .turned_floats = pixels * (static_cast<double>(round_up(c.shape.c, c.table->lanes)) + filters)};
}

int64_t lane_weight_elements(const LaneConv& c) { return panels(c) * c.shape.c * panel(c); }

void lane_weights(const LaneConv& c, const float* filters, float* out) {
  for (int64_t q = 0; q < panels(c); ++q) {
    const int64_t m = q * panel(c);
    c.table->weights(filters + m * c.shape.c, std::min(panel(c), c.shape.m - m), c.shape.c,
                     out + q * c.shape.c * panel(c));
  }
}

int64_t lane_workspace_bytes(const LaneConv& c, int threads) {
  return threads * thread_floats(c) * kFloatBytes;
}

void run_lane_conv(const LaneConv& c, const float* x, const float* weights, const Epilogue& e, float* y,
                   int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  if (s.n == 0 || s.m == 0 || c.pixels() == 0) return;
  // By panels of output channels, as the weights are most of what is read and each thread then reads its own;
  // every thread turns the pixels for itself, which costs a hundredth. A thread that waits costs more than
  // weights that are read twice: then by pixels.
  const bool even = unevenness(panels(c), threads) <=
                    kUnevenAtMost * unevenness(ceil_div(c.pixels(), int64_t{c.table->rows}), threads);
  const int64_t by_panels = even ? std::min<int64_t>(threads, panels(c)) : 1;
  const int64_t by_pixels = std::clamp<int64_t>(c.pixels() / c.table->rows, 1, threads / by_panels);
  base::parallel_for(by_panels * by_pixels, threads, [&](int64_t share) {
    const int64_t q = share % by_panels;
    const int64_t t = share / by_panels;
    auto* turned = reinterpret_cast<float*>(workspace) + share * thread_floats(c);
    const int64_t p0 = c.pixels() * t / by_pixels;
    const int64_t p1 = c.pixels() * (t + 1) / by_pixels;
    for (int64_t n = 0; n < s.n; ++n) {
      const int64_t first = n * s.m * c.pixels();
      Epilogue here = e;
      if (here.residual) here.residual += first;
      const int64_t blocks = ceil_div(p1 - p0, c.block);
      for (int64_t b = 0; b < blocks; ++b)
        run_block(c, x + n * s.c * c.pixels(), weights, here, y + first, p0 + (p1 - p0) * b / blocks,
                  p0 + (p1 - p0) * (b + 1) / blocks, panels(c) * q / by_panels,
                  panels(c) * (q + 1) / by_panels, turned);
    }
  });
}

}  // namespace walle::kernels
