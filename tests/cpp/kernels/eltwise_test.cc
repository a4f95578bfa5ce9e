// Edge cases of the element-wise reference kernels: what must not trap, wrap wrongly or lose a NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/cast.h"
#include "kernels/eltwise/saturate.h"
#include "kernels/eltwise/select.h"
#include "kernels/eltwise/unary.h"
#include "seed.h"

namespace walle::kernels {
namespace {

template <class T, class R = T>
std::vector<R> binary(BinaryKind kind, std::vector<T> x, std::vector<T> y) {
  std::vector<R> out(std::max(x.size(), y.size()));
  const Shape shapes[] = {Shape{static_cast<int64_t>(x.size())}, Shape{static_cast<int64_t>(y.size())}};
  const Broadcast b = make_broadcast(Shape{static_cast<int64_t>(out.size())}, shapes);
  run_binary(kind, tensor::kDTypeOf<T>, b, x.data(), y.data(), out.data(), 0, b.elements);
  return out;
}

template <class T>
std::vector<T> unary(UnaryKind kind, std::vector<T> x, UnaryParams params = {}) {
  std::vector<T> out(x.size());
  run_unary(kind, tensor::kDTypeOf<T>, params, x.data(), out.data(), static_cast<int64_t>(x.size()));
  return out;
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();

TEST(Binary, IntegerDivisionNeverTraps) {
  EXPECT_EQ(binary<int32_t>(BinaryKind::div, {7, -7, 5, kLowest}, {2, 2, 0, -1}),
            (std::vector<int32_t>{3, -3, 0, kLowest}));
  EXPECT_EQ(binary<int32_t>(BinaryKind::mod, {7, -7, 5, kLowest}, {-3, 3, 0, -1}),
            (std::vector<int32_t>{-2, 2, 0, 0}));
  EXPECT_EQ(binary<int32_t>(BinaryKind::fmod, {7, -7, 5, kLowest}, {-3, 3, 0, -1}),
            (std::vector<int32_t>{1, -1, 0, 0}));
  EXPECT_EQ(binary<uint8_t>(BinaryKind::div, {200}, {255}), (std::vector<uint8_t>{0}));
}

TEST(Binary, IntegersWrap) {
  EXPECT_EQ(binary<int32_t>(BinaryKind::add, {std::numeric_limits<int32_t>::max()}, {1}),
            (std::vector<int32_t>{kLowest}));
  EXPECT_EQ(binary<uint16_t>(BinaryKind::mul, {65535}, {65535}), (std::vector<uint16_t>{1}));
  EXPECT_EQ(binary<int32_t>(BinaryKind::power, {3, 2, -1, 1, 2}, {4, 32, -3, -9, -1}),
            (std::vector<int32_t>{81, 0, -1, 1, 0}));
}

// Of one exponent for all: rounded as a product in double is, which pow() of the C library is to a unit.
TEST(Binary, SquaresAndCubesAreRoundedOnce) {
  std::mt19937 random(test_seed());
  std::vector<float> x{0, -0.0f, kInf, -kInf, kNaN, 1e30f, -1e-30f, 3};
  for (int i = 0; i < 1000; ++i)
    x.push_back(std::ldexp(static_cast<float>(random()), int(random() % 80) - 70));
  const auto squares = binary<float>(BinaryKind::power, x, {2}),
             cubes = binary<float>(BinaryKind::power, x, {3});
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const auto same = [](float a, double b) {
      const auto want = static_cast<float>(b);
      return (a == want && std::signbit(a) == std::signbit(want)) || (a != a && b != b);
    };
    EXPECT_TRUE(same(squares[i], v * v)) << v;
    EXPECT_TRUE(same(cubes[i], v * v * v)) << v;
    if (v != v || !std::isfinite(cubes[i])) continue;
    EXPECT_NEAR(cubes[i], std::pow(x[i], 3.0f), std::abs(cubes[i]) * 2e-7);
  }
  EXPECT_EQ(binary<int32_t>(BinaryKind::power, {3, -2, 70000}, {3}),
            (std::vector<int32_t>{27, -8, static_cast<int32_t>(343'000'000'000'000)}));
  EXPECT_EQ(binary<double>(BinaryKind::power, {3, -2}, {2}), (std::vector<double>{9, 4}));
}

// By products and what they were rounded by, next to the cube with more digits.
TEST(Binary, CubesOfFloat64AreWithinAUnit) {
  std::mt19937_64 random(test_seed());
  constexpr double kMost = std::numeric_limits<double>::infinity();
  std::vector<double> x{0, -0.0, kMost, -kMost, kNaN, 1e200, -1e200, 1e103, 1e-200, -1e-110, 5e-324, 3, -2};
  for (int i = 0; i < 20000; ++i)
    x.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())), int(random() % 600) - 360));
  const auto cubes = binary<double>(BinaryKind::power, x, {3});
  for (size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<long double>(x[i]);
    const auto want = static_cast<double>(v * v * v);
    if (!(std::fabs(want) < kMost)) {
      EXPECT_TRUE(cubes[i] == want || (want != want && cubes[i] != cubes[i])) << x[i];
      continue;
    }
    EXPECT_EQ(std::signbit(cubes[i]), std::signbit(want)) << x[i];
    EXPECT_GE(cubes[i], std::nextafter(want, -kMost)) << x[i];
    EXPECT_LE(cubes[i], std::nextafter(want, kMost)) << x[i];
  }
}

// Quotients of int32 by way of double, whichever operand is a number alone.
TEST(Binary, QuotientsOfInt32AreWhole) {
  std::mt19937 random(test_seed());
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> x{kLowest, kLowest, kLowest, kLowest, kHighest, kHighest, 0, kHighest, 1},
      y{-1, 1, 0, kLowest, -1, kHighest - 1, kLowest, 0, kLowest};
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<int32_t>(random()) >> random() % 31);
    // Multiples and their neighbours.
    y.push_back(i % 2 ? static_cast<int32_t>(random()) >> random() % 31
                      : x.back() / (1 + int(random() % 9)) + int(random() % 3) - 1);
  }
  const auto want = [](int64_t a, int64_t b) { return b == 0 ? 0 : static_cast<int32_t>(a / b); };
  const auto both = binary<int32_t>(BinaryKind::div, x, y);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(both[i], want(x[i], y[i])) << x[i] << " / " << y[i];
  for (const int32_t one : {0, 1, -1, 7, kLowest, kHighest}) {
    const auto by = binary<int32_t>(BinaryKind::div, x, {one}),
               of = binary<int32_t>(BinaryKind::div, {one}, y);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(by[i], want(x[i], one)) << x[i] << " / " << one;
      ASSERT_EQ(of[i], want(one, y[i])) << one << " / " << y[i];
    }
  }
}

// All pairs of 8 bits: kinds that ignore signs are computed without them, and half of the comparisons with
// operands exchanged.
template <class T>
void expect_all_pairs() {
  std::vector<T> x, y;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      x.push_back(static_cast<T>(a));
      y.push_back(static_cast<T>(b));
    }
  const auto each = [&](BinaryKind kind, auto definition) {
    using R = decltype(definition(x[0], y[0]));
    const Shape shapes[] = {Shape{65536}, Shape{65536}};
    const auto out = std::make_unique<R[]>(65536);
    run_binary(kind, tensor::kDTypeOf<T>, make_broadcast(Shape{65536}, shapes), x.data(), y.data(), out.get(),
               0, 65536);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(out[i], definition(x[i], y[i])) << int(kind) << ' ' << int(x[i]) << ' ' << int(y[i]);
  };
  using K = BinaryKind;
  each(K::add, [](T a, T b) { return static_cast<T>(a + b); });
  each(K::sub, [](T a, T b) { return static_cast<T>(a - b); });
  each(K::mul, [](T a, T b) { return static_cast<T>(a * b); });
  each(K::min, [](T a, T b) { return a < b ? a : b; });
  each(K::max, [](T a, T b) { return a < b ? b : a; });
  each(K::div, [](T a, T b) { return static_cast<T>(b == 0 ? 0 : a / b); });
  each(K::bit_and, [](T a, T b) { return static_cast<T>(a & b); });
  each(K::bit_or, [](T a, T b) { return static_cast<T>(a | b); });
  each(K::bit_xor, [](T a, T b) { return static_cast<T>(a ^ b); });
  each(K::shift_left, [](T a, T b) { return static_cast<T>(b < 0 || b > 7 ? 0 : a << b); });
  each(K::shift_right, [](T a, T b) { return static_cast<T>(b < 0 || b > 7 ? (a < 0 ? -1 : 0) : a >> b); });
  each(K::equal, [](T a, T b) { return a == b; });
  each(K::less, [](T a, T b) { return a < b; });
  each(K::less_equal, [](T a, T b) { return a <= b; });
  each(K::greater, [](T a, T b) { return a > b; });
  each(K::greater_equal, [](T a, T b) { return a >= b; });
}

TEST(Binary, AllPairsOfEightBits) {
  expect_all_pairs<int8_t>();
  expect_all_pairs<uint8_t>();
}

// A matrix and a column: what is exchanged is how both are read, too.
TEST(Binary, ComparisonsBroadcastEitherOperand) {
  const Shape shapes[] = {Shape{2, 3}, Shape{2, 1}};
  const std::vector<float> x{1, 2, kNaN, 4, 5, 6}, y{2, 5};
  bool out[6];
  run_binary(BinaryKind::greater, DType::float32, make_broadcast(Shape{2, 3}, shapes), x.data(), y.data(),
             out, 0, 6);
  EXPECT_EQ(std::vector<bool>(out, out + 6), (std::vector<bool>{false, false, false, false, false, true}));
  run_binary(BinaryKind::greater_equal, DType::float32, make_broadcast(Shape{2, 3}, shapes), x.data(),
             y.data(), out, 0, 6);
  EXPECT_EQ(std::vector<bool>(out, out + 6), (std::vector<bool>{false, true, false, false, true, true}));
}

TEST(Unary, InfinitiesCountBySign) {
  const std::vector<float> x{kInf, -kInf, kNaN, 1, kInf, -kInf};
  for (const int which : {0, 1, 2, 3}) {
    bool y[6];
    run_unary(UnaryKind::is_inf, DType::float32, {double(which & 1), double(which >> 1)}, x.data(), y, 6);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i], (x[i] == kInf && which >> 1) || (x[i] == -kInf && which & 1)) << i << ' ' << which;
  }
}

TEST(Binary, ShiftsByTheWidthMoveEverythingOut) {
  EXPECT_EQ(binary<uint8_t>(BinaryKind::shift_left, {255, 1}, {8, 7}), (std::vector<uint8_t>{0, 128}));
  EXPECT_EQ(binary<int8_t>(BinaryKind::shift_right, {-128, -128}, {100, 7}), (std::vector<int8_t>{-1, -1}));
}

TEST(Binary, MinAndMaxPassNaNOn) {
  for (auto kind : {BinaryKind::min, BinaryKind::max}) {
    const auto out = binary<float>(kind, {kNaN, 1, 1}, {1, kNaN, 2});
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_FALSE(std::isnan(out[2]));
  }
}

TEST(Binary, ComparisonsWithNaNAreFalse) {
  const std::vector<float> x{kNaN, 1}, y{kNaN, 1};
  bool out[2];
  const Shape shapes[] = {Shape{2}, Shape{2}};
  run_binary(BinaryKind::equal, DType::float32, make_broadcast(Shape{2}, shapes), x.data(), y.data(), out, 0,
             2);
  EXPECT_FALSE(out[0]);
  EXPECT_TRUE(out[1]);
}

TEST(Broadcast, AnyRangeOfTheResultEqualsTheWhole) {
  const Shape out{2, 3, 4};
  const Shape shapes[] = {Shape{3, 1}, Shape{2, 1, 4}};
  std::vector<float> x{1, 2, 3}, y(8), whole(24);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(10 * i);
  const Broadcast b = make_broadcast(out, shapes);
  run_binary(BinaryKind::add, DType::float32, b, x.data(), y.data(), whole.data(), 0, 24);
  for (int64_t step = 1; step < 24; ++step) {
    std::vector<float> parts(24);
    for (int64_t at = 0; at < 24; at += step)
      run_binary(BinaryKind::add, DType::float32, b, x.data(), y.data(), parts.data(), at,
                 std::min<int64_t>(at + step, 24));
    EXPECT_EQ(parts, whole) << step;
  }
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(whole[i], x[i / 4 % 3] + y[i / 12 * 4 + i % 4]) << i;
}

TEST(Broadcast, EmptyAndScalarResults) {
  const Shape scalars[] = {Shape{}, Shape{}};
  EXPECT_EQ(make_broadcast(Shape{}, scalars).elements, 1);
  const Shape empty[] = {Shape{0, 3}, Shape{3}};
  const Broadcast b = make_broadcast(Shape{0, 3}, empty);
  EXPECT_EQ(b.elements, 0);
  float untouched = 5;
  run_binary(BinaryKind::add, DType::float32, b, &untouched, &untouched, &untouched, 0, b.elements);
  EXPECT_EQ(untouched, 5);
}

TEST(Unary, NaNStaysNaN) {
  for (auto kind : {UnaryKind::relu, UnaryKind::clamp, UnaryKind::leaky_relu, UnaryKind::hard_sigmoid,
                    UnaryKind::sign, UnaryKind::softplus, UnaryKind::celu, UnaryKind::selu, UnaryKind::mish})
    EXPECT_TRUE(std::isnan(unary<float>(kind, {kNaN}, {1, 1})[0])) << static_cast<int>(kind);
  // What lies neither below nor above a bound is 0, and so does ONNX define them.
  for (auto kind : {UnaryKind::shrink, UnaryKind::thresholded_relu})
    EXPECT_EQ(unary<float>(kind, {kNaN}, {1, 1})[0], 0) << static_cast<int>(kind);
}

TEST(Unary, ExtremesStayFinite) {
  EXPECT_EQ(unary<float>(UnaryKind::sigmoid, {-1000, 1000}), (std::vector<float>{0, 1}));
  EXPECT_EQ(unary<float>(UnaryKind::softplus, {-1000, 1000}), (std::vector<float>{0, 1000}));
  EXPECT_EQ(unary<float>(UnaryKind::round, {0.5f, 1.5f, -2.5f}), (std::vector<float>{0, 2, -2}));
  EXPECT_EQ(unary<int32_t>(UnaryKind::abs, {kLowest, -3}), (std::vector<int32_t>{kLowest, 3}));
}

TEST(Cast, FloatsOutOfRangeAreDefined) {
  const std::vector<float> from{kNaN, kInf, -kInf, 1e30f, -1.9f, 300};
  std::vector<int64_t> wide(from.size());
  run_cast(DType::float32, from.data(), DType::int64, wide.data(), 6, true);
  EXPECT_EQ(wide, (std::vector<int64_t>{0, INT64_MAX, INT64_MIN, INT64_MAX, -1, 300}));
  std::vector<uint8_t> narrow(from.size());
  run_cast(DType::float32, from.data(), DType::uint8, narrow.data(), 6, true);
  EXPECT_EQ(narrow[4], 255);
  EXPECT_EQ(narrow[5], 44);
  bool truth[6];
  run_cast(DType::float32, from.data(), DType::boolean, truth, 6, true);
  EXPECT_TRUE(truth[0]);
}

template <class From, class To>
std::vector<To> saturated(DType from_dtype, DType to_dtype) {
  const float numbers[] = {kNaN, kInf, -kInf, 1e6f, -1e6f, 1, -1};
  std::vector<From> from;
  for (float v : numbers) from.push_back(static_cast<From>(v));
  std::vector<To> to(from.size());
  run_saturate(from_dtype, from.data(), to_dtype, to.data(), static_cast<int64_t>(from.size()));
  return to;
}

TEST(Saturate, NaNGivesTheLowestNumberOfEveryDType) {
  using I8 = std::vector<int8_t>;
  using U8 = std::vector<uint8_t>;
  EXPECT_EQ((saturated<float, int8_t>(DType::float32, DType::int8)), (I8{-128, 127, -128, 127, -128, 1, -1}));
  EXPECT_EQ((saturated<double, int8_t>(DType::float64, DType::int8)),
            (I8{-128, 127, -128, 127, -128, 1, -1}));
  EXPECT_EQ((saturated<tensor::Half, uint8_t>(DType::float16, DType::uint8)), (U8{0, 255, 0, 255, 0, 1, 0}));
  EXPECT_EQ((saturated<tensor::BFloat16, int16_t>(DType::bfloat16, DType::int16)),
            (std::vector<int16_t>{-32768, 32767, -32768, 32767, -32768, 1, -1}));
  EXPECT_EQ((saturated<float, uint16_t>(DType::float32, DType::uint16)),
            (std::vector<uint16_t>{0, 65535, 0, 65535, 0, 1, 0}));
  // The four or two low bits are the number's, the others 0.
  EXPECT_EQ((saturated<float, uint8_t>(DType::float32, DType::int4)), (U8{8, 7, 8, 7, 8, 1, 15}));
  EXPECT_EQ((saturated<float, uint8_t>(DType::float32, DType::uint4)), (U8{0, 15, 0, 15, 0, 1, 0}));
  EXPECT_EQ((saturated<float, uint8_t>(DType::float32, DType::int2)), (U8{2, 1, 2, 1, 2, 1, 3}));
  EXPECT_EQ((saturated<float, uint8_t>(DType::float32, DType::uint2)), (U8{0, 3, 0, 3, 0, 1, 0}));
}

TEST(Cast, EveryPairOfDTypesKeepsSmallNumbers) {
  const std::vector<float> from{0, 1, 2, 3};
  const auto lacks_some = [](int d) {  // the largest int2 is 1, powers of two have no 0
    const auto dtype = static_cast<DType>(d);
    return dtype == DType::int2 || dtype == DType::float8e8m0 || tensor::is_complex(dtype);
  };
  for (int a = 1; a < tensor::kDTypeCount; ++a) {
    for (int b = 1; b < tensor::kDTypeCount; ++b) {
      if (lacks_some(a) || lacks_some(b)) continue;
      std::vector<std::byte> first(32), second(32);
      std::vector<float> back(4);
      run_cast(DType::float32, from.data(), static_cast<DType>(a), first.data(), 4, true);
      run_cast(static_cast<DType>(a), first.data(), static_cast<DType>(b), second.data(), 4, true);
      run_cast(static_cast<DType>(b), second.data(), DType::float32, back.data(), 4, true);
      const bool truth = static_cast<DType>(a) == DType::boolean || static_cast<DType>(b) == DType::boolean;
      EXPECT_EQ(back, truth ? (std::vector<float>{0, 1, 1, 1}) : from) << a << " to " << b;
    }
  }
}

// Every code of the types below 8 bits and of float8e8m0 to float and back; integers keep their low bits.
TEST(Cast, CodesOfStoredTypesComeBack) {
  for (DType dtype :
       {DType::int4, DType::uint4, DType::int2, DType::uint2, DType::float4e2m1, DType::float8e8m0}) {
    SCOPED_TRACE(tensor::dtype_name(dtype));
    const int codes = dtype == DType::float8e8m0 ? 255 : 1 << tensor::dtype_bits(dtype);
    for (int code = 0; code < codes; ++code) {
      const auto given = static_cast<uint8_t>(code);
      float value = 0;
      uint8_t back = 99;
      run_cast(dtype, &given, DType::float32, &value, 1, true);
      run_cast(DType::float32, &value, dtype, &back, 1, true);
      EXPECT_EQ(back, given) << value;
    }
  }
  const std::vector<int64_t> wide{-9, -8, -1, 7, 8, 255, INT64_MAX};
  std::vector<uint8_t> codes(wide.size());
  std::vector<int64_t> values(wide.size());
  run_cast(DType::int64, wide.data(), DType::int4, codes.data(), 7, true);
  run_cast(DType::int4, codes.data(), DType::int64, values.data(), 7, true);
  EXPECT_EQ(values, (std::vector<int64_t>{7, -8, -1, 7, -8, -1, -1}));
  run_cast(DType::int64, wide.data(), DType::uint2, codes.data(), 7, true);
  run_cast(DType::uint2, codes.data(), DType::int64, values.data(), 7, true);
  EXPECT_EQ(values, (std::vector<int64_t>{3, 0, 3, 3, 0, 3, 3}));
}

TEST(Cast, PowersOfTwoRoundAsAsked) {
  const float from[] = {1, 1.4F, 1.5F, 3, 0, 1e-45F, 3e38F, kNaN};
  uint8_t codes[8];
  using tensor::PowerRounding;
  const auto cast = [&](PowerRounding rounding, bool saturate) {
    run_cast(DType::float32, from, DType::float8e8m0, codes, 8, saturate, rounding);
    return std::vector<int>(std::begin(codes), std::end(codes));
  };
  EXPECT_EQ(cast(PowerRounding::up, true), (std::vector<int>{127, 128, 128, 129, 0, 0, 254, 255}));
  EXPECT_EQ(cast(PowerRounding::down, true), (std::vector<int>{127, 127, 127, 128, 0, 0, 254, 255}));
  EXPECT_EQ(cast(PowerRounding::nearest, false), (std::vector<int>{127, 127, 128, 129, 255, 255, 255, 255}));
}

TEST(Cast, Float8SaturatesOnlyWhenAsked) {
  const float big = 1e6f;
  uint8_t code = 0;
  float back = 0;
  run_cast(DType::float32, &big, DType::float8e4m3fn, &code, 1, true);
  run_cast(DType::float8e4m3fn, &code, DType::float32, &back, 1, true);
  EXPECT_EQ(back, 448);
  run_cast(DType::float32, &big, DType::float8e4m3fn, &code, 1, false);
  run_cast(DType::float8e4m3fn, &code, DType::float32, &back, 1, true);
  EXPECT_TRUE(std::isnan(back));
}

TEST(Select, CopiesBitsWithBroadcasting) {
  const bool condition[] = {true, false};
  const float x[] = {kNaN};
  const float y[] = {1, 2};
  float out[2];
  const Shape shapes[] = {Shape{2}, Shape{}, Shape{2}};
  run_select(make_broadcast(Shape{2}, shapes), 4, condition, x, y, out, 0, 2);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 2);
}

// Every size, dense or repeated operands, lengths around those of vectors, addresses beside their multiples.
TEST(Select, IsItsDefinitionWhateverRepeats) {
  std::mt19937 random(test_seed());
  for (const int64_t size : {1, 2, 4, 8, 16})
    for (const int repeats : {0, 1, 2, 3, 4, 5, 6, 7})
      for (const int64_t n : {1, 2, 7, 16, 31, 64, 133}) {
        const auto dims = [&](int operand) { return Shape{repeats >> operand & 1 ? 1 : n}; };
        std::vector<uint8_t> x((n + 1) * size), y((n + 1) * size), out((n + 2) * size, 0x5a);
        for (auto* operand : {&x, &y})
          for (uint8_t& byte : *operand) byte = static_cast<uint8_t>(random());
        const auto condition = std::make_unique<bool[]>(n + 1);
        for (int64_t i = 0; i <= n; ++i) condition[i] = random() % 2;
        const Shape shapes[] = {dims(0), dims(1), dims(2)};
        run_select(make_broadcast(Shape{n}, shapes), size, condition.get() + 1, x.data() + size,
                   y.data() + size, out.data() + size, 0, n);
        const auto step = [&](int operand) { return repeats >> operand & 1 ? 0 : 1; };
        for (int64_t i = 0; i < n; ++i) {
          const bool first = condition[1 + i * step(0)];
          const uint8_t* want = first ? &x[(1 + i * step(1)) * size] : &y[(1 + i * step(2)) * size];
          ASSERT_EQ(std::memcmp(&out[(1 + i) * size], want, size), 0) << size << ' ' << repeats << ' ' << n;
        }
        ASSERT_EQ(out[(n + 1) * size], 0x5a);
        ASSERT_EQ(out[0], 0x5a);
      }
}

TEST(Select, TakesElementsOfEverySize) {
  const bool condition[] = {true, false, true};
  const Shape shapes[] = {Shape{3}, Shape{3}, Shape{}};
  for (const int64_t size : {1, 2, 4, 8, 16}) {
    // One word in front: elements of 16 bytes need be aligned to 8 alone.
    alignas(16) std::array<uint8_t, 8 + 3 * 16> x, y, out;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<uint8_t>(i);
      y[i] = static_cast<uint8_t>(100 + i);
    }
    run_select(make_broadcast(Shape{3}, shapes), size, condition, x.data() + 8, y.data() + 8, out.data() + 8,
               0, 3);
    for (int64_t i = 0; i < 3 * size; ++i) {
      const bool second = i / size == 1;
      ASSERT_EQ(out[8 + i], second ? y[8 + i % size] : x[8 + i]) << size << " bytes, byte " << i;
    }
  }
}

}  // namespace
}  // namespace walle::kernels
