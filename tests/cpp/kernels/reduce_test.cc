// Edge cases of reductions, softmax, sorting, determinants and random numbers.
#include "kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/norm/determinant.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/random/random.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sort/top_k.h"

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
  std::vector<int64_t> at(3), scratch(5);
  run_top_k({1, 5, 1, 3, true}, DType::float32, x.data(), values.data(), at.data(), scratch.data());
  EXPECT_EQ(at, (std::vector<int64_t>{1, 2, 3}));
  run_top_k({1, 5, 1, 3, false}, DType::float32, x.data(), values.data(), at.data(), scratch.data());
  EXPECT_EQ(values, (std::vector<float>{-2, 1, 3}));
  EXPECT_EQ(at[2], 2);
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
