#include "kernels/conv/lane_windows.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/workspace.h"

namespace walle::kernels {

namespace {
using base::ceil_div;
using base::round_up;

// Half of the smallest first-level cache in use; the rest is for weights and sums.
constexpr int64_t kMostRowFloats = 4096;

int64_t pitch_of(const ConvShape& s) { return (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1; }
int64_t panel(const WindowConv& c) { return 2 * c.table->lanes; }
int64_t panels(const WindowConv& c) { return ceil_div(c.shape.m, panel(c)); }
int64_t row_floats(const WindowConv& c) { return whole_lines(c.shape.c * c.shape.kh * c.pitch); }
int64_t thread_floats(const WindowConv& c) { return row_floats(c) + whole_lines(c.shape.ow * panel(c)); }

// The rows that row `r` of outputs reads, zeros for what lies outside the image.
void copy_rows(const WindowConv& c, const float* image, int64_t r, float* out) {
  const ConvShape& s = c.shape;
  const int64_t left = std::min(s.pl, c.pitch);
  const int64_t inside = std::clamp<int64_t>(c.pitch - left, 0, s.w);
  for (int64_t ch = 0; ch < s.c; ++ch)
    for (int64_t i = 0; i < s.kh; ++i) {
      const int64_t row = r * s.sh - s.pt + i * s.dh;
      if (row < 0 || row >= s.h) {
        std::fill_n(out, c.pitch, 0.0f);
      } else {
        std::fill_n(out, left, 0.0f);
        std::memcpy(out + left, image + (ch * s.h + row) * s.w, inside * kFloatBytes);
        std::fill_n(out + left + inside, c.pitch - left - inside, 0.0f);
      }
      out += c.pitch;
    }
}

// Row `r` of outputs, all of its columns and channels.
void run_row(const WindowConv& c, const float* image, const float* weights, const Epilogue& e, float* y,
             int64_t r, float* rows) {
  const ConvShape& s = c.shape;
  float* sums = rows + row_floats(c);
  copy_rows(c, image, r, rows);
  for (int64_t q = 0; q < panels(c); ++q) {
    const int64_t m = q * panel(c);
    const int64_t filters = std::min(panel(c), s.m - m);
    c.table->windows({.rows = rows,
                      .offset = c.offset.data(),
                      .depth = s.depth(),
                      .step = s.sw,
                      .pixels = s.ow,
                      .filters = filters,
                      .b = weights + m * s.depth(),
                      .c = sums});
    const int64_t at = (m * s.oh + r) * s.ow;
    LaneOutput out{
        .sums = sums, .pixels = s.ow, .filters = filters, .out = y + at, .plane = s.oh * s.ow, .epilogue = e};
    if (out.epilogue.row_bias) out.epilogue.row_bias += m;
    if (out.epilogue.residual) out.epilogue.residual += at;
    c.table->pixels(out);
  }
}
}  // namespace

bool window_conv_fits(const ConvShape& s, Isa isa) {
  return s.groups == 1 && s.taps() > 1 && s.sw <= 2 && s.ow >= channel_lanes_table(isa).rows &&
         s.c * s.kh * pitch_of(s) <= kMostRowFloats;
}

WindowConv make_window_conv(const ConvShape& s, Isa isa) {
  WindowConv c{.shape = s, .table = &channel_lanes_table(isa), .pitch = pitch_of(s), .offset = {}};
  for (int64_t row = 0; row < s.c * s.kh; ++row)
    for (int64_t j = 0; j < s.kw; ++j) c.offset.push_back(row * c.pitch + j * s.dw);
  return c;
}

WindowWork window_work(const WindowConv& c) {
  const ConvShape& s = c.shape;
  const auto rows = static_cast<double>(s.n * s.oh);
  const auto outputs = rows * static_cast<double>(s.ow * round_up(s.m, c.table->lanes));
  return {.product_flops = 2 * outputs * static_cast<double>(s.depth()),
          .copied_floats = rows * static_cast<double>(s.c * s.kh * c.pitch),
          .turned_floats = outputs};
}

int64_t window_weight_elements(const WindowConv& c) { return panels(c) * panel(c) * c.shape.depth(); }

void window_weights(const WindowConv& c, const float* filters, float* out) {
  const int64_t depth = c.shape.depth();
  for (int64_t m = 0; m < c.shape.m; m += panel(c))
    c.table->weights(filters + m * depth, std::min(panel(c), c.shape.m - m), depth, out + m * depth);
}

int64_t window_workspace_bytes(const WindowConv& c, int threads) {
  return threads * thread_floats(c) * kFloatBytes;
}

void run_window_conv(const WindowConv& c, const float* x, const float* weights, const Epilogue& e, float* y,
                     int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  const int64_t rows = s.n * s.oh;
  if (rows * s.m == 0) return;
  const int64_t shares = std::min<int64_t>(threads, rows);
  base::parallel_for(shares, threads, [&](int64_t share) {
    auto* scratch = reinterpret_cast<float*>(workspace) + share * thread_floats(c);
    for (int64_t i = rows * share / shares; i < rows * (share + 1) / shares; ++i) {
      const int64_t n = i / s.oh;
      const int64_t first = n * s.m * s.oh * s.ow;
      Epilogue here = e;
      if (here.residual) here.residual += first;
      run_row(c, x + n * s.c * s.h * s.w, weights, here, y + first, i % s.oh, scratch);
    }
  });
}

}  // namespace walle::kernels
