// What a DFT node says, read the same way by its shape rule and its decomposition.
#pragma once

#include "ops/lower.h"

namespace walle::ops {

// Up to here one table, which is a packed matrix product, is cheaper than passes of movement.
inline constexpr int64_t kDirectDft = 512;
// A length without factors needs a table of 2 n * 2 n numbers: 64 MB of them in float32.
inline constexpr int64_t kLargestPrimeDft = 2048;
inline constexpr int64_t kLongestDft = int64_t{1} << 24;

struct DftSpec {
  int axis = 0;
  int64_t n = 0;
  bool inverse = false;
  bool onesided = false;
  // Of the half that stands for the other one too, because the signal is real.
  int64_t half() const { return n / 2 + 1; }
  // Along the axis of the result: an inverse transform gives all n numbers back.
  int64_t bins() const { return onesided && !inverse ? half() : n; }
};

// Inputs: data, length (optional), axis (optional, -2). Attributes: inverse, onesided.
Result<DftSpec> dft_spec(ir::InferContext& c);
Result<DftSpec> dft_spec(LowerContext& c);

// The divisor of n closest to its square root from below; 1 for primes.
int64_t balanced_factor(int64_t n);

}  // namespace walle::ops
