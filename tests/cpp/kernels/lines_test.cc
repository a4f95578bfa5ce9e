// Element-wise, softmax and normalisation vector kernels of every set against the reference kernels.
#include <cmath>
#include <limits>

#include "kernels/compare.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rows.h"
#include "kernels/softmax/softmax.h"

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
