#include "kernels/codes/codes.h"

#include <algorithm>
#include <cmath>

#include "kernels/blocked/over_blocks.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(CodesTable, kCodes8, codes_table)

namespace {
// Vectors of 128 bits, which every machine has.
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes16_any __attribute__((vector_size(16), aligned(1), may_alias));

bytes16 low(bytes16 a, bytes16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
bytes16 high(bytes16 a, bytes16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Transposes 16 x 16 bytes: four rounds, each of which puts rows q and q + 8 together.
void turn_sixteen(const uint8_t* x, int64_t x_step, uint8_t* out, int64_t out_step) {
  bytes16 a[16], b[16];
  for (int q = 0; q < 16; ++q) a[q] = *reinterpret_cast<const bytes16_any*>(x + q * x_step);
  const auto round = [](const bytes16(&from)[16], bytes16(&to)[16]) {
    for (int q = 0; q < 8; ++q) {
      to[2 * q] = low(from[q], from[q + 8]);
      to[2 * q + 1] = high(from[q], from[q + 8]);
    }
  };
  round(a, b);
  round(b, a);
  round(a, b);
  round(b, a);
  for (int q = 0; q < 16; ++q) *reinterpret_cast<bytes16_any*>(out + q * out_step) = a[q];
}

constexpr int64_t kPixelGrain = kVectorGrain / 4;
}  // namespace

void codes_to_blocked(const BlockedShape& s, const uint8_t* rows, uint8_t* out, int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    const uint8_t* x = rows + row_start(s, block) + first;
    uint8_t* y = out + (block * s.pixels + first) * kBlock;
    int64_t p = 0;
    if (channels == kBlock)
      for (; p + 16 <= count; p += 16) turn_sixteen(x + p, s.pixels, y + p * kBlock, kBlock);
    for (; p < count; ++p)
      for (int64_t c = 0; c < kBlock; ++c) y[p * kBlock + c] = c < channels ? x[c * s.pixels + p] : 0;
  });
}

void codes_from_blocked(const BlockedShape& s, const uint8_t* blocked, uint8_t* out, int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    const uint8_t* x = blocked + (block * s.pixels + first) * kBlock;
    uint8_t* y = out + row_start(s, block) + first;
    int64_t p = 0;
    if (channels == kBlock)
      for (; p + 16 <= count; p += 16) turn_sixteen(x + p * kBlock, kBlock, y + p, s.pixels);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t q = p; q < count; ++q) y[c * s.pixels + q] = x[q * kBlock + c];
  });
}

void codes_max_pool(const CodesTable& table, const BlockedShape& image, const WindowShape& s, bool is_signed,
                    const uint8_t* x, uint8_t* y, int threads) {
  const int64_t grain = items_of(kVectorGrain, s.ow * s.kh * s.kw * kBlock / 4);
  parallel_ranges(image.blocks() * s.oh, grain, threads, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / s.oh, row = begin % s.oh;
      const int64_t last = std::min(row + end - begin, s.oh);
      table.max_pool(s, is_signed, x + block * s.h * s.w * kBlock, row, last,
                     y + block * s.oh * s.ow * kBlock);
      begin += last - row;
    }
  });
}

namespace {
uint8_t mean_code(const CodesMean& op, int32_t sum, int64_t pixels) {
  const auto centred = static_cast<float>(sum - op.zero * pixels);
  const float mean = std::nearbyint(std::clamp(centred * op.factor, op.low, op.high));
  return static_cast<uint8_t>(static_cast<int32_t>(mean) + op.y_zero);
}
}  // namespace

void codes_mean(const CodesTable& table, const BlockedShape& s, const CodesMean& op, const uint8_t* x,
                uint8_t* y, int threads) {
  parallel_ranges(s.blocks(), items_of(kVectorGrain, s.pixels * kBlock), threads,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t b = begin; b < end; ++b) {
                      int32_t sums[kBlock];
                      table.sums(x + b * s.pixels * kBlock, op.is_signed, s.pixels, sums);
                      for (int64_t c = 0; c < kBlock; ++c)
                        y[b * kBlock + c] = mean_code(op, sums[c], s.pixels);
                    }
                  });
}

void codes_mean_of_rows(const BlockedShape& s, const CodesMean& op, const uint8_t* x, uint8_t* y,
                        int threads) {
  parallel_ranges(s.n * s.c, items_of(kVectorGrain, s.pixels), threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const uint8_t* const from = x + row * s.pixels;
      int32_t sum = 0;
      if (op.is_signed)
        for (int64_t p = 0; p < s.pixels; ++p) sum += static_cast<int8_t>(from[p]);
      else
        for (int64_t p = 0; p < s.pixels; ++p) sum += from[p];
      y[row] = mean_code(op, sum, s.pixels);
    }
  });
}

}  // namespace walle::kernels
