#include "tensor/widen.h"

#include <cstring>

#include "tensor/half.h"

namespace walle::tensor {

namespace {
// In vectors that are written out, because this room's loops are none.
constexpr int kTogether = 4;
typedef uint16_t narrow __attribute__((vector_size(2 * kTogether)));
typedef uint32_t wide __attribute__((vector_size(4 * kTogether)));
typedef float floats __attribute__((vector_size(4 * kTogether)));

wide loaded(const std::byte* from) {
  narrow bits;
  std::memcpy(&bits, from, sizeof bits);
  return __builtin_convertvector(bits, wide);
}

void widen_bfloats(const std::byte* halves, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const wide bits = loaded(halves + 2 * i) << 16;
    std::memcpy(out + i, &bits, sizeof bits);
  }
  for (; i < count; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, halves + 2 * i, sizeof bits);
    out[i] = bfloat16_bits_to_float(bits);
  }
}

// The exponent of float32 has 112 more below; a subnormal number is what its mantissa adds to 2^-14.
void widen_halves(const std::byte* halves, float* out, int64_t count) {
  constexpr uint32_t kExponent = 0x1fu << 23, kBias = 112u << 23, kLeast = 113u << 23;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const wide bits = loaded(halves + 2 * i);
    const wide magnitude = (bits & 0x7fff) << 13;
    const auto is_subnormal = (magnitude & kExponent) == 0;
    const auto is_special = (magnitude & kExponent) == kExponent;
    const floats small =
        reinterpret_cast<floats>(magnitude + kLeast) - reinterpret_cast<floats>(wide{} + kLeast);
    const wide normal = magnitude + kBias + (reinterpret_cast<wide>(is_special) & kBias);
    const wide value = (is_subnormal ? reinterpret_cast<wide>(small) : normal) | (bits & 0x8000) << 16;
    std::memcpy(out + i, &value, sizeof value);
  }
  for (; i < count; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, halves + 2 * i, sizeof bits);
    out[i] = half_bits_to_float(bits);
  }
}
}  // namespace

void widen(DType from, const std::byte* halves, float* out, int64_t count) {
  if (from == DType::float16)
    widen_halves(halves, out, count);
  else
    widen_bfloats(halves, out, count);
}

}  // namespace walle::tensor
