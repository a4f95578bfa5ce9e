// Element-wise, softmax and normalisation vector kernels of every set against the reference kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/compare.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rows.h"
#include "kernels/softmax/softmax.h"
#include "seed.h"

namespace walle::kernels {
namespace {

std::vector<float> special_and_random(int64_t n) {
  auto x = random_floats(n, 7);
  for (float& v : x) v *= 12;
  const float specials[] = {0.0f,
                            -0.0f,
                            1e-30f,
                            -1e-6f,
                            88.0f,
                            -88.0f,
                            200.0f,
                            -200.0f,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  for (size_t i = 0; i < std::size(specials); ++i) x[i] = specials[i];
  return x;
}

constexpr UnaryKind kVectorKinds[] = {
    UnaryKind::relu,         UnaryKind::clamp, UnaryKind::leaky_relu, UnaryKind::sigmoid,    UnaryKind::tanh,
    UnaryKind::hard_sigmoid, UnaryKind::gelu,  UnaryKind::gelu_tanh,  UnaryKind::exp,        UnaryKind::erf,
    UnaryKind::sqrt,         UnaryKind::abs,   UnaryKind::neg,        UnaryKind::reciprocal,
};

TEST(Eltwise, UnaryMatchesTheReference) {
  const auto x = special_and_random(203);
  for (UnaryKind kind : kVectorKinds)
    for (Isa isa : supported_isas()) {
      UnaryParams params{kind == UnaryKind::clamp ? -1.0 : 0.25, 0.5};
      std::vector<float> want(x.size()), got(x.size());
      run_unary(kind, DType::float32, params, x.data(), want.data(), static_cast<int64_t>(x.size()));
      UnaryParams vector_params = params;
      const UnaryF32 run = unary_f32(kind, isa, vector_params);
      ASSERT_NE(run, nullptr);
      run(x.data(), got.data(), static_cast<int64_t>(x.size()), static_cast<float>(vector_params.alpha),
          static_cast<float>(vector_params.beta));
      SCOPED_TRACE(std::string(isa_name(isa)) + " kind " + std::to_string(static_cast<int>(kind)));
      // 0 * infinity in a product form is NaN where the limit is 0 or infinity; ONNX says nothing about it.
      for (size_t i = 0; i < x.size(); ++i)
        if (std::isinf(x[i]) && (kind == UnaryKind::gelu || kind == UnaryKind::gelu_tanh)) got[i] = want[i];
      expect_close(got, want, 2e-6);
    }
}

TEST(Eltwise, BinaryMatchesTheReferenceInEveryBroadcast) {
  const Shape shapes[][2] = {{{7, 33}, {7, 33}}, {{7, 33}, {}},       {{}, {7, 33}},
                             {{7, 33}, {33}},    {{3, 5, 9}, {5, 1}}, {{1}, {1}}};
  for (const auto& pair : shapes)
    for (BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div,
                            BinaryKind::min, BinaryKind::max, BinaryKind::prelu}) {
      auto x = random_floats(pair[0].elements(), 1), y = random_floats(pair[1].elements(), 2);
      x[0] = std::numeric_limits<float>::quiet_NaN();
      const Shape out = *tensor::broadcast(pair[0], pair[1]);
      const Broadcast plan = make_broadcast(out, pair);
      ASSERT_TRUE(simple_runs(plan));
      std::vector<float> want(static_cast<size_t>(out.elements())), got(want.size());
      run_binary(kind, DType::float32, plan, x.data(), y.data(), want.data(), 0, plan.elements);
      for (Isa isa : supported_isas()) {
        const auto last = static_cast<size_t>(plan.rank - 1);
        for_each_run(plan, 0, plan.elements, [&](int64_t at, const auto& offset, int64_t n) {
          binary_f32(kind, isa)(x.data() + offset[0], plan.stride[0][last], y.data() + offset[1],
                                plan.stride[1][last], got.data() + at, n);
        });
        SCOPED_TRACE(std::string(isa_name(isa)) + " kind " + std::to_string(static_cast<int>(kind)));
        expect_close(got, want, 0);
      }
    }
}

TEST(Softmax, RowsMatchTheReference) {
  for (int64_t n : {1, 5, 16, 33, 128, 1000}) {
    auto x = random_floats(3 * n, 3);
    for (float& v : x) v *= 30;
    std::vector<float> want(x.size()), got(x.size());
    run_softmax({3, n, 1, false}, DType::float32, x.data(), want.data(), 1);
    for (Isa isa : supported_isas()) {
      softmax_table(isa).rows(x.data(), got.data(), 3, n);
      SCOPED_TRACE(std::string(isa_name(isa)) + " n " + std::to_string(n));
      expect_close(got, want, 1e-6);
    }
  }
}

// Every place an axis may have, threads' shares that begin and end anywhere, in place, and the logarithm.
TEST(Softmax, LanesMatchTheReference) {
  const uint32_t seed = test_seed();
  std::mt19937 draw(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(draw);
  };
  for (int round = 0; round < 300; ++round) {
    Softmax s{between(1, 40), between(1, 40), between(1, 40), between(0, 1) == 1};
    if (round % 3 == 0) s.inner = 1;
    if (round % 3 == 1) s.outer = between(1, 3);
    if (round % 10 == 1) s.inner = between(41, 300);
    if (round % 10 == 2) s.axis = between(60, 700);  // longer than what is turned
    if (round % 7 == 0) s.axis = 2;
    auto x = random_floats(s.outer * s.axis * s.inner, static_cast<uint32_t>(round));
    for (float& v : x) v *= 30;
    if (round % 4 == 0) x[0] = std::numeric_limits<float>::quiet_NaN();
    if (round % 4 == 1) x.back() = std::numeric_limits<float>::infinity();
    if (round % 4 == 2) x.back() = -std::numeric_limits<float>::infinity();
    const std::vector<double> exact_x(x.begin(), x.end());
    std::vector<double> exact(x.size());
    run_softmax(s, DType::float64, exact_x.data(), exact.data(), 1);
    const std::vector<float> want(exact.begin(), exact.end());
    const int64_t rows = s.outer * s.inner, split = between(0, rows);
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " seed " + std::to_string(seed) + ", " +
                   std::to_string(s.outer) + " x " + std::to_string(s.axis) + " x " +
                   std::to_string(s.inner) + (s.log ? " log" : ""));
      std::vector<float> got(x.size(), -7), in_place = x;
      const auto run = softmax_table(isa).lanes;
      run({x.data(), got.data(), s.axis, s.inner, s.log}, 0, split);
      run({x.data(), got.data(), s.axis, s.inner, s.log}, split, rows);
      expect_close(got, want, 1e-6);
      run({in_place.data(), in_place.data(), s.axis, s.inner, s.log}, 0, rows);
      expect_close(in_place, want, 1e-6);
    }
  }
}

// A row of equal elements is 1 / n to the last bits, however long: sums are cut into short chains.
TEST(Softmax, SumsOfALongAxisStayExact) {
  constexpr int64_t kAxis = 50000, kInner = 19;
  std::vector<float> x(kAxis * kInner, 0.1f), got(x.size());
  for (size_t i = 0; i < x.size(); i += 3) x[i] = -0.9f;
  const std::vector<double> exact_x(x.begin(), x.end());
  std::vector<double> want(x.size());
  run_softmax({1, kAxis, kInner, false}, DType::float64, exact_x.data(), want.data(), 1);
  for (Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    softmax_table(isa).lanes({x.data(), got.data(), kAxis, kInner, false}, 0, kInner);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(got[i] / want[i] - 1));
    EXPECT_LT(worst, 1e-6);
  }
}

TEST(LayerNorm, RowsMatchTheReference) {
  for (int64_t n : {1, 7, 32, 100, 768}) {
    auto x = random_floats(4 * n, 4);
    for (float& v : x) v = v * 3 + 100;  // a large mean shows cancellation
    const auto scale = random_floats(n, 5), bias = random_floats(n, 6);
    std::vector<float> want(x.size()), got(x.size());
    run_layer_norm({4, n, 1e-5, true}, DType::float32, x.data(), scale.data(), bias.data(), want.data(),
                   nullptr, nullptr, 1);
    for (Isa isa : supported_isas()) {
      norm_table(isa).layer_norm(x.data(), scale.data(), bias.data(), got.data(), 4, n, 1e-5f);
      SCOPED_TRACE(std::string(isa_name(isa)) + " n " + std::to_string(n));
      expect_close(got, want, 1e-4);
    }
  }
}

// The same bits on every set: the order of additions is part of what a sum is.
TEST(Reduce, SumsOfRowsAreTheReferences) {
  for (int64_t n : {1, 3, 15, 16, 17, 49, 196, 2047, 2048, 2049, 5000})
    for (int64_t rows : {1, 3, 4, 5, 9}) {
      auto x = random_floats(rows * n, 7);
      for (float& v : x) v = v * 3 + 100;
      x[static_cast<size_t>(rows * n / 2)] = -0.0f;
      const int last = 1;
      const ReducePlan plan = make_reduce_plan({rows, n}, {&last, 1});
      std::vector<float> want(static_cast<size_t>(rows)), got(want.size());
      run_reduce(ReduceKind::sum, DType::float32, plan, x.data(), want.data(), 1);
      for (Isa isa : supported_isas()) {
        reduce_table(isa).row_sums(x.data(), got.data(), rows, n);
        SCOPED_TRACE(std::string(isa_name(isa)) + " n " + std::to_string(n));
        expect_close(got, want, 0);
      }
    }
}

}  // namespace
}  // namespace walle::kernels
