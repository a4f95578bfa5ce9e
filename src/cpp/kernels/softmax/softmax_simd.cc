// Softmax of dense rows: maximum, exponentials and their sum, scaling.
#include "kernels/simd_math.h"
#include "kernels/softmax/softmax_lanes_simd.h"
#include "kernels/softmax/softmax_table.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
float row_maximum(const float* x, int64_t n) {
  vf best = splat(-__builtin_inff());
  int64_t i = 0;
  // Four at once: one chain of maxima waits for itself, 4 cycles a vector.
  if (n >= 4 * kLanes) {
    vf part[4] = {best, best, best, best};
    for (; i + 4 * kLanes <= n; i += 4 * kLanes)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) part[q] = max_keep_nan(part[q], load(x + i + q * kLanes));
    best = max_keep_nan(max_keep_nan(part[0], part[1]), max_keep_nan(part[2], part[3]));
  }
  for (; i + kLanes <= n; i += kLanes) best = max_keep_nan(best, load(x + i));
  float last = max_lanes(best);
  for (; i < n; ++i) last = x[i] > last || x[i] != x[i] ? x[i] : last;
  return last;
}

// Three passes over a row that stays in the cache. One vector
// of sums: its lanes keep the error of a long row small.
void row(const float* x, float* y, int64_t n) {
  const vf top = splat(row_maximum(x, n));
  vf sum{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const vf e = exp(load(x + i) - top);
    store(y + i, e);
    sum += e;
  }
  float total = sum_lanes(sum);
  if (i < n) {
    // The rest goes through the same exp as the vectors, so that equal inputs give equal outputs wherever in
    // the row they stand.
    float lanes[kLanes];
    store(lanes, exp(load_n(x + i, n - i) - top));
    for (int64_t q = 0; i + q < n; ++q) {
      y[i + q] = lanes[q];
      total += lanes[q];
    }
  }
  const float factor = 1.0f / total;
  for (i = 0; i + kLanes <= n; i += kLanes) store(y + i, load(y + i) * factor);
  for (; i < n; ++i) y[i] *= factor;
}

// x - maximum - log(sum of exponentials), in this order: the difference is exact where x is near the maximum.
void log_row(const float* x, float* y, int64_t n) {
  const vf top = splat(row_maximum(x, n));
  vf sum{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum += exp(load(x + i) - top);
  float total = sum_lanes(sum);
  if (i < n) {
    float lanes[kLanes];
    store(lanes, exp(load_n(x + i, n - i) - top));
    for (int64_t q = 0; i + q < n; ++q) total += lanes[q];
  }
  const vf shift = splat(__builtin_logf(total));
  for (i = 0; i + kLanes <= n; i += kLanes) store(y + i, (load(x + i) - top) - shift);
  if (i < n) store_n(y + i, (load_n(x + i, n - i) - top) - shift, n - i);
}

void log_rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) log_row(x + r * n, y + r * n, n);
}

void rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) row(x + r * n, y + r * n, n);
}
}  // namespace

extern const SoftmaxTable kSoftmaxF32;
const SoftmaxTable kSoftmaxF32 = {.rows = rows, .log_rows = log_rows, .lanes = lanes, .width = kLanes};

}  // namespace walle::kernels::WALLE_ISA_NS
