// The register tile of matrix products, one size for gemm, channels in lanes and blocked storage: all keep
// kMr x 2 accumulators, two vectors of weights and one broadcast. Only files compiled per instruction set
// include this.
#pragma once

#include "kernels/simd.h"

// tile<1, ...> to tile<kMr, ...>: what a table of tiles by number of rows holds. kMr leaves 31 of 32
// registers in use on avx512, 27 of 32 on NEON, 15 of 16 elsewhere.
#define WALLE_TILES_6(tile, ...)                                                          \
  tile<1, __VA_ARGS__>, tile<2, __VA_ARGS__>, tile<3, __VA_ARGS__>, tile<4, __VA_ARGS__>, \
      tile<5, __VA_ARGS__>, tile<6, __VA_ARGS__>
#define WALLE_TILES_12(tile, ...)                                                                     \
  WALLE_TILES_6(tile, __VA_ARGS__), tile<7, __VA_ARGS__>, tile<8, __VA_ARGS__>, tile<9, __VA_ARGS__>, \
      tile<10, __VA_ARGS__>, tile<11, __VA_ARGS__>, tile<12, __VA_ARGS__>
#if defined(WALLE_ISA_AVX512)
#define WALLE_MR 14
#define WALLE_TILES(tile, ...) WALLE_TILES_12(tile, __VA_ARGS__), tile<13, __VA_ARGS__>, tile<14, __VA_ARGS__>
#elif defined(WALLE_ISA_NEON)
#define WALLE_MR 12
#define WALLE_TILES WALLE_TILES_12
#else
#define WALLE_MR 6
#define WALLE_TILES WALLE_TILES_6
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kMr = WALLE_MR;
// Two vectors wide: each broadcast then serves two multiply-adds, so that the two load ports of x86 keep both
// multiply-add units busy. With one, loads would be the bound; with three, fewer rows fit.
constexpr int kVectors = 2;
constexpr int kNr = kVectors * kLanes;

// Whether a vector may be multiplied by a lane of another (kernels/simd_by_lane.h), so that one load brings
// several elements of A.
#if defined(WALLE_ISA_NEON)
constexpr bool kByLane = true;
#else
constexpr bool kByLane = false;
#endif

// acc[i] += a[i * step] * b: one step of the depth, b of V vectors.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_add(vf (&acc)[M][V], const float* __restrict a,
                                                        int64_t step, const float* b) {
  vf bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = load(b + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vf av = splat(a[i * step]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] += av * bv[v];
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
