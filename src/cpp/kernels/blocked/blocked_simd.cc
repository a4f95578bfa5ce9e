// Kernels of channel-blocked storage.
#include "kernels/blocked/blocked_depthwise_simd.h"
#include "kernels/blocked/blocked_turn_simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// NaN on either side stays: the instruction behind max_keep_nan forgets one on its left.
inline vf larger(vf a, vf b) {
  const vf most = max_keep_nan(a, b);
  return a != a ? a : most;
}

// The steps of a window of `size`, `step` apart, that lie in [0, n) when it starts at `from`.
inline void inside(int64_t from, int64_t step, int64_t size, int64_t n, int64_t& first, int64_t& last) {
  first = from < 0 ? (-from + step - 1) / step : 0;
  last = from >= n ? 0 : min64(size, (n - from + step - 1) / step);
  last = max64(last, first);
}

template <bool Mean>
void pool_pixel(const BlockedPool& p, int64_t row, int64_t col, int64_t i0, int64_t i1) {
  const int64_t top = row * p.sh - p.pt;
  const int64_t left = col * p.sw - p.pl;
  int64_t j0, j1;
  inside(left, p.dw, p.kw, p.w, j0, j1);
  vf acc[kBlock / kLanes];
  for (vf& a : acc) a = Mean ? vf{} : splat(-__builtin_inff());
  for (int64_t i = i0; i < i1; ++i) {
    const float* x = p.x + ((top + i * p.dh) * p.w + left + j0 * p.dw) * kBlock;
    for (int64_t j = j0; j < j1; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kBlock / kLanes; ++v) {
        const vf in = load(x + v * kLanes);
        acc[v] = Mean ? acc[v] + in : larger(acc[v], in);
      }
      x += p.dw * kBlock;
    }
  }
  const vf count = Mean ? splat(p.row_counts[row] * p.col_counts[col]) : vf{};
  float* y = p.y + (row * p.ow + col) * kBlock;
  for (int v = 0; v < kBlock / kLanes; ++v) store(y + v * kLanes, Mean ? acc[v] / count : acc[v]);
}

void pool(const BlockedPool& p) {
  for (int64_t row = p.row; row < p.end; ++row) {
    int64_t i0, i1;
    inside(row * p.sh - p.pt, p.dh, p.kh, p.h, i0, i1);
    for (int64_t col = 0; col < p.ow; ++col)
      p.col_counts ? pool_pixel<true>(p, row, col, i0, i1) : pool_pixel<false>(p, row, col, i0, i1);
  }
}

void mean(const float* x, int64_t pixels, float count, float* out) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    // Four sums: one would wait for the latency of an addition per pixel.
    vf sum[4] = {};
    int64_t p = 0;
    for (; p + 4 <= pixels; p += 4)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) sum[q] += load(x + (p + q) * kBlock + lane);
    for (; p < pixels; ++p) sum[0] += load(x + p * kBlock + lane);
    store(out + lane, ((sum[0] + sum[1]) + (sum[2] + sum[3])) / splat(count));
  }
}

template <BlockedScale S>
void scale_block(const float* x, const float* lanes, int64_t pixels, float* out) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    const vf b = load(lanes + lane);
    for (int64_t p = 0; p < pixels; ++p) {
      const vf a = load(x + p * kBlock + lane);
      store(out + p * kBlock + lane, S == BlockedScale::add        ? a + b
                                     : S == BlockedScale::subtract ? a - b
                                                                   : a * b);
    }
  }
}

void scale(BlockedScale kind, const float* x, const float* lanes, int64_t pixels, float* out) {
  if (kind == BlockedScale::add) return scale_block<BlockedScale::add>(x, lanes, pixels, out);
  if (kind == BlockedScale::subtract) return scale_block<BlockedScale::subtract>(x, lanes, pixels, out);
  scale_block<BlockedScale::multiply>(x, lanes, pixels, out);
}
}  // namespace

extern const BlockedTable kBlockedF32;
const BlockedTable kBlockedF32 = {.lanes = kLanes,
                                  .rows = kMr,
                                  .from_rows = from_rows,
                                  .to_rows = to_rows,
                                  .dense = dense,
                                  .depthwise = depthwise,
                                  .pool = pool,
                                  .mean = mean,
                                  .scale = scale};

}  // namespace walle::kernels::WALLE_ISA_NS
