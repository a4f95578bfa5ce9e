#include "tensor/half.h"

#include <cmath>
#include <limits>

namespace walle::tensor {

// Rounding to nearest even in integers: adding half a unit less one, plus the lowest bit kept, carries
// exactly where the value rounds up, and the carry moves the exponent on by itself.
uint16_t float_to_half_bits(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;  // NaN stays NaN
  // 2^16 and beyond. What rounds up to it (65520 and more) overflows into the same code by the carry below.
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {  // below 2^-14, a subnormal half: adding 0.5 lets the float adder round
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(__builtin_bit_cast(uint32_t, shifted) - 0x3f000000u);
  }
  // 13 = 23 - 10 bits of mantissa go; 0x38000000 is the difference of the biases (127 - 15) in the exponent's
  // place.
  const uint32_t odd = (magnitude >> 13) & 1u;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

float half_bits_to_float(uint16_t bits) {
  // 1 sign, 5 exponent and 10 mantissa bits.
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  // Infinity and NaN, whose payload is kept.
  if (exponent == 0x1f) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    // Subnormal: a whole multiple of 2^-24, which every float holds exactly.
    const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  // 112 = 127 - 15, the difference of the biases.
  return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

uint16_t float_to_bfloat16_bits(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  // The quiet bit is set: a NaN whose payload lies in the lost half would else become infinity.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

namespace {
// Codes of the paper: S.1111.111 in E4M3 and S.11111.11 in E5M2 are NaN (0x7f either way), 0x7c infinity in
// E5M2; fnuz formats have -0 (0x80) for NaN.
uint8_t float8_nan(const Float8Format& f) { return f.unsigned_zero ? 0x80 : 0x7f; }

// Largest finite code without its sign.
uint8_t float8_max(const Float8Format& f) {
  if (f.unsigned_zero) return 0x7f;
  return f.has_infinity ? 0x7b : 0x7e;
}
}  // namespace

uint8_t float_to_float8(float value, const Float8Format& f, bool saturate) {
  const bool negative = std::signbit(value);
  const uint8_t sign = negative ? 0x80 : 0;
  if (std::isnan(value)) return f.unsigned_zero ? 0x80 : static_cast<uint8_t>(sign | float8_nan(f));
  // ONNX Cast, table of `saturate`: with it the largest number, without it infinity where the format has one
  // and NaN where not. Infinity itself saturates as well.
  const uint8_t overflow =
      saturate ? static_cast<uint8_t>(sign | float8_max(f))
               : (f.has_infinity ? static_cast<uint8_t>(sign | 0x7c)
                                 : (f.unsigned_zero ? uint8_t{0x80} : static_cast<uint8_t>(sign | 0x7f)));
  if (std::isinf(value)) return overflow;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude == 0) return f.unsigned_zero ? 0 : sign;
  int exponent = std::ilogb(magnitude);
  const int min_exponent = 1 - f.bias;
  if (exponent < min_exponent) exponent = min_exponent;
  // nearbyint rounds half to even in the default environment;
  // the carry into the next binade comes out by itself below.
  const double scaled = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  int64_t code =
      static_cast<int64_t>(scaled) + (static_cast<int64_t>(exponent - min_exponent) << f.mantissa_bits);
  // After rounding: what rounds down to the largest number does not overflow.
  if (code > float8_max(f)) return overflow;
  if (code == 0) return f.unsigned_zero ? 0 : sign;
  return static_cast<uint8_t>(sign | code);
}

float float8_to_float(uint8_t bits, const Float8Format& f) {
  const int magnitude = bits & 0x7f;
  const float sign = (bits & 0x80) ? -1.0f : 1.0f;
  if (f.unsigned_zero && bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  if (!f.unsigned_zero && magnitude > float8_max(f)) {
    if (f.has_infinity && magnitude == 0x7c) return sign * std::numeric_limits<float>::infinity();
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  }
  const int exponent = magnitude >> f.mantissa_bits;
  const int mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa_bits)),
                           exponent - f.bias - f.mantissa_bits);
}

uint8_t float_to_power(float value, PowerRounding rounding, bool saturate) {
  // Eight bits of exponent with the bias of float32; all ones are NaN (OCP Microscaling).
  constexpr uint8_t kNaN = 255;
  constexpr int kBias = 127;
  constexpr int kLargest = 254;
  if (std::isnan(value)) return kNaN;
  const double magnitude = std::fabs(static_cast<double>(value));
  // There is no zero: the smallest power (2^-127) stands for it if saturation is asked for.
  if (magnitude == 0) return saturate ? uint8_t{0} : kNaN;
  if (std::isinf(value)) return saturate ? uint8_t{kLargest} : kNaN;
  const int below = std::ilogb(magnitude);
  const double over = std::ldexp(magnitude, -below);  // 1 up to 2
  const bool next =
      rounding == PowerRounding::up ? over > 1 : rounding == PowerRounding::nearest && over >= 1.5;
  const int code = below + (next ? 1 : 0) + kBias;
  if (code >= 0 && code <= kLargest) return static_cast<uint8_t>(code);
  if (!saturate) return kNaN;
  return code < 0 ? uint8_t{0} : uint8_t{kLargest};
}

float power_to_float(uint8_t bits) {
  if (bits == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, bits - 127);
}

namespace {
// The eight magnitudes of two exponent bits and one mantissa bit.
constexpr float kFloat4[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
}  // namespace

uint8_t float_to_float4(float value) {
  if (std::isnan(value)) return 8;
  const uint8_t sign = std::signbit(value) ? 8 : 0;
  const float magnitude = std::fabs(value);
  uint8_t code = 0;
  // Past the middle between two codes the greater one; on it the even one.
  while (code < 7) {
    const float middle = (kFloat4[code] + kFloat4[code + 1]) / 2;
    if (magnitude < middle || (magnitude == middle && code % 2 == 0)) break;
    ++code;
  }
  return static_cast<uint8_t>(sign | code);
}

float float4_to_float(uint8_t bits) {
  const float magnitude = kFloat4[bits & 7];
  return bits & 8 ? -magnitude : magnitude;
}

}  // namespace walle::tensor
