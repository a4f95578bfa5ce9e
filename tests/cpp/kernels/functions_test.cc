// Vector functions against the C library's in double precision, on every instruction set of this machine.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "compare.h"
#include "kernels/eltwise/cast.h"
#include "kernels/eltwise/eltwise.h"

namespace walle::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  UnaryKind kind;
  double units;  // in the last place
  UnaryParams params = {};
};
constexpr Case kCases[] = {
    {UnaryKind::exp, 2},
    {UnaryKind::log, 2},
    {UnaryKind::softplus, 3},
    {UnaryKind::softsign, 3},
    {UnaryKind::mish, 5},
    {UnaryKind::elu, 3, {1, 0}},
    {UnaryKind::celu, 4, {2.5, 0}},
    {UnaryKind::selu, 4, {1.67326319217681884765625, 1.05070102214813232421875}},
    {UnaryKind::sin, 4},
    {UnaryKind::cos, 4},
    {UnaryKind::asin, 3},
    {UnaryKind::acos, 3},
    {UnaryKind::atan, 3},
    {UnaryKind::floor, 0},
    {UnaryKind::ceil, 0},
    {UnaryKind::round, 0},
    {UnaryKind::sign, 0},
    {UnaryKind::shrink, 1, {0.5, 0.25}},
    {UnaryKind::thresholded_relu, 0, {0.75, 0}},
};

// Every exponent with both signs, what networks compute with, whole numbers and halves, quarters of turns,
// and what is no number.
std::vector<float> arguments() {
  std::vector<float> x = {0,           -0.0f,  kInf,       -kInf,       kNaN,      1e-45f,
                          -1e-45f,     1e-40f, 8388607.5f, -8388607.5f, 0.5f,      -0.5f,
                          16777216.0f, 1e38f,  -1e38f,     8192.5f,     -9000.25f, 1e6f};
  for (uint32_t exponent = 1; exponent < 255; ++exponent)
    for (const uint32_t mantissa : {0u, 0x3504f3u, 0x3504f4u, 0x7fffffu})
      for (const uint32_t sign : {0u, 0x80000000u})
        x.push_back(std::bit_cast<float>(sign | exponent << 23 | mantissa));
  for (const float v : random_floats(20000, 5)) x.insert(x.end(), {v, v / 3, 12 * v, 100 * v, 5000 * v});
  for (int i = -400; i <= 400; ++i)
    x.insert(x.end(), {static_cast<float>(i) / 2, static_cast<float>(i * 1.5707963267948966)});
  return x;
}

double definition(const Case& c, float x) {
  const double given = x;
  double y = 0;
  run_unary(c.kind, DType::float64, c.params, &given, &y, 1);
  return y;
}

// A subnormal exponential has fewer digits than a unit in the last place counts, and Mish multiplies it by an
// argument of up to 104.
double distance(float got, double want) {
  const float rounded = std::abs(static_cast<float>(want));
  const float unit = std::nextafter(rounded, kInf) - rounded;
  return std::abs(got - want) / std::max(unit, 64 * std::numeric_limits<float>::denorm_min());
}

bool agree(const Case& c, float got, double want) {
  const auto rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got || std::abs(want) > 3.402e38;
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) || c.units > 0;
  return distance(got, want) <= c.units;
}

TEST(Functions, AreTheDefinitionsToAFewUnitsInTheLastPlace) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const Isa isa : supported_isas())
    for (const Case& c : kCases) {
      UnaryParams params = c.params;
      const UnaryF32 run = unary_f32(c.kind, isa, params);
      ASSERT_NE(run, nullptr);
      run(x.data(), y.data(), static_cast<int64_t>(x.size()), static_cast<float>(params.alpha),
          static_cast<float>(params.beta));
      int shown = 0;
      for (size_t i = 0; i < x.size() && shown < 3; ++i) {
        const double want = definition(c, x[i]);
        if (agree(c, y[i], want)) continue;
        ADD_FAILURE() << isa_name(isa) << " kind " << static_cast<int>(c.kind) << " of " << x[i] << ": "
                      << y[i] << " instead of " << want;
        ++shown;
      }
    }
}

// Zeros keep their sign where the function does, also behind the last full vector.
TEST(Functions, ZerosKeepTheirSigns) {
  const std::array<float, 19> x = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f,
                                   -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
  for (const Isa isa : supported_isas())
    for (const UnaryKind kind :
         {UnaryKind::sin, UnaryKind::floor, UnaryKind::ceil, UnaryKind::round, UnaryKind::sign,
          UnaryKind::softsign, UnaryKind::mish, UnaryKind::elu, UnaryKind::asin, UnaryKind::atan}) {
      std::array<float, 19> y{};
      UnaryParams params{1, 0};
      unary_f32(kind, isa, params)(x.data(), y.data(), 19, 1, 0);
      for (const float v : y)
        EXPECT_TRUE(v == 0 && std::signbit(v)) << isa_name(isa) << " " << static_cast<int>(kind);
    }
}

// A scale below 0 makes growing exponentials of Celu's: the definition computes them.
TEST(Functions, ACeluOfNegativeScaleIsLeftToTheDefinition) {
  UnaryParams params{-1, 0};
  EXPECT_EQ(unary_f32(UnaryKind::celu, Isa::scalar, params), nullptr);
}

bool same_half(uint16_t a, uint16_t b) {
  const auto nan = [](uint16_t v) { return (v & 0x7c00) == 0x7c00 && (v & 0x3ff) != 0; };
  return a == b || (nan(a) && nan(b));
}

// All 65,536 halves, and of floats what the other tests take and what lies halfway between two halves.
TEST(Casts, HalvesAreTheDefinitions) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(codes.size());
  run_cast(DType::float16, codes.data(), DType::float32, wide.data(), 65536, false);
  std::vector<float> x = arguments();
  for (size_t i = 0; i + 1 < wide.size(); ++i) x.push_back((wide[i] + wide[i + 1]) / 2);
  const auto n = static_cast<int64_t>(x.size());
  std::vector<uint16_t> want(x.size()), got(x.size());
  run_cast(DType::float32, x.data(), DType::float16, want.data(), n, false);
  for (const Isa isa : supported_isas()) {
    const EltwiseTable& table = eltwise_table(isa);
    ASSERT_EQ(table.to_half == nullptr, table.from_half == nullptr);
    if (!table.to_half) continue;
    std::vector<float> back(codes.size());
    table.from_half(codes.data(), back.data(), 65536);
    for (size_t i = 0; i < codes.size(); ++i)
      ASSERT_TRUE(std::bit_cast<uint32_t>(back[i]) == std::bit_cast<uint32_t>(wide[i]) ||
                  (std::isnan(back[i]) && std::isnan(wide[i])))
          << isa_name(isa) << " code " << i;
    table.to_half(x.data(), got.data(), n);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same_half(got[i], want[i])) << isa_name(isa) << " of " << x[i];
  }
}

TEST(Casts, ToInt32SaysWhatDoesNotFit) {
  for (const Isa isa : supported_isas()) {
    const EltwiseTable& table = eltwise_table(isa);
    std::vector<float> x = random_floats(1003, 3);
    for (float& v : x) v *= 2e9f;
    std::vector<int32_t> y(x.size());
    ASSERT_TRUE(table.to_int32(x.data(), y.data(), 1003));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], static_cast<int32_t>(x[i])) << isa_name(isa);
    for (const size_t at : {size_t{0}, size_t{17}, size_t{1002}})
      for (const float bad : {kNaN, kInf, -kInf, 2147483648.0f, -3e9f}) {
        std::vector<float> with = x;
        with[at] = bad;
        EXPECT_FALSE(table.to_int32(with.data(), y.data(), 1003))
            << isa_name(isa) << " " << bad << " at " << at;
      }
  }
}

}  // namespace
}  // namespace walle::kernels
