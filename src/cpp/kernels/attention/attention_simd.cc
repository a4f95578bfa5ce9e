// Softmax over the keys and the mixing of values, for a block of queries whose scores lie key by key.
#include "kernels/attention/attention_table.h"
#include "kernels/simd_math.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int kVectors = 2;  // of queries: GemmTable.nr is as wide
constexpr int kNr = kVectors * kLanes;
// Queries that mix values together. With two vectors of values 16 accumulators where there are 32 registers,
// which cover the latency of the multiply-adds (4 cycles, 2 a cycle); 8 of 16 elsewhere.
constexpr int kMixed = kRegisters / 4;
// Keys whose exponentials are summed before they join the total: the error of a sum in float grows with the
// number of its terms, and of 4096 keys less than a hundred additions then follow one another.
constexpr int64_t kSummed = 64;

// Keys whose weighted values are summed before they join the total, for the same reason; an exit costs 16
// additions through the stack.
constexpr int64_t kMixedKeys = 256;

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
        const vf e = exp_below_zero(load(at) - top[0][v]);
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

void soften(float* x, int64_t n, float cap) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, cap * tanh(load(x + i)));
  if (i < n) store_n(x + i, cap * tanh(load_n(x + i, n - i)), n - i);
}

void add(float* x, const float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, load(x + i) + load(y + i));
  for (; i < n; ++i) x[i] += y[i];
}

bool exceeds(const float* x, int64_t n, float limit) {
  vf top = splat(limit);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = max_keep_nan(top, load(x + i));
  if (!(max_lanes(top) <= limit)) return true;
  for (; i < n; ++i)
    if (!(x[i] <= limit)) return true;
  return false;
}

// Sums over the lanes of kLanes vectors, the i-th in lane i: neighbours are added until one vector is left.
inline vf lane_sums(vf (&x)[kLanes]) {
#pragma GCC unroll 4
  for (int n = kLanes / 2; n >= 1; n /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) x[i] = even_lanes(x[2 * i], x[2 * i + 1]) + odd_lanes(x[2 * i], x[2 * i + 1]);
  return x[0];
}

// Keys whose dot products run together: as many chains of multiply-adds, and rows that come from memory.
constexpr int kAbreast = 4;

// One query by kLanes keys. A lane sums at most kMostRowsDepth / kLanes = 256 terms.
inline vf dots_of_lanes(const float* q, int64_t depth, const float* k, int64_t k_row) {
  vf all[kLanes];
#pragma GCC unroll 4
  for (int g = 0; g < kLanes; g += kAbreast) {
    const float* __restrict at = k + g * k_row;
    vf acc[kAbreast] = {};
    int64_t d = 0;
    for (; d + kLanes <= depth; d += kLanes) {
      const vf x = load(q + d);
#pragma GCC unroll 4
      for (int i = 0; i < kAbreast; ++i) acc[i] += x * load(at + i * k_row + d);
    }
    if (d < depth) {
      const vf x = load_n(q + d, depth - d);
#pragma GCC unroll 4
      for (int i = 0; i < kAbreast; ++i) acc[i] += x * load_n(at + i * k_row + d, depth - d);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kAbreast; ++i) all[g + i] = acc[i];
  }
  return lane_sums(all);
}

float dot(const float* q, const float* k, int64_t depth) {
  vf sum = {};
  int64_t d = 0;
  for (; d + kLanes <= depth; d += kLanes) sum += load(q + d) * load(k + d);
  if (d < depth) sum += load_n(q + d, depth - d) * load_n(k + d, depth - d);
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += sum[lane];
  return total;
}

// A few keys by all queries: the keys then come from the first-level cache for all queries but one.
void dots(const float* q, int64_t rows, int64_t depth, const float* k, int64_t k_row, int64_t keys, float* s,
          int64_t s_row) {
  int64_t l = 0;
  for (; l + kLanes <= keys; l += kLanes)
    for (int64_t i = 0; i < rows; ++i)
      store(s + i * s_row + l, dots_of_lanes(q + i * depth, depth, k + l * k_row, k_row));
  for (; l < keys; ++l)
    for (int64_t i = 0; i < rows; ++i) s[i * s_row + l] = dot(q + i * depth, k + l * k_row, depth);
}

// Keys of one chain of sums; a block of values that the queries after the first find in a near cache.
constexpr int64_t kRowKeys = 256;

template <int M, int V, bool kPart>
void mix_rows_tile(const float* __restrict p, int64_t p_row, const float* __restrict v, int64_t v_row,
                   int64_t keys, int64_t cols, float* out, int64_t out_row, bool first) {
  const auto at = [&](const float* row, int j) {
    const int64_t left = cols - j * kLanes;
    if (!kPart || left >= kLanes) return load(row + j * kLanes);
    return left <= 0 ? splat(0.0f) : load_n(row + j * kLanes, left);
  };
  vf acc[M][V] = {};
  for (int64_t l = 0; l < keys; ++l) {
    vf values[V];
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) values[j] = at(v + l * v_row, j);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      const vf weight = splat(p[i * p_row + l]);
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) acc[i][j] += weight * values[j];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      float* to = out + i * out_row;
      const vf y = first ? acc[i][j] : acc[i][j] + at(to, j);
      const int64_t left = cols - j * kLanes;
      if (!kPart || left >= kLanes)
        store(to + j * kLanes, y);
      else if (left > 0)
        store_n(to + j * kLanes, y, left);
    }
}

// Accumulators: 16 where there are 32 registers, 8 elsewhere.
constexpr int kRowVectors = kRegisters / 8;

template <bool kPart>
void mix_rows_columns(const float* p, int64_t p_row, int64_t rows, const float* v, int64_t v_row,
                      int64_t keys, int64_t cols, float* out, int64_t out_row, bool first) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    mix_rows_tile<4, kRowVectors, kPart>(p + i * p_row, p_row, v, v_row, keys, cols, out + i * out_row,
                                         out_row, first);
  for (; i < rows; ++i)
    mix_rows_tile<1, kRowVectors, kPart>(p + i * p_row, p_row, v, v_row, keys, cols, out + i * out_row,
                                         out_row, first);
}

void mix_rows(const float* p, int64_t p_row, int64_t rows, const float* v, int64_t v_row, int64_t keys,
              int64_t cols, float* out, int64_t out_row) {
  constexpr int64_t kColumns = kRowVectors * kLanes;
  for (int64_t from = 0; from < keys; from += kRowKeys) {
    const int64_t n = from + kRowKeys < keys ? kRowKeys : keys - from;
    for (int64_t j = 0; j < cols; j += kColumns)
      (j + kColumns <= cols ? mix_rows_columns<false>
                            : mix_rows_columns<true>)(p + from, p_row, rows, v + from * v_row + j, v_row, n,
                                                      cols - j, out + j, out_row, from == 0);
  }
}
}  // namespace

extern const AttentionTable kAttentionF32;
const AttentionTable kAttentionF32 = {.softmax = softmax,
                                      .mix = mix,
                                      .soften = soften,
                                      .add = add,
                                      .exceeds = exceeds,
                                      .dots = dots,
                                      .mix_rows = mix_rows};

}  // namespace walle::kernels::WALLE_ISA_NS
