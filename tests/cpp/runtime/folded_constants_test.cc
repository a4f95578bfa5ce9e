// Weights that plans fold and pack are one for all shapes, and go with the plans.
#include "runtime/folded_constants.h"

#include <gtest/gtest.h>

#include "build.h"
#include "runtime/session.h"

namespace walle::runtime {
namespace {

constexpr int64_t kWidth = 48;  // its weights are above what is compared by content

std::vector<float> weights(float first) {
  std::vector<float> out(kWidth * kWidth);
  for (size_t i = 0; i < out.size(); ++i) out[i] = first + 0.001F * static_cast<float>(i % 97);
  return out;
}

// A linear layer as exporters write it (transposed weights), a scaled product, a normalised convolution.
ir::ModelData network() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {kWidth, ""}});
  const Shape square{kWidth, kWidth};
  const auto linear = b.node("Gemm", {x, b.floats(square, weights(0.1F)), ir::kNone},
                             {{"transB", int64_t{1}}, {"alpha", 1.0}, {"beta", 1.0}});
  const auto product = b.node("MatMul", {b.node("Relu", {linear}), b.floats(square, weights(-0.2F))});
  b.output(b.node("Mul", {product, b.floats({}, {0.125F})}), "y");
  return b.data();
}

std::vector<float> result(Session& session, int64_t n) {
  const std::vector<NamedValue> in{{"x", ramp({n, kWidth}, 0.25F)}};
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  if (!out.ok()) return {};
  const auto values = (*out)[0].tensor()->as<float>();
  return {values.begin(), values.end()};
}

TEST(FoldedConstants, AreOneForAllShapes) {
  const auto model = *Model::create(network());
  const auto session = *model->session({});
  result(*session, 1);
  result(*session, 40);  // few rows and many may be packed in two ways
  const size_t folded = model->constants().folded.entries(), packed = model->constants().prepared.entries();
  EXPECT_GT(folded, 0u) << "nothing was folded: the test has lost its subject";
  for (int64_t n = 41; n < 200; ++n) result(*session, n);
  EXPECT_EQ(model->constants().folded.entries(), folded);
  EXPECT_EQ(model->constants().prepared.entries(), packed);
}

// The scale and the shift of a normalisation become weights and bias of each plan, and are packed together.
TEST(FoldedConstants, ANormalisedConvolutionIsPackedOnceForAllPictures) {
  GraphBuilder b;
  auto x = b.input("x", DType::float32, {{1, ""}, {3, ""}, {-1, "h"}, {-1, "w"}});
  int64_t given = 3;
  for (const int64_t made : {32, 64, 64}) {
    const auto filters = b.constant(ramp({made, given, 3, 3}, 1e-4F));
    const std::vector<int64_t> strides(2, made / given > 1 ? 1 : 2);
    const auto sum =
        b.node("Conv", {x, filters}, {{"pads", std::vector<int64_t>(4, 1)}, {"strides", strides}});
    const auto scaled = b.node("Mul", {sum, b.constant(ramp({1, made, 1, 1}, 0.01F))});
    x = b.node("Relu", {b.node("Add", {scaled, b.constant(ramp({1, made, 1, 1}, 0.1F))})});
    given = made;
  }
  b.output(b.node("GlobalAveragePool", {x}), "y");
  const auto model = model_of(b.data());
  const auto session = *model->session({});
  const auto run = [&](int64_t size) {
    const std::vector<NamedValue> in{{"x", ramp({1, 3, size, size + 3}, 1e-3F)}};
    ASSERT_TRUE(session->run(in).ok());
  };
  for (const int64_t size : {10, 60}) run(size);  // small pictures and large may be computed in two ways
  const int64_t packed = model->constants().prepared.bytes();
  ASSERT_GT(packed, 0);
  for (int64_t size = 10; size < 60; size += 3) run(size);
  EXPECT_LE(model->constants().prepared.bytes(), 2 * packed);
}

TEST(FoldedConstants, ResultsAreThoseOfAPlanOfItsOwn) {
  const auto model = *Model::create(network());
  const auto session = *model->session({});
  for (const int64_t n : {1, 7, 64, 1, 130}) {
    const auto alone = *Model::create(network());
    EXPECT_EQ(result(*session, n), result(**alone->session({}), n)) << n;
  }
}

TEST(FoldedConstants, SessionsShareThemAndTheLastTakesThemAlong) {
  const auto model = *Model::create(network());
  {
    const auto first = *model->session({});
    result(*first, 3);
    const size_t folded = model->constants().folded.entries(), packed = model->constants().prepared.entries();
    {
      const auto second = *model->session({});
      result(*second, 5);
      EXPECT_EQ(model->constants().folded.entries(), folded);
      EXPECT_EQ(model->constants().prepared.entries(), packed);
    }
    EXPECT_EQ(model->constants().folded.entries(), folded) << "the first session still has a plan";
  }
  EXPECT_EQ(model->constants().folded.entries(), 0u);
  EXPECT_LE(model->constants().prepared.entries(), 2u) << "of the model's own weights at most";
}

TEST(FoldedConstants, WhatDependsOnAShapeGoesWithItsPlan) {
  GraphBuilder b;  // a table of the input's shape is folded for each
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {kWidth, ""}});
  const auto table =
      b.node("Expand", {b.floats({1, kWidth}, std::vector<float>(kWidth, 2)), b.node("Shape", {x})});
  b.output(b.node("MatMul", {x, b.node("Transpose", {b.node("Exp", {table})})}), "y");
  const auto model = *Model::create(b.data());
  const auto session = *model->session({});
  for (int64_t n = 20; n < 220; ++n) result(*session, n);
  // 64 plans are kept, each with its table and what was made of it.
  EXPECT_LE(model->constants().folded.entries(), 64u * 4);
  EXPECT_LE(model->constants().prepared.entries(), 64u * 2);
}

// Of the same number in another form: a fill has no sources that would tell two apart.
TEST(FoldedConstants, OfAnotherShapeAreOthers) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{4, ""}});
  const auto shape = [&](int64_t n) { return b.constant(*Tensor::vector_i64(std::vector<int64_t>{n, n})); };
  b.output(b.node("ReduceSum", {b.node("ConstantOfShape", {shape(48)})}), "y");
  b.output(b.node("Add", {b.node("ReduceSum", {b.node("ConstantOfShape", {shape(100)})}), x}), "z");
  const auto model = Model::create(b.data());
  ASSERT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
  const std::vector<NamedValue> in{{"x", ramp({4}, 1.0F)}};
  EXPECT_TRUE((*(*model)->session({}))->run(in).ok());
}

// It was read as if there were one: the sanitizers tell.
TEST(FoldedConstants, ABatchOfNoneHasNoWeightsToPack) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {3, ""}, {64, ""}});
  b.output(b.node("MatMul", {x, b.floats({0, 64, 32}, {})}), "y");
  const auto model = *Model::create(b.data());
  const auto session = *model->session({});
  for (const int64_t n : {0, 1}) {
    const std::vector<NamedValue> in{{"x", Tensor::zeros(DType::float32, {n, 3, 64}).value()}};
    const auto out = session->run(in);
    ASSERT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
    EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{0, 3, 32}));
  }
}

}  // namespace
}  // namespace walle::runtime
