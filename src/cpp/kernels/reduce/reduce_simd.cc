// Sums of dense rows. Four rows at a time: one sum alone waits for its last addition, four cycles a vector.
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
}  // namespace

extern const ReduceTable kReduceF32;
const ReduceTable kReduceF32 = {.row_sums = row_sums};

}  // namespace walle::kernels::WALLE_ISA_NS
