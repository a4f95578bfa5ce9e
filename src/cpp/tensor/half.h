// 16- and 8-bit floating point as storage types with conversions (round to nearest even). Arithmetic happens
// in float. IEEE 754-2019 binary16; bfloat16 as the upper half of binary32; float8 after Micikevicius et al.,
// "FP8 Formats for Deep Learning" (2022) and the ONNX float8 rules (saturating or not).
#pragma once

#include <cstdint>

namespace walle::tensor {

uint16_t float_to_half_bits(float value);
float half_bits_to_float(uint16_t bits);
uint16_t float_to_bfloat16_bits(float value);
inline float bfloat16_bits_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  return __builtin_bit_cast(float, wide);
}

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(float_to_half_bits(value)) {}
  explicit operator float() const { return half_bits_to_float(bits); }
  bool operator==(const Half& other) const { return static_cast<float>(*this) == static_cast<float>(other); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(float_to_bfloat16_bits(value)) {}
  explicit operator float() const { return bfloat16_bits_to_float(bits); }
  bool operator==(const BFloat16& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }
};

// The four ONNX float8 layouts. fn: no infinities; fnuz: no infinities and no negative zero (0x80 is NaN).
struct Float8Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  bool unsigned_zero;
};
inline constexpr Float8Format kFloat8E4M3FN{
    .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .has_infinity = false, .unsigned_zero = false};
inline constexpr Float8Format kFloat8E4M3FNUZ{
    .exponent_bits = 4, .mantissa_bits = 3, .bias = 8, .has_infinity = false, .unsigned_zero = true};
inline constexpr Float8Format kFloat8E5M2{
    .exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .has_infinity = true, .unsigned_zero = false};
inline constexpr Float8Format kFloat8E5M2FNUZ{
    .exponent_bits = 5, .mantissa_bits = 2, .bias = 16, .has_infinity = false, .unsigned_zero = true};

// float8e8m0: 2^(code - 127), 255 is NaN; no sign. After the OCP Microscaling Formats specification 1.0
// (2023).
enum class PowerRounding : uint8_t { up, down, nearest };  // of ties, nearest takes the greater
uint8_t float_to_power(float value, PowerRounding rounding, bool saturate);
float power_to_float(uint8_t bits);

// float4e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign in the low four bits. Always saturates; NaN becomes -0,
// as ml_dtypes has it.
uint8_t float_to_float4(float value);
float float4_to_float(uint8_t bits);

uint8_t float_to_float8(float value, const Float8Format& format, bool saturate);
float float8_to_float(uint8_t bits, const Float8Format& format);

}  // namespace walle::tensor
