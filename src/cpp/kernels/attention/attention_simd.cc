// Softmax over the keys and the mixing of values, for a block of queries whose scores lie key by key.
#include "kernels/attention/attention_table.h"
#include "kernels/simd_math.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int kVectors = 2;  // of queries: GemmTable.nr is as wide
constexpr int kNr = kVectors * kLanes;
// Queries that mix values together. With two vectors of values 16 accumulators where there are 32 registers,
// which cover the latency of the multiply-adds (4 cycles, 2 a cycle); 8 of 16 elsewhere.
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_NEON)
constexpr int kMixed = 8;
#else
constexpr int kMixed = 4;
#endif
// Keys whose exponentials are summed before they join the total: the error of a sum in float grows with the
// number of its terms, and of 4096 keys less than a hundred additions then follow one another.
constexpr int64_t kSummed = 64;

// Keys whose weighted values are summed before they join the total, for the same reason; an exit costs 16
// additions through the stack.
constexpr int64_t kMixedKeys = 256;

// exp of what is at most 0, and 0 where the result would be subnormal: one factor 2^n then suffices.
inline vf exp_of_difference(vf x) {
  constexpr float kLowest = -87.0f;  // the logarithm of the smallest normal number is -87.34
  const vf bounded = max_keep_nan(splat(kLowest), x);
  const vf magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  const vf shifted = bounded * 1.44269504f + magic;
  const vf n = shifted - magic;
  const vf r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, as in simd_math.h
  const vf p = polynomial(r, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f);
  // The low bits of `shifted` are n; a product and not an addition to the exponent, because NaN stays NaN.
  const vf e = p * as_float((as_int(shifted) << 23) + 0x3f800000);
  // Not `x < kLowest ? 0 : e`, for which NaN is not less either, but whose blend costs more.
  return as_float(as_int(e) & ~(x < kLowest));
}

template <int V>
void softmax_lanes(float* s, int64_t keys, float* inverse) {
  vf top[2][V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) top[0][v] = top[1][v] = splat(-__builtin_inff());
  int64_t l = 0;
  for (; l + 2 <= keys; l += 2)
#pragma GCC unroll 2
    for (int u = 0; u < 2; ++u)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) top[u][v] = max_keep_nan(top[u][v], load(s + (l + u) * kNr + v * kLanes));
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    if (l < keys) top[0][v] = max_keep_nan(top[0][v], load(s + l * kNr + v * kLanes));
    top[0][v] = max_keep_nan(top[0][v], top[1][v]);
  }
  vf total[V] = {};
  for (int64_t from = 0; from < keys; from += kSummed) {
    const int64_t to = from + kSummed < keys ? from + kSummed : keys;
    vf sum[V] = {};
    for (l = from; l < to; ++l)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        float* at = s + l * kNr + v * kLanes;
        const vf e = exp_of_difference(load(at) - top[0][v]);
        store(at, e);
        sum[v] += e;
      }
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) total[v] += sum[v];
  }
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) store(inverse + v * kLanes, 1.0f / total[v]);
}

void softmax(float* scores, int64_t keys, int64_t queries, float* inverse) {
  (queries <= kLanes ? softmax_lanes<1> : softmax_lanes<2>)(scores, keys, inverse);
}

template <int M, int V>
void mix_tile(const float* __restrict p, const float* __restrict v, int64_t keys, int64_t cols,
              const float* inverse, float* out, int64_t out_row) {
  vf total[M][V] = {};
  for (int64_t from = 0; from < keys; from += kMixedKeys) {
    const int64_t n = keys - from < kMixedKeys ? keys - from : kMixedKeys;
    vf acc[M][V] = {};
#pragma GCC unroll 2
    for (int64_t l = 0; l < n; ++l) {
      vf values[V];
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) values[j] = load(v + j * kLanes);
#pragma GCC unroll 8
      for (int q = 0; q < M; ++q) {
        const vf weight = splat(p[q]);
#pragma GCC unroll 2
        for (int j = 0; j < V; ++j) acc[q][j] += weight * values[j];
      }
      p += kNr;
      v += kNr;
    }
#pragma GCC unroll 8
    for (int q = 0; q < M; ++q)
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) total[q][j] += acc[q][j];
  }
  const bool whole = cols == V * kLanes;
#pragma GCC unroll 8
  for (int q = 0; q < M; ++q)
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j) {
      float* to = out + q * out_row + j * kLanes;
      const vf y = total[q][j] * inverse[q];
      whole || (j + 1) * kLanes <= cols ? store(to, y) : store_n(to, y, cols - j * kLanes);
    }
}

template <int V>
void mix_columns(const float* p, const float* v, int64_t keys, int64_t queries, int64_t cols,
                 const float* inverse, float* out, int64_t out_row) {
  int64_t q = 0;
  for (; q + kMixed <= queries; q += kMixed)
    mix_tile<kMixed, V>(p + q, v, keys, cols, inverse + q, out + q * out_row, out_row);
  for (; q + 2 <= queries; q += 2)
    mix_tile<2, V>(p + q, v, keys, cols, inverse + q, out + q * out_row, out_row);
  if (q < queries) mix_tile<1, V>(p + q, v, keys, cols, inverse + q, out + q * out_row, out_row);
}

void mix(const float* p, const float* v, int64_t keys, int64_t queries, int64_t cols, const float* inverse,
         float* out, int64_t out_row) {
  (cols <= kLanes ? mix_columns<1> : mix_columns<2>)(p, v, keys, queries, cols, inverse, out, out_row);
}
}  // namespace

extern const AttentionTable kAttentionF32;
const AttentionTable kAttentionF32 = {.softmax = softmax, .mix = mix};

}  // namespace walle::kernels::WALLE_ISA_NS
