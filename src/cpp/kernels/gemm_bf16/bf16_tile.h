// Register tiles of the product in bfloat16, for a file that has included the words of kernels/simd/bfloat.h
// or what stands for them in tests.
//
// Tiles leave through the stack: one exit serves tiles of every height, where gemm_simd.cc has one in
// registers for each, which are 100 KB. It costs 28 stores and loads, 3 % of a tile of 64 steps.
#pragma once

#include "kernels/gemm_bf16/bf16_table.h"
#include "kernels/simd_activation.h"
#include "kernels/simd_tiles.h"
#if !defined(WALLE_ISA_AVX512)  // which has no such products
#include "kernels/square_steps.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Steps between two looks at what is to be fetched ahead.
constexpr int64_t kLook = 8;
constexpr int64_t kLineWords = 16;

// What a block wants fetched, shared out among its tiles.
struct Ahead {
  const uint32_t* at = nullptr;
  int64_t lines = 0;  // at each look
  inline __attribute__((always_inline)) void look() {
    for (int64_t i = 0; i < lines; ++i, at += kLineWords) __builtin_prefetch(at, 0, 2);
  }
};

template <int M, int V>
inline __attribute__((always_inline)) void step(vf (&acc)[M][V], const uint32_t* a, const uint32_t* b) {
  vu bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = load_words(b + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu word = splat_word(a[i * kBf16Row]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = products(acc[i][v], word, bv[v]);
  }
}

// sums[i * kNr + j]. Every tile and row_tile() add in the same order: equal columns have equal results
// wherever they stand.
template <int M, int V>
void tile(const Bf16Block& t, const uint32_t* a, Ahead& ahead, float* sums) {
  const uint32_t* b = t.b;
  int64_t left = t.steps;
  bool first = true;
  do {  // once even for k = 0
    vf acc[M][V] = {};
    const uint32_t* at = a;
    int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    left -= chain;
    for (; chain >= kLook; chain -= kLook) {
      if constexpr (kPairsOfRows)
        multiply_squares_along(acc, at, kBf16Row, b, kLook);
      else
        for (int64_t s = 0; s < kLook; ++s, ++at, b += kNr) step<M, V>(acc, at, b);
      ahead.look();
    }
    if constexpr (kPairsOfRows) {
      multiply_squares_along(acc, at, kBf16Row, b, chain);
      turn_pairs(acc);
    } else {
      for (; chain > 0; --chain, ++at, b += kNr) step<M, V>(acc, at, b);
    }
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        float* to = sums + i * kNr + v * kLanes;
        store(to, first ? acc[i][v] : load(to) + acc[i][v]);
      }
    first = false;
    a += t.a_chain;
  } while (left > 0);
}

// Rows [row, row + count) of C from their sums: the bias or the old C, residual, clamp. What there is of it
// is asked once for all of them: asked for each vector, an exit took 80 ns, which is 3 % of 384 steps.
template <bool kOld, bool kResidual, bool kClamp, class Load, class Store>
inline __attribute__((always_inline)) void finish_as(const Bf16Block& t, int64_t row, int64_t count,
                                                     const float* sums, Load load_at, Store store_at) {
  const Epilogue& e = t.epilogue;
  vf bias[kVectors] = {};
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v)
    if (!kOld && e.col_bias) bias[v] = load_at(e.col_bias, v);
  float* c = t.c + row * t.c_row;
  const float* residual = kResidual ? e.residual + row * t.c_row : nullptr;
  for (int64_t i = 0; i < count; ++i, c += t.c_row, sums += kNr) {
    const vf each = splat(!kOld && e.row_bias ? e.row_bias[row + i] : 0.0f);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      vf x = load(sums + v * kLanes) + (kOld ? load_at(c, v) : bias[v] + each);
      if (kResidual) x += load_at(residual + i * t.c_row, v);
      if (kClamp) x = clamp(x, e.alpha, e.beta);
      store_at(c, v, x);
    }
  }
}

template <class Load, class Store>
inline __attribute__((always_inline)) void finish_by(const Bf16Block& t, int64_t row, int64_t count,
                                                     const float* sums, Load load_at, Store store_at) {
  const bool residual = t.last && t.epilogue.residual;
  const bool clamps = t.last && t.epilogue.activation == Activation::clamp;
  if (t.first && !residual && !clamps)
    return finish_as<false, false, false>(t, row, count, sums, load_at, store_at);
  if (t.first && residual && !clamps)
    return finish_as<false, true, false>(t, row, count, sums, load_at, store_at);
  if (t.first && !residual) return finish_as<false, false, true>(t, row, count, sums, load_at, store_at);
  if (t.first) return finish_as<false, true, true>(t, row, count, sums, load_at, store_at);
  if (!residual && !clamps) return finish_as<true, false, false>(t, row, count, sums, load_at, store_at);
  if (residual && !clamps) return finish_as<true, true, false>(t, row, count, sums, load_at, store_at);
  if (!residual) return finish_as<true, false, true>(t, row, count, sums, load_at, store_at);
  finish_as<true, true, true>(t, row, count, sums, load_at, store_at);
}

// The right edge has no slack behind its rows.
void finish(const Bf16Block& t, int64_t row, int64_t count, const float* sums) {
  if (t.cols == kNr) {
    finish_by(
        t, row, count, sums, [](const float* p, int v) { return load(p + v * kLanes); },
        [](float* p, int v, vf x) { store(p + v * kLanes, x); });
  } else {
    const int64_t lanes[kVectors] = {t.cols < kLanes ? t.cols : kLanes,
                                     t.cols < kLanes ? 0 : t.cols - kLanes};
    finish_by(
        t, row, count, sums, [&](const float* p, int v) { return load_n(p + v * kLanes, lanes[v]); },
        [&](float* p, int v, vf x) { store_n(p + v * kLanes, x, lanes[v]); });
  }
  const Epilogue& e = t.epilogue;
  if (t.last && e.activation > Activation::clamp)
    activate_block(t.c + row * t.c_row, t.c_row, count, t.cols, e.activation, e.alpha, e.beta);
}

// One row by P panels, side by side: a product of one row takes as long as reading B, and several streams
// come from memory faster than one does (1 x 4096 x 4096: 1.3 ms, 2.0 panel by panel; 1.6 with the next one
// asked for ahead).
template <int P>
void row_tile(const Bf16Block& t, const uint32_t* b, float (&sums)[P][kNr]) {
  const uint32_t* a = t.a;
  int64_t left = t.steps;
  bool first = true;
  do {  // once even for k = 0
    vf acc[P][2] = {};
    const int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    left -= chain;
    for (int64_t s = 0; s < chain; ++s, b += kNr) {
      const vu word = splat_word(a[s]);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const uint32_t* at = b + p * t.b_panel;
        acc[p][0] = products(acc[p][0], word, load_words(at));
        acc[p][1] = products(acc[p][1], word, load_words(at + kLanes));
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        float* to = sums[p] + v * kLanes;
        store(to, first ? acc[p][v] : load(to) + acc[p][v]);
      }
    first = false;
    a += t.a_chain;
  } while (left > 0);
}

constexpr int kStreams = 4;

template <int P>
void row_panels(Bf16Block& t, int64_t cols) {
  alignas(64) float sums[P][kNr];
  row_tile<P>(t, t.b, sums);
  for (int p = 0; p < P; ++p, cols -= kNr) {
    t.cols = cols < kNr ? cols : kNr;
    finish(t, 0, 1, sums[p]);
    t.c += kNr;
    if (t.epilogue.col_bias) t.epilogue.col_bias += kNr;
    if (t.epilogue.residual) t.epilogue.residual += kNr;
  }
  t.b += P * t.b_panel;
}

void row(const Bf16Block& whole) {
  Bf16Block t = whole;
  int64_t cols = whole.cols;
  for (; cols > (kStreams - 1) * kNr; cols -= kStreams * kNr) row_panels<kStreams>(t, cols);
  for (; cols > 0; cols -= kNr) row_panels<1>(t, cols);
}

// The lines of C are on their way while the tile is summed.
inline void fetch_c(const Bf16Block& t, int64_t row, int64_t rows) {
  for (const float* c = t.c + row * t.c_row; rows > 0; --rows, c += t.c_row) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + t.cols - 1, 1);
  }
}

using Tile = void (*)(const Bf16Block&, const uint32_t*, Ahead&, float*);

void block(const Bf16Block& t) {
  if (t.cols > kNr) return row(t);
  static constexpr Tile wide[] = {WALLE_TILES(tile, 2)};
  // Of the last panel alone: eight sums hide the latency, and taller ones were 7 KB.
  static constexpr Tile narrow[] = {WALLE_TILES_6(tile, 1), tile<7, 1>, tile<8, 1>};
  const bool is_wide = t.cols > kLanes;
  const Tile* const tiles = is_wide ? wide : narrow;
  const int64_t most = is_wide || kMr < 8 ? kMr : 8;
  alignas(64) float sums[kMr * kNr];
  const int64_t count = (t.rows + most - 1) / most;
  Ahead ahead{t.ahead, t.ahead ? (kLook * kNr / kLineWords + count - 1) / count : 0};
  // Of one height, or two: 128 rows are eight tiles of 13 and two of 12, because one of 2 rows would wait for
  // its own sums.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = t.rows * i / count;
    const int64_t rows = t.rows * (i + 1) / count - row;
    fetch_c(t, row, rows);
    tiles[rows - 1](t, t.a + row * kBf16Row, ahead, sums);
    finish(t, row, rows, sums);
  }
}

void pack_a(const float* a, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k, int64_t a_chain,
            uint32_t* out) {
  for (int64_t l0 = 0; l0 < k; l0 += 2 * kBf16Chain, out += a_chain) {
    const int64_t depth = k - l0 < 2 * kBf16Chain ? k - l0 : 2 * kBf16Chain;
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = a + i * row_stride + l0 * col_stride;
      uint32_t* to = out + i * kBf16Row;
      int64_t l = 0;
      if (col_stride == 1) {
        for (; l + 2 * kLanes <= depth; l += 2 * kLanes)
          store_words(to + l / 2, in_order(load(from + l), load(from + l + kLanes)));
        if (l < depth) {  // the row has room for whole vectors
          const int64_t left = depth - l;
          const vf low = load_n(from + l, left < kLanes ? left : kLanes);
          store_words(to + l / 2,
                      in_order(low, left > kLanes ? load_n(from + l + kLanes, left - kLanes) : vf{}));
        }
        continue;
      }
      for (; l + 1 < depth; l += 2) to[l / 2] = pair_of(from[l * col_stride], from[(l + 1) * col_stride]);
      if (l < depth) to[l / 2] = pair_of(from[l * col_stride], 0);
    }
  }
}

// Two rows of B, of which the second may be missing, side by side in panels.
void pack_rows(const float* even, const float* odd, int64_t cols, int64_t panel, uint32_t* out) {
  for (int64_t j0 = 0; j0 < cols; j0 += kNr, out += panel)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t j = j0 + v * kLanes;
      const int64_t left = cols - j;
      if (left >= kLanes) {
        store_words(out + v * kLanes, in_pairs(load(even + j), odd ? load(odd + j) : vf{}));
      } else {
        const int64_t lanes = left < 0 ? 0 : left;
        store_words(out + v * kLanes,
                    lanes ? in_pairs(load_n(even + j, lanes), odd ? load_n(odd + j, lanes) : vf{}) : vu{});
      }
    }
}

void pack_b(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t cols, int64_t panel,
            uint32_t* out) {
  for (int64_t l = 0; l < k; l += 2, out += kNr) {
    const float* even = b + l * row_stride;
    const bool both = l + 1 < k;
    if (col_stride == 1) {
      pack_rows(even, both ? even + row_stride : nullptr, cols, panel, out);
      continue;
    }
    for (int64_t j0 = 0; j0 < cols; j0 += kNr)
      for (int64_t j = j0; j < j0 + kNr; ++j) {
        const float* from = even + j * col_stride;
        out[j0 / kNr * panel + j - j0] = j < cols ? pair_of(from[0], both ? from[row_stride] : 0.0f) : 0u;
      }
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
