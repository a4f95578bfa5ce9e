// What quantize_simd.cc exports per instruction set.
#pragma once

#include <cstdint>

namespace walle::kernels {

// How a run of elements is quantised. One scale and zero point, or one each.
struct QuantRun {
  const float* scale = nullptr;
  const float* zero = nullptr;  // whole numbers; nullptr: zeros
  bool each = false;
};

// The integers that codes are, in the low bits of 1, 2 or 4 bytes. Signed ones are read by turning the sign
// bit over and taking it away.
struct QuantCodes {
  int32_t mask = 0;  // of the bits that count; the others are 0
  int32_t sign = 0;  // the sign bit; 0 for unsigned ones
  float low = 0, high = 0;
};

struct QuantTable {
  // y[i] = round(x[i] / scale) + zero as a code of 1 and of 2 bytes: halves to even, what no code stands for
  // as the nearest one, NaN as the lowest.
  void (*quantize[2])(const float* x, void* y, int64_t n, const QuantRun& run, const QuantCodes& codes);
  // y[i] = (x[i] - zero) * scale of codes of 1, 2 and 4 bytes.
  void (*dequantize[3])(const void* x, float* y, int64_t n, const QuantRun& run, const QuantCodes& codes);
  // The least and the greatest of 0 and x[0, n); both NaN where one is.
  void (*range)(const float* x, int64_t n, float* low, float* high);
};

}  // namespace walle::kernels
