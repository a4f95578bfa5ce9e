// Tiles of codes by int8, for a file that has defined `dot`: acc + the products of the four codes (of B bits)
// and the four int8 in each lane; and kSignedCodes, whether `dot` takes codes of 8 bits less 128.
#pragma once

#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kDotRows = kRegisters == 32 ? 4 : 2;

// Words of codes that a row of digits asks for ahead, a page, because the processor's own prefetching ends
// with each: 1 x 4096 x 11008 takes 1.46 ms, and 1.64 without. int8 takes 1.14 and is 5 % slower with it.
constexpr int64_t kAhead = 1024;

// What codes and their zero points lose, in each byte.
template <int B>
constexpr uint32_t kTurned = kSignedCodes && B == 8 ? 128 : 0;

inline vu four_of(const int8_t* p) {
  uint32_t word = 0;
  memcpy(&word, p, sizeof word);
  return splat_word(word);
}

// The sums of one block for M rows, less their zero points.
template <int B, int M, bool kFetch = false>
inline __attribute__((always_inline)) void sum_block(const NBitsBlock& t, const NBitsPanel& b,
                                                     const NBitsCodes& a, vu (&acc)[M][kVectors]) {
  constexpr int kEach = 8 / B;  // groups of four codes in a word
  const vu mask = splat_word(kCode<B> * 0x01010101u);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    vu zero = zeros_of<B>(b, v);
    if constexpr (kTurned<B> != 0) zero -= splat_word(kTurned<B>);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i)
      acc[i][v] = vu{} - zero * splat_word(static_cast<uint32_t>(a.sums[i * a.blocks_row]));
  }
  const int8_t* from = a.a;
  const uint32_t* codes = b.codes;
  for (int64_t d = 0; d < t.words; ++d, codes += kNr, from += 4 * kEach) {
    vu x[kVectors];
    if (kFetch) {
      __builtin_prefetch(codes + kAhead);
      if (kNr > 16) __builtin_prefetch(codes + kAhead + 16);
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) x[v] = load_words(codes + v * kLanes);
#pragma GCC unroll 4
    for (int s = 0; s < kEach; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        vu four = (x[v] >> (B * s)) & mask;
        if constexpr (kTurned<B> != 0) four ^= splat_word(kTurned<B> * 0x01010101u);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) acc[i][v] = dot<B>(acc[i][v], four, four_of(from + i * a.a_row + 4 * s));
      }
  }
}

// C starts from the bias, or is what it was, and the sums are added. Once for each tile's 32 blocks or more.
__attribute__((noinline)) void add_rows(const NBitsBlock& t, const float* sums, int64_t rows, float* c) {
  for (int64_t i = 0; i < rows; ++i, sums += kNr, c += t.c_row)
    for (int64_t j = 0; j < t.cols; ++j) c[j] = sums[j] + (!t.first ? c[j] : t.bias ? t.bias[j] : 0);
}

template <int B, int M>
void dot_rows(const NBitsBlock& t, NBitsCodes a, float* c) {
  NBitsPanel b = t.b;
  vf y[M][kVectors] = {};
  for (int64_t q = 0; q < t.blocks; ++q) {
    vu acc[M][kVectors];
    sum_block<B, M>(t, b, a, acc);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const vf scale = load(b.scales + v * kLanes);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        vf sum = to_float(reinterpret_cast<vi>(acc[i][v]));
        if (b.zeros) sum -= load(b.zeros + v * kLanes) * splat(static_cast<float>(a.sums[i * a.blocks_row]));
        y[i][v] += sum * (scale * splat(a.scales[i * a.blocks_row]));
      }
    }
    to_next_block(b, t.words);
    a.a += t.words * (32 / B);
    ++a.scales;
    ++a.sums;
  }
  float sums[M * kNr];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(sums + i * kNr + v * kLanes, y[i][v]);
  add_rows(t, sums, M, c);
}

// One row of digits: lines whose sums are one, each 256 times the one before.
template <int B>
void dot_digits(const NBitsBlock& t, NBitsCodes a, float* c) {
  NBitsPanel b = t.b;
  vf y[kVectors] = {};
  for (int64_t q = 0; q < t.blocks; ++q) {
    vu acc[kDigits][kVectors];
    sum_block<B, kDigits, true>(t, b, a, acc);
    const float* const scales = b.scales;
    float all = 0;  // of A's block
    if (b.zeros)
      for (int p = kDigits - 1; p >= 0; --p) all = all * 256 + static_cast<float>(a.sums[p * a.blocks_row]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const auto digit = [&](int p) { return to_float(reinterpret_cast<vi>(acc[p][v])); };
      vf sum = digit(kDigits - 1);
#pragma GCC unroll 4
      for (int p = kDigits - 2; p >= 0; --p) sum = sum * splat(256) + digit(p);
      if (b.zeros) sum -= load(b.zeros + v * kLanes) * splat(all);
      y[v] += sum * (load(scales + v * kLanes) * splat(*a.scales));
    }
    to_next_block(b, t.words);
    a.a += t.words * (32 / B);
    ++a.scales;
    ++a.sums;
  }
  float sums[kNr];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) store(sums + v * kLanes, y[v]);
  add_rows(t, sums, 1, c);
}

template <int B>
void block_of(const NBitsBlock& t) {
  int64_t r = 0;
  NBitsCodes a = t.a;
  const auto move = [&](int64_t rows, int64_t lines) {
    r += rows;
    a.a += lines * a.a_row;
    a.scales += lines * a.blocks_row;
    a.sums += lines * a.blocks_row;
  };
  if (t.digits)
    for (; r < t.rows; move(1, kDigits)) dot_digits<B>(t, a, t.c + r * t.c_row);
  for (; r + kDotRows <= t.rows; move(kDotRows, kDotRows)) dot_rows<B, kDotRows>(t, a, t.c + r * t.c_row);
  for (; r < t.rows; move(1, 1)) dot_rows<B, 1>(t, a, t.c + r * t.c_row);
}

void block(const NBitsBlock& t) { t.bits == 4 ? block_of<4>(t) : block_of<8>(t); }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
