// How tiles of the product of 16-bit numbers begin and leave, whatever they multiply in.
//
// Tiles leave through the stack: one exit serves tiles of every height, where gemm_simd.cc has one in
// registers for each, which are 100 KB. It costs 28 stores and loads, 3 % of a tile of 64 steps.
#pragma once

#include "kernels/gemm_bf16/bf16_table.h"
#include "kernels/simd_activation.h"
#include "kernels/simd_tiles.h"

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

// The lines of C are on their way while the tile is summed.
inline void fetch_c(const Bf16Block& t, int64_t row, int64_t rows) {
  for (const float* c = t.c + row * t.c_row; rows > 0; --rows, c += t.c_row) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + t.cols - 1, 1);
  }
}

using Tile = void (*)(const Bf16Block&, const uint32_t*, Ahead&, float*);

// The rows of a block of one panel by tiles of each height up to `most`.
inline void by_tiles(const Bf16Block& t, const Tile* tiles, int64_t most) {
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

// Panels that one row is multiplied by side by side; sums[panel * kNr + j].
constexpr int kStreams = 4;
using RowTile = void (*)(const Bf16Block&, float* sums);

inline void by_panels(const Bf16Block& whole, RowTile streams, RowTile one) {
  Bf16Block t = whole;
  alignas(64) float sums[kStreams * kNr];
  for (int64_t cols = whole.cols; cols > 0;) {
    const int panels = cols > (kStreams - 1) * kNr ? kStreams : 1;
    (panels == 1 ? one : streams)(t, sums);
    for (int p = 0; p < panels; ++p, cols -= kNr) {
      t.cols = cols < kNr ? cols : kNr;
      finish(t, 0, 1, sums + p * kNr);
      t.c += kNr;
      if (t.epilogue.col_bias) t.epilogue.col_bias += kNr;
      if (t.epilogue.residual) t.epilogue.residual += kNr;
    }
    t.b += panels * t.b_panel;
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
