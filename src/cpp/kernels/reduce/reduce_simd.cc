// Sums and extremes of dense rows. Four rows at a time: one sum alone waits for its last addition, four
// cycles a vector.
#include <algorithm>

#include "kernels/reduce/reduce_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int kParts = kSumLanes / kLanes;  // vectors that make the sixteen lanes

// The sum of n <= kSumBlock elements in each of `Rows` rows that lie `step` apart, added to total[].
template <int Rows>
void add_block(const float* x, int64_t n, int64_t step, double* total) {
  vf lane[Rows][kParts] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int r = 0; r < Rows; ++r)
      for (int p = 0; p < kParts; ++p) lane[r][p] += load(x + r * step + i + p * kLanes);
  for (int p = 0; p < kParts && i < n; ++p, i += kLanes)
    for (int r = 0; r < Rows; ++r) lane[r][p] += load_n(x + r * step + i, std::min<int64_t>(n - i, kLanes));
  for (int r = 0; r < Rows; ++r) {
    for (int width = kParts / 2; width > 0; width /= 2)
      for (int p = 0; p < width; ++p) lane[r][p] += lane[r][p + width];
    total[r] += static_cast<double>(sum_lanes(lane[r][0]));
  }
}

template <int Rows>
void sums(const float* x, float* y, int64_t n) {
  double total[Rows] = {};
  for (int64_t at = 0; at < n; at += kSumBlock)
    add_block<Rows>(x + at, std::min(kSumBlock, n - at), n, total);
  for (int r = 0; r < Rows; ++r) y[r] = static_cast<float>(total[r]);
}

void row_sums(const float* x, float* y, int64_t rows, int64_t n) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) sums<4>(x + r * n, y + r, n);
  for (; r < rows; ++r) sums<1>(x + r * n, y + r, n);
}

// The operations give their second operand when either is NaN; a NaN in the first is put back.
struct Maximum {
  static vf of(vf a, vf b) { return a == a ? max_keep_nan(a, b) : a; }
  static float of(float a, float b) { return a > b || a != a ? a : b; }
};
struct Minimum {
  static vf of(vf a, vf b) { return a == a ? min_keep_nan(a, b) : a; }
  static float of(float a, float b) { return a < b || a != a ? a : b; }
};

template <class Best>
float extreme(const float* x, int64_t n) {
  vf best[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) best[q] = splat(x[0]);
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) best[q] = Best::of(best[q], load(x + i + q * kLanes));
  for (; i + kLanes <= n; i += kLanes) best[0] = Best::of(best[0], load(x + i));
  float lanes[kLanes];
  store(lanes, Best::of(Best::of(best[0], best[1]), Best::of(best[2], best[3])));
  float found = lanes[0];
  for (int q = 1; q < kLanes; ++q) found = Best::of(found, lanes[q]);
  for (; i < n; ++i) found = Best::of(found, x[i]);
  return found;
}

template <class Best>
void extremes(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) y[r] = extreme<Best>(x + r * n, n);
}
}  // namespace

extern const ReduceTable kReduceF32;
const ReduceTable kReduceF32 = {
    .row_sums = row_sums, .row_maxima = extremes<Maximum>, .row_minima = extremes<Minimum>};

}  // namespace walle::kernels::WALLE_ISA_NS
