// Edge cases of reductions, softmax, sorting, determinants and random numbers.
#include "kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "kernels/norm/determinant.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/random/random.h"
#include "kernels/rows.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sort/top_k.h"
#include "seed.h"

namespace walle::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> reduce(ReduceKind kind, const Shape& shape, std::vector<int> axes, const std::vector<T>& x,
                      int threads = 1) {
  const ReducePlan plan = make_reduce_plan(shape, axes);
  std::vector<T> y(static_cast<size_t>(plan.kept_elements));
  run_reduce(kind, tensor::kDTypeOf<T>, plan, x.data(), y.data(), threads);
  return y;
}

TEST(Reduce, EverySetOfAxesMatchesPlainLoops) {
  const Shape shape{2, 3, 4, 5};
  std::vector<int64_t> x(120);
  std::iota(x.begin(), x.end(), 1);
  for (unsigned mask = 0; mask < 16; ++mask) {
    std::vector<int> axes;
    Shape kept;
    for (int i = 0; i < 4; ++i) {
      if (mask >> i & 1) axes.push_back(i);
      kept.push_back(mask >> i & 1 ? 1 : shape[i]);
    }
    std::vector<int64_t> want(static_cast<size_t>(kept.elements()), 0);
    const Shape from = shape.strides(), to = kept.strides();
    for (int64_t e = 0; e < 120; ++e) {
      int64_t at = 0;
      for (int i = 0; i < 4; ++i) at += kept[i] == 1 ? 0 : e / from[i] % shape[i] * to[i];
      want[static_cast<size_t>(at)] += x[static_cast<size_t>(e)];
    }
    EXPECT_EQ(reduce(ReduceKind::sum, shape, axes, x), want) << mask;
    EXPECT_EQ(reduce(ReduceKind::sum, shape, axes, x, 2), want) << mask;
  }
}

TEST(Reduce, EmptySetsGiveTheNeutralElement) {
  const std::vector<float> none;
  EXPECT_EQ(reduce(ReduceKind::sum, Shape{2, 0}, {1}, none), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce(ReduceKind::prod, Shape{2, 0}, {1}, none), (std::vector<float>{1, 1}));
  EXPECT_EQ(reduce(ReduceKind::max, Shape{1, 0}, {1}, none), (std::vector<float>{-kInf}));
  EXPECT_EQ(reduce(ReduceKind::min, Shape{1, 0}, {1}, none), (std::vector<float>{kInf}));
  EXPECT_TRUE(std::isnan(reduce(ReduceKind::mean, Shape{1, 0}, {1}, none)[0]));
  EXPECT_EQ(reduce(ReduceKind::mean, Shape{1, 0}, {1}, std::vector<int32_t>{}), (std::vector<int32_t>{0}));
  EXPECT_TRUE(reduce(ReduceKind::sum, Shape{0, 3}, {1}, none).empty());
}

TEST(Reduce, MaxPassesNaNOnAndSumsWrap) {
  EXPECT_TRUE(std::isnan(reduce(ReduceKind::max, Shape{3}, {0}, std::vector<float>{1, kNaN, 2})[0]));
  EXPECT_EQ(
      reduce(ReduceKind::sum, Shape{2}, {0}, std::vector<int32_t>{std::numeric_limits<int32_t>::max(), 1})[0],
      std::numeric_limits<int32_t>::min());
}

TEST(Reduce, ExtremesOfFloat64MeetNaNAnywhere) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  std::mt19937 random(test_seed());
  for (int64_t n = 0; n < 40; ++n) {
    std::vector<double> x(static_cast<size_t>(n));
    for (double& v : x) v = static_cast<double>(random()) - 2e9;
    const auto of = [&](ReduceKind kind) { return reduce<double>(kind, Shape{n}, {0}, x)[0]; };
    EXPECT_EQ(of(ReduceKind::max), n ? *std::ranges::max_element(x) : -kMost);
    EXPECT_EQ(of(ReduceKind::min), n ? *std::ranges::min_element(x) : kMost);
    for (size_t at = 0; at < x.size(); ++at) {
      if (2 * at + 1 == x.size()) continue;  // both ends are one
      const double before = std::exchange(x[at], kMost), also = std::exchange(x[x.size() - 1 - at], -kMost);
      EXPECT_EQ(of(ReduceKind::min), -kMost) << n;
      EXPECT_EQ(of(ReduceKind::max), x[at]) << n;
      x[at] = kNaN;
      EXPECT_TRUE(std::isnan(of(ReduceKind::min)) && std::isnan(of(ReduceKind::max))) << n << ' ' << at;
      x[x.size() - 1 - at] = also;
      x[at] = before;
    }
  }
}

TEST(Reduce, LongFloatSumsStayAccurate) {
  const std::vector<float> x(1 << 20, 0.1f);
  EXPECT_NEAR(reduce(ReduceKind::sum, Shape{1 << 20}, {0}, x)[0], 104857.6f, 0.5f);
}

TEST(ArgReduce, TiesAndNaN) {
  const std::vector<float> x{1, 3, 3, 0};
  int64_t at = -1;
  run_arg_reduce({1, 4, 1, true, false}, DType::float32, x.data(), &at);
  EXPECT_EQ(at, 1);
  run_arg_reduce({1, 4, 1, true, true}, DType::float32, x.data(), &at);
  EXPECT_EQ(at, 2);
  const std::vector<float> y{1, kNaN, -kInf};
  run_arg_reduce({1, 3, 1, false, false}, DType::float32, y.data(), &at);
  EXPECT_EQ(at, 1);
}

TEST(CumSum, ExclusiveAndReverse) {
  const std::vector<int32_t> x{1, 2, 3};
  std::vector<int32_t> y(3);
  run_cum_sum({1, 3, 1, true, false}, DType::int32, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<int32_t>{0, 1, 3}));
  run_cum_sum({1, 3, 1, true, true}, DType::int32, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<int32_t>{5, 3, 0}));
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  const std::vector<float> x{1000, 1000, -1000};
  std::vector<float> y(3);
  run_softmax({1, 3, 1, false}, DType::float32, x.data(), y.data(), 1);
  EXPECT_FLOAT_EQ(y[0], 0.5f);
  EXPECT_EQ(y[2], 0);
  run_softmax({1, 3, 1, true}, DType::float32, x.data(), y.data(), 1);
  EXPECT_FLOAT_EQ(y[2], -2000 - std::log(2.0f));
}

TEST(LayerNorm, ConstantRowsGiveTheBias) {
  const std::vector<float> x{5, 5, 5, 5}, scale{2, 2}, bias{1, -1};
  std::vector<float> y(4), mean(2), inv_std(2);
  run_layer_norm({2, 2, 1e-5, true}, DType::float32, x.data(), scale.data(), bias.data(), y.data(),
                 mean.data(), inv_std.data(), 1);
  EXPECT_EQ(y, (std::vector<float>{1, -1, 1, -1}));
  EXPECT_EQ(mean[1], 5);
  EXPECT_NEAR(inv_std[0], 316.2278f, 1e-2f);
}

TEST(TopK, OrderTiesAndNaN) {
  const std::vector<float> x{1, kNaN, 3, 3, -2};
  std::vector<float> values(3);
  std::vector<int64_t> at(3);
  std::vector<std::byte> scratch(top_k_scratch_bytes({1, 5, 1, 3, true}, DType::float32));
  run_top_k({1, 5, 1, 3, true}, DType::float32, x.data(), values.data(), at.data(), scratch.data());
  EXPECT_EQ(at, (std::vector<int64_t>{1, 2, 3}));
  run_top_k({1, 5, 1, 3, false}, DType::float32, x.data(), values.data(), at.data(), scratch.data());
  EXPECT_EQ(values, (std::vector<float>{-2, 1, 3}));
  EXPECT_EQ(at[2], 2);
}

// Few different numbers, so that most are ties; with NaN, zeros of both signs and infinities where there are.
template <class T>
std::vector<T> tied(std::mt19937_64& random, int64_t n) {
  std::vector<T> out(static_cast<size_t>(n));
  const bool few = random() % 2;
  for (T& v : out) {
    v = few ? static_cast<T>(static_cast<int>(random() % 7) - 3)
            : static_cast<T>(static_cast<int64_t>(random()));
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T kOdd[] = {T(kNaN), -T(kNaN), T(0), T(-0.0), T(kInf), -T(kInf)};
      if (random() % 5 == 0) v = kOdd[random() % 6];
    }
  }
  return out;
}

template <class T>
void expect_top_k(std::mt19937_64& random) {
  TopK s{.outer = static_cast<int64_t>(random() % 3),
         .inner = random() % 3 ? 1 : 3,
         .largest = random() % 2 == 0};
  s.axis =
      random() % 4 ? 1 + static_cast<int64_t>(random() % 100) : 1000 + static_cast<int64_t>(random() % 500);
  s.k = std::min<int64_t>(s.axis, static_cast<int64_t>(random() % (random() % 2 ? 8 : 300)));
  const auto x = tied<T>(random, s.outer * s.axis * s.inner);
  std::vector<T> values(s.outer * s.k * s.inner + 1, T(77));
  std::vector<int64_t> at(values.size(), -7), order(s.axis);
  std::vector<int64_t> scratch(top_k_scratch_bytes(s, tensor::kDTypeOf<T>) / 8 + 1);
  run_top_k(s, tensor::kDTypeOf<T>, x.data(), values.data(), at.data(),
            reinterpret_cast<std::byte*>(scratch.data()));
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto of = [&](int64_t a) { return x[(o * s.axis + a) * s.inner + i]; };
      // NaN after every number.
      const auto less = [](T a, T b) { return a == a && (b != b || a < b); };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(
          order, [&](int64_t a, int64_t b) { return s.largest ? less(of(b), of(a)) : less(of(a), of(b)); });
      for (int64_t r = 0; r < s.k; ++r) {
        const int64_t to = (o * s.k + r) * s.inner + i;
        ASSERT_EQ(at[to], order[r]) << s.axis << " k " << s.k << " largest " << s.largest << " inner "
                                    << s.inner;
        ASSERT_EQ(std::memcmp(&values[to], &x[(o * s.axis + order[r]) * s.inner + i], sizeof(T)), 0);
      }
    }
  ASSERT_EQ(values.back(), T(77));
}

TEST(TopK, IsAStableSortOfEveryType) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 150 && !::testing::Test::HasFatalFailure(); ++round) {
    expect_top_k<float>(random);
    expect_top_k<double>(random);
    expect_top_k<int8_t>(random);
    expect_top_k<uint8_t>(random);
    expect_top_k<int16_t>(random);
    expect_top_k<int32_t>(random);
    expect_top_k<uint32_t>(random);
    expect_top_k<int64_t>(random);
    expect_top_k<uint64_t>(random);
  }
}

TEST(ArgReduce, RowsOfEverySetAreTheDefinition) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 300; ++round) {
    const ArgReduce s{.outer = 3,
                      .axis = 1 + static_cast<int64_t>(random() % (random() % 2 ? 20 : 300)),
                      .greatest = random() % 2 == 0,
                      .last_index = random() % 2 == 0};
    auto x = tied<float>(random, s.outer * s.axis);
    if (random() % 2)
      for (float& v : x) v = v == v ? v : 1;
    int64_t want[3], got[3] = {-1, -1, -1};
    run_arg_reduce(s, DType::float32, x.data(), want);
    for (const Isa isa : supported_isas()) {
      run_arg_rows(reduce_table(isa), s, x.data(), got, 0, 1);
      run_arg_rows(reduce_table(isa), s, x.data(), got, 1, 3);
      for (int i = 0; i < 3; ++i)
        ASSERT_EQ(got[i], want[i]) << isa_name(isa) << ' ' << s.axis << ' ' << s.greatest << s.last_index;
    }
  }
}

TEST(Determinant, PivotsAndSingularMatrices) {
  const std::vector<double> x{0, 2, 3, 0, 1, 2, 2, 4};
  std::vector<double> y(2), scratch(4);
  run_determinant(DType::float64, 2, 2, x.data(), y.data(), scratch.data());
  EXPECT_EQ(y, (std::vector<double>{-6, 0}));
}

TEST(Random, SeededNumbersAreNumPys) {
  // numpy.random.RandomState(0).random_sample(2) and .standard_normal(2), as NumPy documents them.
  Mersenne uniform(0), normal(0);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.5488135039273248);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.7151893663724195);
  EXPECT_DOUBLE_EQ(normal.normal(), 1.764052345967664);
  EXPECT_DOUBLE_EQ(normal.normal(), 0.4001572083672233);
}

TEST(Random, PhiloxMatchesItsPublishedVector) {
  const auto c = philox(0, 0);
  EXPECT_EQ(c, (std::array<uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
}

TEST(Random, UnseededStreamsDifferAndHaveTheAskedMoments) {
  std::vector<double> a(20000), b(20000);
  const Random spec{true, 3, 2, std::nullopt};
  run_random(spec, DType::float64, a.data(), 20000, 2);
  run_random(spec, DType::float64, b.data(), 20000, 1);
  EXPECT_NE(a, b);
  const double mean = std::accumulate(a.begin(), a.end(), 0.0) / 20000;
  double variance = 0;
  for (double v : a) variance += (v - mean) * (v - mean) / 20000;
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(variance, 4, 0.3);
}

}  // namespace
}  // namespace walle::kernels
