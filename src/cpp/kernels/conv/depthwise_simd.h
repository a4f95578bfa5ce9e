// Depthwise windows over an image as it lies: rows and columns of padding are lanes that read as zero, not
// memory. Only conv_simd.cc includes this.
//
// Up to eight rows of outputs at once, a vector of columns each. An input row is loaded once per column of
// the window and meets every output row it belongs to; rows of padding are skipped, not multiplied by zero
// (7 x 7 maps with windows of 5 x 5: 17 % of the work). With a stride of 2 a row is loaded once, split into
// even and odd columns, and later columns of the window are shifts of these. Four rows at once, rows that a
// loop asked for one by one and 7 columns in 16 lanes took 1.3 (56 x 56) to 3.4 times (7 x 7) as long, planes
// of padded input still longer (Zen 4).
#pragma once

#include "kernels/conv/conv_table.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Not std::min: see simd.h for why these files take nothing inline from the standard library.
inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

// Some rows of outputs, a vector of columns. Input row q of the window's first column starts at x + q * pitch
// and exists if bit q of `rows` is set.
struct DepthwiseRows {
  const float* x = nullptr;
  int64_t pitch = 0;
  uint32_t rows = 0;
  int64_t count = 0;    // of output rows
  int64_t columns = 0;  // of outputs, at most the lanes of the vector
  const float* weights = nullptr;
  float* out = nullptr;
  const float* residual = nullptr;
  int64_t out_pitch = 0;
  float bias = 0;
  bool bounded = false;
  float low = 0, high = 0;
};

inline void set_lanes(float value, vf& x) { x = splat(value); }
inline void get_lanes(const float* p, Lanes which, vf& x) { x = load_lanes(p, which); }
inline vf whole_vector(vf x) { return x; }
// Columns `at` and `at` + 1 of the window with a stride of 2.
inline void get_pairs(const float* p, const Lanes (&which)[2], vf& even, vf& odd) {
  const vf a = load_lanes(p, which[0]);
  const vf b = load_lanes(p + kLanes, which[1]);
  even = even_lanes(a, b);
  odd = odd_lanes(a, b);
}

#if defined(WALLE_ISA_AVX512)
// Eight lanes for the last columns of a map, or all of a narrow one. Whole vectors of 16 do the same work in
// the same time where they are made of two halves (Zen 4).
typedef float vhalf __attribute__((vector_size(32)));
inline void set_lanes(float value, vhalf& x) {
  x = vhalf{value, value, value, value, value, value, value, value};
}
inline void get_lanes(const float* p, Lanes which, vhalf& x) {
  x = reinterpret_cast<vhalf>(_mm256_maskz_loadu_ps(static_cast<__mmask8>(which), p));
}
inline vf whole_vector(vhalf x) {
  return __builtin_shufflevector(x, vhalf{}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
inline void get_pairs(const float* p, const Lanes (&which)[2], vhalf& even, vhalf& odd) {
  const vf a = load_lanes(p, which[0]);
  even = __builtin_shufflevector(a, a, 0, 2, 4, 6, 8, 10, 12, 14);
  odd = __builtin_shufflevector(a, a, 1, 3, 5, 7, 9, 11, 13, 15);
}
inline vhalf shifted(vhalf x, float last) {
  vhalf behind;
  set_lanes(last, behind);
  return __builtin_shufflevector(x, behind, 1, 2, 3, 4, 5, 6, 7, 8);
}
using Narrow = vhalf;
#else
using Narrow = vf;
#endif
constexpr int kNarrow = sizeof(Narrow) / sizeof(float);

// Said to be likely, or g++ 12 puts the arithmetic of each row behind the function's end: 1.5 times the time.
inline bool exists(uint32_t rows, int q) { return __builtin_expect((rows >> q) & 1, 1); }

template <class V, int R>
inline __attribute__((always_inline)) void store_rows(const DepthwiseRows& t, V (&acc)[R]) {
  // In registers: for all the compiler knows, what is stored could be the description.
  const int64_t count = t.count, columns = t.columns, pitch = t.out_pitch;
  const vf low = splat(t.bounded ? t.low : -__builtin_inff());
  const vf high = splat(t.bounded ? t.high : __builtin_inff());
  vf y[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) y[r] = whole_vector(acc[r]);
  if (t.residual) {
    const float* from = t.residual;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      if (r < count) y[r] += load_n(from + r * pitch, columns);
  }
  float* to = t.out;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    if (r >= count) break;
    const vf bounded = min_keep_nan(high, max_keep_nan(low, y[r]));
    if (columns == kLanes)
      store(to, bounded);
    else
      store_n(to, bounded, columns);
    to += pitch;
  }
}

// Stride 1. `which`: the lanes of column j of the window that lie in the image.
template <class V, int K, int R>
void rows_by_one(const DepthwiseRows& t, const Lanes (&which)[K]) {
  V acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) set_lanes(t.bias, acc[r]);
#pragma GCC unroll 1
  for (int j = 0; j < K; ++j) {
    V w[K];
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) set_lanes(t.weights[i * K + j], w[i]);
    const float* p = t.x + j;
    const Lanes lanes = which[j];
#pragma GCC unroll 12
    for (int q = 0; q < R - 1 + K; ++q) {
      if (exists(t.rows, q)) {
        V x;
        get_lanes(p, lanes, x);
#pragma GCC unroll 5
        for (int i = 0; i < K; ++i)
          if (q >= i && q - i < R) acc[q - i] += w[i] * x;
      }
      p += t.pitch;
    }
  }
  store_rows(t, acc);
}

// Stride 2. `which`: the lanes of the first two vectors of a row that lie in the image; bit j of `behind`: so
// does the element that a shift to column j takes in.
template <class V, int K, int R>
void rows_by_two(const DepthwiseRows& t, const Lanes (&which)[2], uint32_t behind) {
  constexpr int kTaken = 2 * sizeof(V) / sizeof(float);
  V acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) set_lanes(t.bias, acc[r]);
  const float* p = t.x;
#pragma GCC unroll 19
  for (int q = 0; q < 2 * (R - 1) + K; ++q) {
    if (exists(t.rows, q)) {
      V x[K];
      get_pairs(p, which, x[0], x[1]);
#pragma GCC unroll 3
      for (int j = 2; j < K; ++j) x[j] = shifted(x[j - 2], behind & (1u << j) ? p[kTaken + j - 2] : 0.0f);
#pragma GCC unroll 5
      for (int i = q % 2; i < K; i += 2) {
        if (q < i || (q - i) / 2 >= R) continue;
#pragma GCC unroll 5
        for (int j = 0; j < K; ++j) {
          V w;
          set_lanes(t.weights[i * K + j], w);
          acc[(q - i) / 2] += w * x[j];
        }
      }
    }
    p += t.pitch;
  }
  store_rows(t, acc);
}

// Columns of outputs from `c` on; x still points to the row's first element.
template <class V, int K, int S, int R>
inline __attribute__((always_inline)) void columns_of(DepthwiseRows& t, const DepthwiseImage& d, int64_t c) {
  const int64_t at = c * S - d.pl;
  t.x += at;
  if constexpr (S == 1) {
    Lanes which[K];
#pragma GCC unroll 5
    for (int j = 0; j < K; ++j) which[j] = lanes_between(-at - j, d.w - at - j);
    rows_by_one<V, K, R>(t, which);
  } else {
    constexpr int64_t kTaken = 2 * sizeof(V) / sizeof(float);
    const Lanes which[2] = {lanes_between(-at, d.w - at), lanes_between(-at - kLanes, d.w - at - kLanes)};
    uint32_t behind = 0;
    for (int j = 2; j < K; ++j) {
      const int64_t column = at + kTaken + j - 2;
      behind |= column >= 0 && column < d.w ? 1u << j : 0;
    }
    rows_by_two<V, K, R>(t, which, behind);
  }
}

template <class V, int K, int S>
void some_columns(DepthwiseRows t, const DepthwiseImage& d, int64_t c) {
  if (t.count > 7) return columns_of<V, K, S, 8>(t, d, c);
  if (t.count > 6) return columns_of<V, K, S, 7>(t, d, c);
  if (t.count > 4) return columns_of<V, K, S, 6>(t, d, c);
  columns_of<V, K, S, 4>(t, d, c);
}

template <int K, int S>
void depthwise_window(const DepthwiseImage& d) {
  constexpr int64_t kTogether = 8;
  // Equal blocks: 14 rows as 7 + 7.
  const int64_t blocks = (d.oh + kTogether - 1) / kTogether;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t row = d.oh * b / blocks;
    DepthwiseRows t;
    t.count = d.oh * (b + 1) / blocks - row;
    const int64_t top = row * S - d.pt;
    const int64_t rows = (t.count - 1) * S + K;
    const int64_t first = min64(max64(-top, 0), rows);
    const int64_t last = max64(first, min64(d.h - top, rows));
    t.rows = (1u << last) - (1u << first);
    t.pitch = d.w;
    t.weights = d.weights;
    t.out_pitch = d.ow;
    t.bias = d.bias;
    t.bounded = d.activation == Activation::clamp;
    t.low = d.alpha;
    t.high = d.beta;
    for (int64_t c = 0; c < d.ow; c += kLanes) {
      t.x = d.image + top * d.w;
      t.columns = min64(d.ow - c, kLanes);
      t.out = d.out + row * d.ow + c;
      t.residual = d.residual ? d.residual + row * d.ow + c : nullptr;
      t.columns <= kNarrow ? some_columns<Narrow, K, S>(t, d, c) : some_columns<vf, K, S>(t, d, c);
    }
  }
  if (d.activation > Activation::clamp)
    activate_block(d.out, 0, 1, d.oh * d.ow, d.activation, d.alpha, d.beta);
}

void depthwise_image(int64_t window, int64_t stride, const DepthwiseImage& d) {
  if (window == 3) return stride == 1 ? depthwise_window<3, 1>(d) : depthwise_window<3, 2>(d);
  return stride == 1 ? depthwise_window<5, 1>(d) : depthwise_window<5, 2>(d);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
