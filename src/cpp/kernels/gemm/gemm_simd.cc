// Register-tiled f32 matrix product: mr x nr accumulators stay in registers over the whole k loop.
//
// Tiles: 14 x 2 vectors where there are 32 registers (avx512), 6 x 2 with 16. `#pragma GCC unroll` on every
// accumulator loop is what keeps the accumulators in registers with g++ 12 (2-3 times slower without).
#include "kernels/gemm/gemm_table.h"
#include "kernels/gemm/row_simd.h"
#include "kernels/simd_activation.h"
#include "kernels/simd_by_lane.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// As many rows go without packing A: each is read once per panel of B, with unit stride.
constexpr int kMrPlain = 6;
// Columns that vector v of a tile of `cols` columns holds; 0 to kLanes.
inline int64_t lanes_of(int64_t cols, int v) {
  const int64_t left = cols - v * kLanes;
  return left < 0 ? 0 : left > kLanes ? kLanes : left;
}

// acc[i][v] = f(acc[i][v], i, v). A stage of the exit is one such walk over registers, so that what the exit
// does is asked once per stage: asked once per register it cost 43 to 57 ns a tile, plain stores take 10 to
// 14 (Zen 4). One exit per combination would be as fast, and twelve times the code.
template <int M, int V, class Fn>
inline __attribute__((always_inline)) void each(vf (&acc)[M][V], Fn fn) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = fn(acc[i][v], i, v);
}

// The bias, or the old C. One bias at a time, by which side of the product the channels are on: convolutions
// have them as rows (weights are A), fully connected layers as columns (weights are B).
template <int M, int V, class Load>
inline __attribute__((always_inline)) void begin(vf (&acc)[M][V], const GemmBlock& t, int64_t row,
                                                 Load load_at) {
  const Epilogue& e = t.epilogue;
  const float* c = t.c + row * t.c_row;
  if (!t.first) {
    each(acc, [&](vf x, int i, int v) { return x + load_at(c + i * t.c_row, v); });
  } else if (e.row_bias) {
    each(acc, [&](vf x, int i, int) { return x + e.row_bias[row + i]; });
  } else if (e.col_bias) {
    vf bias[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) bias[v] = load_at(e.col_bias, v);
    each(acc, [&](vf x, int, int v) { return x + bias[v]; });
  }
}

template <int M, int V, class Load>
inline __attribute__((always_inline)) void end(vf (&acc)[M][V], const GemmBlock& t, int64_t row,
                                               Load load_at) {
  const Epilogue& e = t.epilogue;
  if (e.residual) {
    const float* r = e.residual + row * t.c_row;
    each(acc, [&](vf x, int i, int v) { return x + load_at(r + i * t.c_row, v); });
  }
  if (e.activation == Activation::clamp) each(acc, [&](vf x, int, int) { return clamp(x, e.alpha, e.beta); });
}

// Writes the accumulators, after bias or the old C, residual and activation. Whole tiles store plain vectors;
// only the right edge of C goes through masked (or copied) lanes, because C has no slack behind its rows.
template <int M, int V>
inline __attribute__((always_inline)) void finish(vf (&acc)[M][V], const GemmBlock& t, int64_t row,
                                                  int64_t cols) {
  float* c = t.c + row * t.c_row;
  if (cols == V * kLanes) {
    const auto whole = [](const float* at, int v) { return load(at + v * kLanes); };
    begin(acc, t, row, whole);
    if (t.last) end(acc, t, row, whole);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) store(c + i * t.c_row + v * kLanes, acc[i][v]);
  } else {
    const auto part = [&](const float* at, int v) { return load_n(at + v * kLanes, lanes_of(cols, v)); };
    begin(acc, t, row, part);
    if (t.last) end(acc, t, row, part);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) store_n(c + i * t.c_row + v * kLanes, acc[i][v], lanes_of(cols, v));
  }
  // The other activations are too long to be inlined per accumulator; the tile is still in the first-level
  // cache.
  const Epilogue& e = t.epilogue;
  if (t.last && e.activation > Activation::clamp)
    activate_block(c, t.c_row, M, cols, e.activation, e.alpha, e.beta);
}

// Out of line for the tiles of many rows: inlined, g++ 12 makes a loop out of packed_tile that is 15 % slower
// (128 x 768 x 768: 0.85 -> 1.06 ms), which costs more than 28 registers that go through the stack. The tiles
// of few rows lose 12 % by the call (1 x 2048 x 1000) and inline it.
template <int M, int V>
__attribute__((noinline)) void finish_apart(vf (&acc)[M][V], const GemmBlock& t, int64_t row, int64_t cols) {
  finish(acc, t, row, cols);
}

// Tiles that share the fetching of the panel that is wanted next. One step reads 64 bytes in 6 cycles without
// AVX-512, three times what memory gives, and 128 bytes in 28 cycles with it.
constexpr int64_t kAheadTiles = kLanes == 16 ? 1 : 4;

template <int M, int V, bool kAhead = false>
void packed_tile(const GemmBlock& t, int64_t row, int64_t cols) {
  const float* __restrict a = t.a + row / kMr * t.a_panel;
  const float* __restrict b = t.b;
  const int64_t parts = t.rows >= kAheadTiles * kMr ? kAheadTiles : kAhead ? t.rows / kMr : 1;
  const float* ahead = b + t.b_next + (kAhead ? t.k * (row / kMr) / parts * t.b_row : 0);
  int64_t wait = 1;
  // The lines of C are on their way while the loop runs: with
  // a short k the stores would otherwise wait for memory.
  const float* c = t.c + row * t.c_row;
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    __builtin_prefetch(c + i * t.c_row, 1);
    if (V == 2) __builtin_prefetch(c + i * t.c_row + kLanes, 1);
  }
  vf sums[M][V];
  int64_t k = 0;
  do {  // once even for k = 0
    const int64_t chains = (t.k - k + kChain - 1) / kChain;
    const int64_t end = chains > 1 ? k + (t.k - k) / chains : t.k;
    vf acc[M][V] = {};
#pragma GCC unroll 2
    for (int64_t l = k; l < end; ++l) {
      vf bv[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) bv[v] = load(b + v * kLanes);
      // Into the second level, where the panel is looked for when its turn comes.
      if (kAhead && --wait == 0) {
        wait = parts;
        __builtin_prefetch(ahead, 0, 2);
        if (kNr > 16) __builtin_prefetch(ahead + 16, 0, 2);
        ahead += t.b_row;
      }
      if constexpr (kByLane) {
        multiply_add_beside(acc, a, bv);
      } else {
#pragma GCC unroll 14
        for (int i = 0; i < M; ++i) {
          const vf av = splat(a[i]);
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) acc[i][v] += av * bv[v];
        }
      }
      a += kMr;
      b += t.b_row;
    }
    if (k == 0)
      each(sums, [&](vf, int i, int v) { return acc[i][v]; });
    else
      each(sums, [&](vf x, int i, int v) { return x + acc[i][v]; });
    k = end;
  } while (k < t.k);
  finish_apart(sums, t, row, cols);
}

// Few rows: bound by the latency of the multiply-adds, so U steps of k go to separate accumulators. Two
// multiply-adds a cycle of four cycles' latency want eight at work.
template <int M, int V>
void plain_tile(const GemmBlock& t, int64_t row, int64_t cols) {
  constexpr int U = M * V >= 8 ? 1 : M * V >= 4 ? 2 : 4;
  const float* __restrict a = t.a + row * t.a_row;
  const float* __restrict b = t.b;
  vf acc[U][M][V] = {};
  int64_t l = 0;
  for (; l + U <= t.k; l += U) {
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) {
      vf bv[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) bv[v] = load(b + u * t.b_row + v * kLanes);
#pragma GCC unroll 6
      for (int i = 0; i < M; ++i) {
        const vf av = splat(a[i * t.a_row + l + u]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) acc[u][i][v] += av * bv[v];
      }
    }
    b += U * t.b_row;
  }
  for (; l < t.k; ++l) {
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) acc[0][i][v] += splat(a[i * t.a_row + l]) * load(b + v * kLanes);
    b += t.b_row;
  }
#pragma GCC unroll 4
  for (int u = 1; u < U; ++u)
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) acc[0][i][v] += acc[u][i][v];
  finish<M, V>(acc[0], t, row, cols);
}

using Tile = void (*)(const GemmBlock&, int64_t, int64_t);

template <int V>
Tile packed_tile_for(int64_t rows) {
  static constexpr Tile tiles[] = {WALLE_TILES(packed_tile, V)};
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[rows - 1];
}

template <int V>
Tile plain_tile_for(int64_t rows) {
  static constexpr Tile tiles[] = {plain_tile<1, V>, plain_tile<2, V>, plain_tile<3, V>,
                                   plain_tile<4, V>, plain_tile<5, V>, plain_tile<6, V>};
  return tiles[rows - 1];
}

void block(const GemmBlock& t) {
  // The last panel may hold one vector or less; half the work is then lanes that nobody reads.
  const bool narrow = t.cols <= kLanes;
  if (t.a_panel == 0) return (narrow ? plain_tile_for<1>(t.rows) : plain_tile_for<2>(t.rows))(t, 0, t.cols);
  for (int64_t row = 0; row < t.rows; row += kMr) {
    const int64_t rows = t.rows - row < kMr ? t.rows - row : kMr;
    // A full tile alone asks ahead: with fewer rows the product is bound by memory anyway, and twice the
    // tiles would be twice the code.
    if (row < kAheadTiles * kMr && t.b_next != 0 && rows == kMr && !narrow)
      packed_tile<kMr, 2, true>(t, row, t.cols);
    else
      (narrow ? packed_tile_for<1>(rows) : packed_tile_for<2>(rows))(t, row, t.cols);
  }
}

void row(const GemmBlock& t) {
  row_by_plain_b(t, t.b);
  const Epilogue& e = t.epilogue;
  if (e.activation != Activation::none) activate_block(t.c, 0, 1, t.cols, e.activation, e.alpha, e.beta);
}

// Without the walk over blocks that products of more rows need: 1 x 128 x 512, a step of an LSTM, takes as
// long as reading B from the second-level cache.
void row_panels(const GemmBlock& whole) {
  constexpr int64_t kChains = 4 * kChain;  // as many sums as a tile of one row has
  GemmBlock t = whole;
  for (int64_t j = 0; j < whole.cols; j += kNr) {
    const int64_t cols = whole.cols - j < kNr ? whole.cols - j : kNr;
    int64_t l = 0;
    do {  // once even for k = 0
      t.a = whole.a + l;
      t.b = whole.b + j / kNr * whole.b_next + l * whole.b_row;
      t.k = whole.k - l < kChains ? whole.k - l : kChains;
      t.first = l == 0;
      l += t.k;
      t.last = l == whole.k;
      cols <= kLanes ? plain_tile<1, 1>(t, 0, cols) : plain_tile<1, 2>(t, 0, cols);
    } while (l < whole.k);
    t.c += kNr;
    if (t.epilogue.col_bias) t.epilogue.col_bias += kNr;
    if (t.epilogue.residual) t.epilogue.residual += kNr;
  }
}

// Columns of a panel become consecutive: a transposition, four rows by four columns at a time.
void pack_rows_contiguous(const float* a, int64_t row_stride, int64_t rows, int64_t k, int64_t width,
                          float* out) {
  int64_t i = 0;
  // Four, because 128-bit vectors exist in every supported set and a transposition of 4 x 4 needs no lane
  // crossing. Packing was measured at 1 to 4 % of a product with 256 rows or more; wider tiles have little to
  // gain.
  for (; i < rows && rows >= 4; i += 4) {
    // The last two of 14 or 6 rows, with two before them once more: one by one they made 128 rows by 784 x
    // 512 and 512 x 256 take 582 us instead of 557 (Zen 5).
    i = i < rows - 4 ? i : rows - 4;
    const float* r = a + i * row_stride;
    int64_t l = 0;
    for (; l + 4 <= k; l += 4) {
      // The next rows begin where no stream has been yet: from the outer cache the same took 588 us, now 578.
      if (l % 16 == 0)
#pragma GCC unroll 4
        for (int q = 4; q < 8; ++q) __builtin_prefetch(r + q * row_stride + l);
      vf4 x0 = *reinterpret_cast<const vf4_any*>(r + l);
      vf4 x1 = *reinterpret_cast<const vf4_any*>(r + row_stride + l);
      vf4 x2 = *reinterpret_cast<const vf4_any*>(r + 2 * row_stride + l);
      vf4 x3 = *reinterpret_cast<const vf4_any*>(r + 3 * row_stride + l);
      transpose4(x0, x1, x2, x3);
      float* o = out + l * width + i;
      *reinterpret_cast<vf4_any*>(o) = x0;
      *reinterpret_cast<vf4_any*>(o + width) = x1;
      *reinterpret_cast<vf4_any*>(o + 2 * width) = x2;
      *reinterpret_cast<vf4_any*>(o + 3 * width) = x3;
    }
    for (; l < k; ++l)
      for (int q = 0; q < 4; ++q) out[l * width + i + q] = r[q * row_stride + l];
  }
  for (; i < rows; ++i)
    for (int64_t l = 0; l < k; ++l) out[l * width + i] = a[i * row_stride + l];
}

void pack_a(const float* a, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k, float* out) {
  if (k == 0) return;  // `out` may be null
  for (int64_t p = 0; p < rows; p += kMr) {
    const int64_t n = rows - p < kMr ? rows - p : kMr;
    const float* from = a + p * row_stride;
    // Rows that do not exist are zeros rather than what an earlier product left: rubbish could be NaN or
    // subnormal, and subnormals make the multiply-adds slow.
    if (n < kMr) memset(out, 0, k * kMr * sizeof(float));
    if (col_stride == 1) {
      pack_rows_contiguous(from, row_stride, n, k, kMr, out);
    } else {
      for (int64_t l = 0; l < k; ++l)
        for (int64_t i = 0; i < n; ++i) out[l * kMr + i] = from[i * row_stride + l * col_stride];
    }
    out += k * kMr;
  }
}

void pack_b(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t cols, int64_t panel,
            float* out) {
  if (k == 0) return;
  if (col_stride == 1) {
    // Row by row: pieces of a row are one stream, pieces of a column one for every row.
    const int64_t whole = cols / kNr;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < whole; ++j)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          store(out + j * panel + l * kNr + v * kLanes, load(b + l * row_stride + j * kNr + v * kLanes));
    b += whole * kNr;
    out += whole * panel;
    cols -= whole * kNr;
  }
  for (int64_t j = 0; j < cols; j += kNr) {
    const int64_t n = cols - j < kNr ? cols - j : kNr;
    const float* from = b + j * col_stride;
    if (n < kNr) memset(out, 0, k * kNr * sizeof(float));
    // B given transposed, as Gemm's transB and recurrent weights [columns, k] have it.
    if (row_stride == 1) {
      pack_rows_contiguous(from, col_stride, n, k, kNr, out);
    } else {
      for (int64_t l = 0; l < k; ++l)
        for (int64_t q = 0; q < n; ++q) out[l * kNr + q] = from[l * row_stride + q * col_stride];
    }
    out += panel;
  }
}
}  // namespace

extern const GemmTable kGemmF32;
const GemmTable kGemmF32 = {
    .mr = kMr,
    .nr = kNr,
    .mr_plain = kMrPlain,
    .block = block,
    .row = row,
    .row_panels = row_panels,
    .pack_a = pack_a,
    .pack_b = pack_b,
};

}  // namespace walle::kernels::WALLE_ISA_NS
