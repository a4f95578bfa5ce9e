// Layer normalisation of dense rows. Two passes over the row, which is in the cache: mean first, then the
// squares of the differences, because the one-pass formula cancels when the mean is large.
#include "kernels/norm/norm_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// Elements that are added up in float, 128 a lane of AVX-512; blocks are added in double, so that planes of
// an image, which instance and group normalisation take for rows, are as exact as tokens.
constexpr int64_t kBlock = 4096;

float sum_of_block(const float* x, int64_t n) {
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

float squares_of_block(const float* x, int64_t n, float mean) {
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

template <class Block>
float mean_of_blocks(int64_t n, Block block) {
  double total = 0;
  for (int64_t at = 0; at < n; at += kBlock)
    total += static_cast<double>(block(at, n - at < kBlock ? n - at : kBlock));
  return static_cast<float>(total / static_cast<double>(n));
}

void norm_row(const float* x, const float* scale, const float* bias, float* y, int64_t n, float epsilon,
              float mean) {
  const float variance =
      mean_of_blocks(n, [=](int64_t at, int64_t count) { return squares_of_block(x + at, count, mean); });
  const float inverse = 1.0f / __builtin_sqrtf(variance + epsilon);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    vf v = (load(x + i) - mean) * inverse;
    if (scale) v *= load(scale + i);
    if (bias) v += load(bias + i);
    store(y + i, v);
  }
  for (; i < n; ++i) y[i] = (x[i] - mean) * inverse * (scale ? scale[i] : 1.0f) + (bias ? bias[i] : 0.0f);
}

void layer_norm(const float* x, const float* scale, const float* bias, float* y, int64_t rows, int64_t n,
                float epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float mean =
        mean_of_blocks(n, [=](int64_t at, int64_t count) { return sum_of_block(x + at, count); });
    norm_row(x, scale, bias, y, n, epsilon, mean);
  }
}

void rms_norm(const float* x, const float* scale, const float* bias, float* y, int64_t rows, int64_t n,
              float epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) norm_row(x, scale, bias, y, n, epsilon, 0);
}
}  // namespace

extern const NormTable kNormF32;
const NormTable kNormF32 = {.layer_norm = layer_norm, .rms_norm = rms_norm};

}  // namespace walle::kernels::WALLE_ISA_NS
