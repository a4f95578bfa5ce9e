// Register tiles of the product in float16, for a file that has included the words of kernels/simd/float16.h
// or what stands for them in tests.
#pragma once

#include "kernels/float16_steps.h"
#include "kernels/gemm_bf16/bf16_exit.h"
#include "kernels/gemm_bf16/bf16_pack.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Calls fn(a, words, first) for parts of a chain of words that are one of sums; once even for k = 0.
template <class Fn>
inline __attribute__((always_inline)) void in_short_chains(const Bf16Block& t, const uint32_t* a, Fn fn) {
  int64_t left = t.steps;
  bool first = true;
  do {
    const uint32_t* at = a;
    int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    left -= chain;
    do {
      const int64_t part = chain < kShortChain ? chain : kShortChain;
      fn(at, part, first);
      first = false;
      at += part;
      chain -= part;
    } while (chain > 0);
    a += t.a_chain;
  } while (left > 0);
}

// sums[i * kNr + j], in the same order in every tile.
template <int M, int V>
void tile(const Bf16Block& t, const uint32_t* a, Ahead& ahead, float* sums) {
  const uint32_t* b = t.b;
  in_short_chains(t, a, [&](const uint32_t* at, int64_t part, bool first) {
    vh acc[M][V];
    begin_short(acc);
    multiply_short_along(acc, at, kBf16Row, b, part);
    end_short(acc, sums, kNr, first);
    for (int64_t look = 0; look < part; look += kLook) ahead.look();
  });
}

// One row by P panels, as in bf16_tile.h.
template <int P>
void row_tile(const Bf16Block& t, float* sums) {
  const uint32_t* b = t.b;
  in_short_chains(t, t.a, [&](const uint32_t* at, int64_t part, bool first) {
    vh acc[P][2];
    begin_short(acc);
    for (int64_t s = 0; s < part; ++s, b += kNr) {
      const auto word = word_at(at + s);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          const TwoSteps x = two_steps(b + p * t.b_panel + v * kLanes);
          acc[p][v] = add_product<1>(add_product<0>(acc[p][v], x.first, word), x.second, word);
        }
    }
    end_short(acc, sums, kNr, first);
  });
}

void block(const Bf16Block& t) {
  if (t.cols > kNr) return by_panels(t, row_tile<kStreams>, row_tile<1>);
  static constexpr Tile wide[] = {WALLE_TILES(tile, 2)};
  static constexpr Tile narrow[] = {WALLE_TILES_6(tile, 1), tile<7, 1>, tile<8, 1>};  // as in bf16_tile.h
  t.cols > kLanes ? by_tiles(t, wide, kMr) : by_tiles(t, narrow, kMr < 8 ? kMr : 8);
}

constexpr Bf16Table kFloat16Table = {
    .mr = kMr, .nr = kNr, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
