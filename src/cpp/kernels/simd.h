// Portable SIMD over GCC/Clang vector extensions: one float
// vector `vf` of the width of the set being compiled.
//
// Only *_simd.cc files include this. Everything has internal linkage and lives in the
// set's own namespace: an inline function shared with ordinary files could be linked
// in the version compiled with the higher flags and crash old machines. For the same
// reason those files use no templates or inline functions of the standard library.
//
// Each header of kernels/simd/ says the same words for its set, whatever they cost there:
//
//   kLanes, kRegisters    floats of a vector; vectors that kernels may keep in registers
//   vf, vi                vectors of floats and of as many int32_t; vf4 of four floats
//   splat(x)              x in every lane. Spelled out: `vf{} + x` would cost an addition, because it turns
//                         -0 into 0
//   load_n, store_n       the first n lanes, 0 <= n <= kLanes; the others read as 0 and are not written
//   Lanes, lanes_between  which lanes a load touches: first <= l < last, of any bounds
//   load_lanes            the other lanes read as 0 and their memory is not touched, so that the address may
//                         lie outside of an array
//   even_lanes, odd_lanes  every second lane of a and then of b, from the first or from the second on
//   shifted(x, last)      x without its first lane, `last` behind it
//   other_of_pair         every lane's neighbour in a pair
//   splat_of_four<k>      lane k of every four lanes, in all of the four
//   max_keep_nan, min_keep_nan(limit, x)
//                         a NaN in x stays (the x86 instructions return their second operand when either is
//                         NaN)
//   quotient(x, y)        x / y of finite numbers, y from 2^-100 to 2^100, where dividing takes as long as
//                         ten multiply-adds: a reciprocal of 14 bits and what its product is beyond x, off
//                         by 0.54 units in the last place; elsewhere a division
//   scaled(x, n)          x * 2^n for whole n from -150 to 128 and x from 1/2 to 2; subnormal where that is
//                         the result. kScalesInOne: by one instruction
//   square_root
//   any(mask)             whether a lane is set, of what comparisons give
#pragma once

#if defined(WALLE_ISA_AVX512)
#include "kernels/simd/avx512.h"
#elif defined(WALLE_ISA_AVX2)
#include "kernels/simd/avx2.h"
#elif defined(__x86_64__)
#include "kernels/simd/sse.h"
#elif defined(WALLE_ISA_NEON) && defined(WALLE_EIGHT_FLOATS)
#include "kernels/simd/neon_eight.h"
#elif defined(WALLE_ISA_NEON)
#include "kernels/simd/neon.h"
#else
#include "kernels/simd/scalar.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// The two reductions go through memory: they run once per row, and a shuffle for every width would need
// intrinsics. Halving, not left to right, because pairwise sums round less.
[[maybe_unused]] inline float sum_lanes(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}
[[maybe_unused]] inline float max_lanes(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  float best = lanes[0];
  for (int i = 1; i < kLanes; ++i) best = lanes[i] > best || lanes[i] != lanes[i] ? lanes[i] : best;
  return best;
}

// The sign is the top bit of an IEEE 754 number.
[[maybe_unused]] inline vf abs(vf x) { return as_float(as_int(x) & 0x7fffffff); }
[[maybe_unused]] inline vf copy_sign(vf magnitude, vf sign) {
  return as_float((as_int(magnitude) & 0x7fffffff) | (as_int(sign) & static_cast<int32_t>(0x80000000)));
}

// Transposes the 4 x 4 block whose rows are a, b, c, d.
[[maybe_unused]] inline void transpose4(vf4& a, vf4& b, vf4& c, vf4& d) {
  const vf4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const vf4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const vf4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const vf4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
