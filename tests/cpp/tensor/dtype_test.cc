// Element types: names, sizes, and the conversions of the narrow floats against arithmetic written out.
#include "tensor/dtype.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "seed.h"

namespace walle::tensor {
namespace {

TEST(DType, NamesAndNumbersGoThereAndBack) {
  std::set<std::string_view> names;
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_GT(dtype_size(dtype), 0) << i;
    EXPECT_TRUE(names.insert(dtype_name(dtype)).second) << dtype_name(dtype);
    ASSERT_TRUE(dtype_from_name(dtype_name(dtype)).ok()) << dtype_name(dtype);
    EXPECT_EQ(*dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_size(DType::undefined), 0);
  EXPECT_EQ(dtype_size(static_cast<DType>(200)), 0);
  for (const char* name : {"", "float", "FLOAT32", "float32 ", "complex", "string"}) {
    const auto r = dtype_from_name(name);
    ASSERT_FALSE(r.ok()) << name;
    EXPECT_NE(r.error().message().find("'" + std::string(name) + "'"), std::string::npos)
        << r.error().message();
  }
}

TEST(DType, EveryTypeIsInTheGroupsItBelongsTo) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    int64_t size = 0;
    const auto note = [&](auto tag) { size = static_cast<int64_t>(sizeof(typename decltype(tag)::type)); };
    const bool moved_only = is_storage_only(dtype) || is_complex(dtype);
    EXPECT_EQ(visit_all(dtype, note), !moved_only) << dtype_name(dtype);
    if (!moved_only) {
      EXPECT_EQ(size, dtype_size(dtype)) << dtype_name(dtype);
    }
    EXPECT_EQ(visit_integer(dtype, note), is_integer(dtype)) << dtype_name(dtype);
    EXPECT_FALSE(is_integer(dtype) && is_float(dtype)) << dtype_name(dtype);
    EXPECT_TRUE(!is_signed_integer(dtype) || is_integer(dtype)) << dtype_name(dtype);
    EXPECT_EQ(is_float(dtype), is_native_float(dtype) + is_half_float(dtype) + is_float8(dtype) == 1)
        << dtype_name(dtype);
    EXPECT_EQ(visit_float(dtype, note), is_native_float(dtype)) << dtype_name(dtype);
  }
  EXPECT_FALSE(visit_all(DType::undefined, [](auto) {}));
  EXPECT_FALSE(visit_all(static_cast<DType>(kDTypeCount), [](auto) {}));
}

TEST(DType, CppTypesLeadBackToTheirDtype) {
  EXPECT_EQ(kDTypeOf<float>, DType::float32);
  EXPECT_EQ(kDTypeOf<BFloat16>, DType::bfloat16);
  EXPECT_EQ(kDTypeOf<bool>, DType::boolean);
  EXPECT_EQ(kDTypeOf<int64_t>, DType::int64);
  EXPECT_EQ(kDTypeOf<char*>, DType::undefined);
}

TEST(DType, NumPyCarriesEachInItsSize) {
  EXPECT_EQ(numpy_code(dtype_facts(DType::float32)), "f4");
  EXPECT_EQ(numpy_code(dtype_facts(DType::bfloat16)), "u2");
  EXPECT_EQ(numpy_code(dtype_facts(DType::float8e5m2)), "u1");
  EXPECT_EQ(numpy_code(dtype_facts(DType::boolean)), "b1");
  EXPECT_EQ(numpy_code(dtype_facts(DType::complex64)), "c8");
  EXPECT_EQ(numpy_code(dtype_facts(DType::complex128)), "c16");
}

TEST(DType, ComplexNumbersAreTwoRealOnes) {
  EXPECT_EQ(static_cast<int>(DType::complex64), 24) << "part of the file format";
  EXPECT_EQ(static_cast<int>(DType::complex128), 25);
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
    EXPECT_EQ(is_complex(dtype), complex) << dtype_name(dtype);
    EXPECT_EQ(dtype_alignment(dtype), dtype == DType::complex128 ? 8 : dtype_size(dtype));
    if (complex) {
      EXPECT_FALSE(is_float(dtype) || is_integer(dtype) || is_storage_only(dtype));
    }
  }
  EXPECT_EQ(dtype_bits(DType::complex128), 128);
}

TEST(Half, EveryCodeGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto code = static_cast<uint16_t>(bits);
    const float half = half_bits_to_float(code), brain = bfloat16_bits_to_float(code);
    if (std::isnan(half))
      ASSERT_TRUE(std::isnan(half_bits_to_float(float_to_half_bits(half)))) << bits;
    else
      ASSERT_EQ(float_to_half_bits(half), code);
    if (std::isnan(brain))
      ASSERT_TRUE(std::isnan(bfloat16_bits_to_float(float_to_bfloat16_bits(brain)))) << bits;
    else
      ASSERT_EQ(float_to_bfloat16_bits(brain), code);
  }
}

// The nearest code by distance, ties to the even one: what rounding means, without arithmetic on bits.
template <class ToFloat>
void rounds_to_the_nearest(float value, uint16_t code, ToFloat to_float, const std::string& trace) {
  const double got = to_float(code), error = std::abs(got - value);
  for (const int step : {-1, 1}) {
    const auto next = static_cast<uint16_t>(code + step);
    if ((next ^ code) & 0x8000) continue;
    const double other = std::abs(static_cast<double>(to_float(next)) - value);
    if (std::isnan(other)) continue;
    ASSERT_TRUE(error < other || (error == other && code % 2 == 0))
        << value << " became " << got << "; " << trace;
  }
}

TEST(Half, RoundsToTheNearestEven) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const std::string trace = "seed " + std::to_string(seed);
  for (int i = 0; i < 20000; ++i) {
    uint32_t bits = rng();
    if (i % 2) bits = (bits & 0x8fffffffu) | 0x30000000u;  // half of them in the range of halves
    if (i % 4 < 2) bits = (bits & 0xffffe000u) | (i % 8 < 4 ? 0x1000u : 0u);  // ties between two halves
    if (i % 4 == 2) bits = (bits & 0xffff0000u) | 0x8000u;                    // ties between two bfloat16
    float value;
    std::memcpy(&value, &bits, 4);
    if (!std::isfinite(value)) continue;
    if (std::abs(value) < 65504)
      rounds_to_the_nearest(value, float_to_half_bits(value), half_bits_to_float, trace);
    if (std::abs(value) < 3e38f)
      rounds_to_the_nearest(value, float_to_bfloat16_bits(value), bfloat16_bits_to_float, trace);
  }
  EXPECT_TRUE(std::isinf(half_bits_to_float(float_to_half_bits(65520.0f))));
  EXPECT_EQ(half_bits_to_float(float_to_half_bits(65519.0f)), 65504.0f);
  EXPECT_EQ(float_to_half_bits(-0.0f), 0x8000);
}

TEST(Float8, CodesGoThereAndBackAndEdgesDoWhatTheyShould) {
  for (const Float8Format& f : {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ}) {
    float largest = 0;
    for (int code = 0; code < 256; ++code) {
      const float value = float8_to_float(static_cast<uint8_t>(code), f);
      if (std::isfinite(value)) largest = std::max(largest, value);
      if (std::isnan(value) || (std::isinf(value))) continue;
      EXPECT_EQ(float_to_float8(value, f, true), code) << "exponent bits " << f.exponent_bits;
      EXPECT_EQ(float_to_float8(value, f, false), code) << "exponent bits " << f.exponent_bits;
    }
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(float8_to_float(float_to_float8(1e30f, f, true), f), largest);
    EXPECT_FALSE(std::isfinite(float8_to_float(float_to_float8(1e30f, f, false), f)));
    EXPECT_EQ(std::isinf(float8_to_float(float_to_float8(infinity, f, false), f)), f.has_infinity);
    EXPECT_TRUE(std::isnan(float8_to_float(float_to_float8(std::nanf(""), f, true), f)));
    EXPECT_EQ(std::signbit(float8_to_float(float_to_float8(-0.0f, f, true), f)), !f.unsigned_zero);
  }
}

}  // namespace
}  // namespace walle::tensor
