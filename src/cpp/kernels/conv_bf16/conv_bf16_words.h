// What the convolution of 16-bit numbers rounds and fetches, for a file that has defined in_order and
// in_pairs (simd/bfloat.h, simd/float16.h, or what stands for them in tests).
#pragma once

#include "kernels/blocked/blocked_tile_simd.h"
#include "kernels/conv_bf16/conv_bf16_table.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

inline int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }

// What a tile fetches of the next task's weights, as NextWeights of blocked_dense_simd.h: its share of the
// pixels, spread over its blocks of channels. Two lines a row.
struct NextWords {
  const uint32_t* at;
  int64_t rows;  // [panel] each, with every block of channels

  NextWords(const ConvBf16Task& t, int64_t first, int64_t count)
      : at(t.next ? t.next + t.taps * t.words * first / t.pixels * kNr : nullptr),
        rows(t.next ? (count * t.of_block + t.pixels - 1) / t.pixels : 0) {}

  void fetch() {
    for (int64_t q = 0; q < rows; ++q, at += kNr) {
      __builtin_prefetch(at, 0, 2);
      __builtin_prefetch(at + kNr / 2, 0, 2);
    }
  }
};

// Of a narrow panel, one at most of a convolution, tiles of eight pixels at most: eight sums hide the
// latency, and those of nine to fourteen were 14 KB.
template <int V>
constexpr int kMostPixels = V == 1 && kMr > 8 ? 8 : kMr;

// One vector of words, or as many as are left.
inline void store_words(uint32_t* out, vu words, int64_t n) {
  if (n >= kLanes)
    *reinterpret_cast<vu_any*>(out) = words;
  else
    store_n(reinterpret_cast<float*>(out), reinterpret_cast<vf>(words), n);
}

void to_words(const float* from, int64_t step, int64_t channels, int64_t pixels, uint32_t* out) {
  if (step == kBlock && channels == kBlock) {
    const int64_t floats = pixels * kBlock;
    int64_t i = 0;
    for (; i + 2 * kLanes <= floats; i += 2 * kLanes)
      store_words(out + i / 2, in_order(load(from + i), load(from + i + kLanes)), kLanes);
    if (i < floats) store_words(out + i / 2, in_order(load(from + i), vf{}), kLanes / 2);
    return;
  }
  for (int64_t p = 0; p < pixels; ++p, from += step, out += kBlockWords)
    for (int64_t at = 0; at < kBlock; at += 2 * kLanes) {
      const auto part = [&](int64_t lane) {
        const int64_t n = channels - lane;
        return n <= 0 ? vf{} : load_n(from + lane, fewer(n, kLanes));
      };
      store_words(out + at / 2, in_order(part(at), part(at + kLanes)), fewer(kLanes, kBlockWords));
    }
}

typedef uint64_t vdouble __attribute__((vector_size(kLanes * 8)));

void rows_to_words(const float* from, int64_t plane, int64_t step, int64_t channels, int64_t pixels,
                   int64_t words_each, uint32_t* out) {
  for (int64_t p = 0; p < pixels; p += kLanes) {
    const int64_t n = fewer(kLanes, pixels - p);
    const auto part = [&](int64_t channel) {
      if (channel >= channels) return vf{};
      const float* row = from + channel * plane + p * step;
      if (step == 1) return load_n(row, n);
      float lanes[kLanes] = {};
      for (int64_t i = 0; i < n; ++i) lanes[i] = row[i * step];
      return load(lanes);
    };
    // An image of three or four channels: both words of a pixel are one of twice the size.
    if (n == kLanes && words_each == 2) {
      const auto both = __builtin_convertvector(in_pairs(part(0), part(1)), vdouble) |
                        __builtin_convertvector(in_pairs(part(2), part(3)), vdouble) << 32;
      __builtin_memcpy(out + 2 * p, &both, sizeof both);
      continue;
    }
    for (int64_t q = 0; q < words_each; ++q) {
      const vu words = in_pairs(part(2 * q), part(2 * q + 1));
      for (int64_t i = 0; i < n; ++i) out[(p + i) * words_each + q] = words[i];
    }
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
