// The words of kernels/simd.h that have an instruction with AVX-512 alone, in what every set can do.
#pragma once

#include "kernels/simd/vectors.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr bool kScalesInOne = false;

[[maybe_unused]] inline vf quotient(vf x, vf y) { return x / y; }

[[maybe_unused]] inline vf scaled(vf x, vf n) {
  // Two factors, because 2^n alone leaves the range of a float where the result is still a number.
  const vi power = to_int_truncated(n);
  const vi half = power >> 1;
  return x * as_float((half + 127) << 23) * as_float((power - half + 127) << 23);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
