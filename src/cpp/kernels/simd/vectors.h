// The vectors of a set and what every set does with them alike. The header of a set includes this once, with
// WALLE_LANES defined as the floats that a vector of it holds.
#pragma once

#include <stdint.h>
#include <string.h>

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kLanes = WALLE_LANES;

typedef float vf __attribute__((vector_size(kLanes * 4)));
typedef int32_t vi __attribute__((vector_size(kLanes * 4)));
// For unaligned memory: `aligned(4)` makes loads and stores unaligned ones, which cost nothing extra on
// aligned data since 2008, and `may_alias` lets them read bytes of any type.
typedef float vf_any __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef float vf4 __attribute__((vector_size(16)));
typedef float vf4_any __attribute__((vector_size(16), aligned(4), may_alias));

[[maybe_unused]] inline vf load(const float* p) { return *reinterpret_cast<const vf_any*>(p); }
[[maybe_unused]] inline void store(float* p, vf x) { *reinterpret_cast<vf_any*>(p) = x; }
[[maybe_unused]] inline vf as_float(vi x) { return reinterpret_cast<vf>(x); }
[[maybe_unused]] inline vi as_int(vf x) { return reinterpret_cast<vi>(x); }
[[maybe_unused]] inline vi to_int_truncated(vf x) { return __builtin_convertvector(x, vi); }
[[maybe_unused]] inline vf to_float(vi x) { return __builtin_convertvector(x, vf); }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#undef WALLE_LANES
