// What codes_simd.cc exports per instruction set. Plain data and function pointers: shared by files of
// different flags. Codes are bytes; signed ones are told apart by a flag where their value counts.
#pragma once

#include <cstdint>

#include "kernels/window_shape.h"

namespace walle::kernels {

// Codes of one operand less its zero point, times a factor.
struct CodesOperand {
  bool is_signed = false;
  float zero = 0, factor = 1;
};

// low <= round(a + b, or a * b) <= high, plus zero; rounded half to even. The bounds are whole.
struct CodesBinary {
  CodesOperand a, b;
  float low = 0, high = 0;
  int32_t zero = 0;
};

struct CodesTable {
  void (*add)(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
  // a of `pixels` x 16, b of 16 channels: b's factor is not looked at.
  void (*scale)(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t pixels);
  void (*multiply)(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
  void (*lookup)(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n);
  // The same where the processor has avx512_vbmi; null in other sets.
  void (*lookup_vbmi)(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n);
  // Rows [row, end) of the maxima of one block of 16 channels.
  void (*max_pool)(const WindowShape& s, bool is_signed, const uint8_t* x, int64_t row, int64_t end,
                   uint8_t* y);
  // Sums of a block's channels over pixels, of codes as they are.
  void (*sums)(const uint8_t* x, bool is_signed, int64_t pixels, int32_t* out);
};

}  // namespace walle::kernels
