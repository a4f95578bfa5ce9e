// Packing for quads, in any instruction set; int8_tile.h says what a panel is, int8_table.h what the sums are
// for. Included behind int8_tile.h.
#pragma once

#include <string.h>

#include "kernels/gemm_int8/int8_tile.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr uint32_t kFlipped = 0x80808080;  // 128 added to each of four bytes, which changes their sign

// Whether the elements of a matrix get 128, or lose it, to be what the product wants.
inline bool flips_a(const Int8Matrix& a) { return a.is_signed != kSignedQuads; }
inline bool flips_b(const Int8Matrix& b) { return !b.is_signed; }

// Of row or column `i` of a matrix, with what its elements got.
inline int32_t zero_of(const Int8Matrix& m, int64_t i, bool flipped, int32_t by) {
  return (m.zeros ? m.zeros[i] : m.zero) + (flipped ? by : 0);
}
inline uint32_t zero_of_a(const Int8Matrix& a, int64_t i) {
  return static_cast<uint32_t>(zero_of(a, i, flips_a(a), kSignedQuads ? -128 : 128));
}

// Bytes at p, p + stride ...; `count` of them, then zeros.
inline uint32_t quad_of(const uint8_t* p, int64_t stride, int64_t count, uint32_t flip) {
  uint32_t word = 0;
  if (count >= 4 && stride == 1) {
    memcpy(&word, p, sizeof word);
    return word ^ flip;
  }
  const int64_t most = count < 4 ? count : 4;
  for (int64_t q = 0; q < most; ++q) word |= ((p[q * stride] ^ flip) & 0xffu) << (8 * q);
  return word;
}

// A byte of A as the product takes it.
inline uint32_t element_of_a(uint8_t byte, bool flipped) {
  const uint32_t turned = flipped ? byte ^ 0x80u : byte;
  return kSignedQuads ? static_cast<uint32_t>(static_cast<int8_t>(turned)) : turned;
}

// Along the bytes as they lie, which compilers make vectors of.
inline uint32_t sum_of_row(const uint8_t* p, int64_t stride, int64_t count, bool flipped) {
  uint32_t sum = 0;
  if (stride == 1) {
    for (int64_t l = 0; l < count; ++l) sum += element_of_a(p[l], flipped);
  } else {
    for (int64_t l = 0; l < count; ++l) sum += element_of_a(p[l * stride], flipped);
  }
  return sum;
}

// The four bytes of a word of B, summed.
inline uint32_t sum_of_word(uint32_t word, int64_t count) {
  uint32_t sum = 0;
  for (int64_t q = 0; q < count; ++q) sum += static_cast<uint32_t>(static_cast<int8_t>(word >> (8 * q)));
  return sum;
}

// Behind the steps of a panel of A: sums of its rows, and their zero points.
inline void put_sums_of_a(const Int8Matrix& a, int64_t rows, int64_t k, int64_t i, uint32_t* sums) {
  const uint8_t* p = a.data + i * a.row_stride;
  sums[i] = i < rows ? sum_of_row(p, a.col_stride, k, flips_a(a)) : 0;
  sums[kMr + i] = i < rows ? zero_of_a(a, i) : 0;
}

// Behind those of B: sums of its columns less k zero points, and the zero points.
inline void put_sums_of_b(const Int8Matrix& b, int64_t k, int64_t cols, const uint32_t* sum, uint32_t* out) {
  for (int64_t j = 0; j < kNr; ++j) {
    const int32_t zero = j < cols ? zero_of(b, j, flips_b(b), -128) : 0;
    out[j] = sum[j] - static_cast<uint32_t>(k) * static_cast<uint32_t>(zero);
    out[kNr + j] = static_cast<uint32_t>(zero);
  }
}

[[maybe_unused]] void pack_a(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out) {
  const uint32_t flip = flips_a(a) ? kFlipped : 0;
  uint32_t* const sums = out + (k + 3) / 4 * kMr;
  for (int64_t i = 0; i < kMr; ++i) {
    const uint8_t* p = a.data + i * a.row_stride;
    uint32_t* to = out + i;
    int64_t l = 0;
    if (i < rows && a.col_stride == 1)
      for (; l + 4 <= k; l += 4, to += kMr) {
        uint32_t word = 0;
        memcpy(&word, p + l, sizeof word);
        *to = word ^ flip;
      }
    for (; l < k; l += 4, to += kMr)
      *to = i < rows ? quad_of(p + l * a.col_stride, a.col_stride, k - l, flip) : 0;
    put_sums_of_a(a, rows, k, i, sums);
  }
}

[[maybe_unused]] void pack_b(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out) {
  const uint32_t flip = flips_b(b) ? kFlipped : 0;
  uint32_t sum[kNr] = {};
  for (int64_t l = 0; l < k; l += 4, out += kNr) {
    const uint8_t* p = b.data + l * b.row_stride;
    for (int64_t j = 0; j < cols; ++j) {
      const uint32_t word = quad_of(p + j * b.col_stride, b.row_stride, k - l, flip);
      out[j] = word;
      sum[j] += sum_of_word(word, k - l < 4 ? k - l : 4);
    }
    for (int64_t j = cols; j < kNr; ++j) out[j] = 0;
  }
  put_sums_of_b(b, k, cols, sum, out);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
