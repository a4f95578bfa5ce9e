// Layer normalisation of dense rows. Two passes over the row, which is in the cache: mean first, then the
// squares of the differences, because the one-pass formula cancels when the mean is large.
#include "kernels/norm/norm_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
float sum_of(const float* x, int64_t n) {
  // Two accumulators hide half of the addition's latency of four cycles; more would wait for the loads.
  vf a{}, b{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a += load(x + i);
    b += load(x + i + kLanes);
  }
  float total = sum_lanes(a + b);
  for (; i < n; ++i) total += x[i];
  return total;
}

float squares_of(const float* x, int64_t n, float mean) {
  const vf m = splat(mean);
  vf a{}, b{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const vf p = load(x + i) - m;
    const vf q = load(x + i + kLanes) - m;
    a += p * p;
    b += q * q;
  }
  float total = sum_lanes(a + b);
  for (; i < n; ++i) total += (x[i] - mean) * (x[i] - mean);
  return total;
}

void layer_norm(const float* x, const float* scale, const float* bias, float* y, int64_t rows, int64_t n,
                float epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float mean = sum_of(x, n) / static_cast<float>(n);
    const float inverse = 1.0f / __builtin_sqrtf(squares_of(x, n, mean) / static_cast<float>(n) + epsilon);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      vf v = (load(x + i) - mean) * inverse;
      if (scale) v *= load(scale + i);
      if (bias) v += load(bias + i);
      store(y + i, v);
    }
    for (; i < n; ++i) y[i] = (x[i] - mean) * inverse * (scale ? scale[i] : 1.0f) + (bias ? bias[i] : 0.0f);
  }
}
}  // namespace

extern const NormTable kNormF32;
const NormTable kNormF32 = {.layer_norm = layer_norm};

}  // namespace walle::kernels::WALLE_ISA_NS
