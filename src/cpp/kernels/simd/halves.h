// Vectors of float32 from numbers of 16 bits. Exact, of subnormal numbers too; NaN stays NaN.
//
//   load(p)  kLanes numbers from p, at any address
//   one(p)   one of them, on any set
#pragma once

#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Of alignment 1: weights of ONNX files lie at odd addresses.
struct __attribute__((packed, may_alias)) Float16 {
  uint16_t bits;
};
struct __attribute__((packed, may_alias)) BFloat16 {
  uint16_t bits;
};

typedef uint32_t vw __attribute__((vector_size(kLanes * 4)));

// The 16 bits of each lane, in words.
[[maybe_unused]] inline vw words_at(const void* p) {
  typedef uint16_t narrow __attribute__((vector_size(kLanes * 2)));
  narrow bits;
  memcpy(&bits, p, sizeof bits);
  return __builtin_convertvector(bits, vw);
}

[[maybe_unused]] inline vf load(const BFloat16* p) { return reinterpret_cast<vf>(words_at(p) << 16); }

#if defined(WALLE_ISA_AVX512)
[[maybe_unused]] inline vf load(const Float16* p) {
  return reinterpret_cast<vf>(
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
#elif defined(WALLE_ISA_AVX2)
[[maybe_unused]] inline vf load(const Float16* p) {
  return reinterpret_cast<vf>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
#elif defined(WALLE_ISA_NEON)
[[maybe_unused]] inline vf load(const Float16* p) {
  float16x4_t bits;
  memcpy(&bits, p, sizeof bits);
  return reinterpret_cast<vf>(vcvt_f32_f16(bits));
}
#else
// The exponent of float32 has 112 more below; a subnormal number is what its mantissa adds to 2^-14.
[[maybe_unused]] inline vf load(const Float16* p) {
  constexpr uint32_t kExponent = 0x1fu << 23, kBias = 112u << 23, kLeast = 113u << 23;
  const vw bits = words_at(p);
  const vw magnitude = (bits & 0x7fff) << 13;
  const auto is_subnormal = (magnitude & kExponent) == 0;
  const auto is_special = (magnitude & kExponent) == kExponent;
  const vf small = reinterpret_cast<vf>(magnitude + kLeast) - reinterpret_cast<vf>(vw{} + kLeast);
  const vw normal = magnitude + kBias + (reinterpret_cast<vw>(is_special) & kBias);
  const vw value = is_subnormal ? reinterpret_cast<vw>(small) : normal;
  return reinterpret_cast<vf>(value | (bits & 0x8000) << 16);
}
#endif

[[maybe_unused]] inline float one(const float* p) { return *p; }
[[maybe_unused]] inline float one(const BFloat16* p) {
  const uint32_t bits = static_cast<uint32_t>(p->bits) << 16;
  float x = 0;
  memcpy(&x, &bits, sizeof x);
  return x;
}
[[maybe_unused]] inline float one(const Float16* p) {
  Float16 lanes[kLanes] = {*p};
  return load(lanes)[0];
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
