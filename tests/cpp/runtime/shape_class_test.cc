#include "runtime/shape_class.h"

#include <gtest/gtest.h>

#include "build.h"

namespace walle::runtime {
namespace {

// softmax(x W) with x [n, 8], and its rows turned round.
std::shared_ptr<Model> rows_model() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {8, ""}});
  const auto weights = b.constant(ramp({8, 12}, 0.01f));
  const auto y = b.node("Softmax", {b.node("MatMul", {x, weights})}, {{"axis", int64_t{-1}}});
  b.output(b.node("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0}}}), "y");
  return model_of(b.data());
}

Tensor run(Session& session, const Shape& shape) {
  const std::vector<NamedValue> in{{"x", ramp(shape, 0.1f)}};
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  return *(*out)[0].tensor();
}

TEST(ShapeClass, ServesEverySizeFromTheThirdOn) {
  const auto model = rows_model();
  auto session = *model->session({});
  auto exact = *model->session({.debug = {.classes = false}});
  for (const int64_t n : {5, 9, 2, 300, 17, 5, 64, 9, 1000})
    EXPECT_TRUE(run(*session, {n, 8}).identical(run(*exact, {n, 8}))) << n;
  EXPECT_EQ(session->memory().plans, 2);  // of 5, and of all
  EXPECT_EQ(exact->memory().plans, 7);
}

TEST(ShapeClass, LeavesSizesOfNoneAndOneToPlansOfTheirOwn) {
  const auto model = rows_model();
  auto session = *model->session({});
  for (const int64_t n : {5, 9, 1, 0, 7, 1, 0}) EXPECT_EQ(run(*session, {n, 8}).shape(), (Shape{12, n}));
  EXPECT_EQ(session->memory().plans, 4);
}

TEST(ShapeClass, RefusesWhatItsModelRefuses) {
  const auto model = rows_model();
  auto session = *model->session({});
  for (const int64_t n : {5, 9}) run(*session, {n, 8});
  const std::vector<NamedValue> wide{{"x", ramp({5, 7})}};
  EXPECT_FALSE(session->run(wide).ok());
  EXPECT_EQ(run(*session, {11, 8}).shape(), (Shape{12, 11}));
}

TEST(ShapeClass, KeepsDecisionsOfSizesApart) {
  // y = x[:16]: what is longer is cut, what is shorter is not.
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  b.output(b.node("Exp", {b.node("Slice", {x, b.ints({0}), b.ints({16})})}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  for (const int64_t n : {5, 9, 12, 16, 17, 40, 3, 1000, 15})
    EXPECT_EQ(run(*session, {n}).shape(), (Shape{std::min<int64_t>(n, 16)}));
}

TEST(ShapeClass, TellsWhatFittingCost) {
  const auto model = rows_model();
  auto session = *model->session({});
  for (const int64_t n : {5, 9}) run(*session, {n, 8});
  ASSERT_TRUE(session->start_profile().ok());
  run(*session, {20, 8});
  run(*session, {20, 8});
  const auto events = *session->stop_profile();
  EXPECT_EQ(std::ranges::count(events, "host_fit", &ProfileEvent::algorithm), 1);
  EXPECT_EQ(std::ranges::count(events, "host_plan", &ProfileEvent::algorithm), 0);
}

// Sizes of none and one take no tries away from those that are symbols.
TEST(ShapeClass, IsTriedAfterSizesOfNoneAndOne) {
  const auto model = rows_model();
  auto session = *model->session({.max_plans = 1});
  for (const int64_t n : {0, 1, 0, 1, 0, 1, 0, 1, 5, 9}) run(*session, {n, 8});
  for (int64_t n = 10; n < 30; ++n) run(*session, {n, 8});
  ASSERT_TRUE(session->start_profile().ok());
  run(*session, {40, 8});
  const auto events = *session->stop_profile();
  EXPECT_EQ(std::ranges::count(events, "host_plan", &ProfileEvent::algorithm), 0);
}

// The rows of x x^T, an arena of n^2 for an input of n: what is refused leaves the next size as it was.
TEST(ShapeClass, OutlivesALayoutThatIsRefused) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {1, ""}});
  const auto turned = b.node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}});
  const auto products = b.node("MatMul", {x, turned});
  const auto weighed = b.node("Mul", {products, b.node("Cos", {products})});
  b.output(b.node("ReduceMax", {weighed, b.ints({1})}, {{"keepdims", int64_t{0}}}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  for (const int64_t n : {5, 9, 12}) run(*session, {n, 1});
  const std::vector<NamedValue> much{{"x", ramp({65'000, 1})}};  // 16 GB each, and three live at once
  EXPECT_FALSE(session->run(much).ok());
  EXPECT_EQ(run(*session, {7, 1}).shape(), (Shape{7}));
  EXPECT_LT(session->memory().arena, 1 << 20);
}

// Sizes that a model computes with are sums of symbols as well.
TEST(ShapeClass, KnowsWhatIsComputedOfShapes) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto size = b.node("Add", {b.node("Shape", {x}), b.ints({3})});
  b.output(b.node("Expand", {b.floats({1}, {2}), b.node("Concat", {size, size}, {{"axis", int64_t{0}}})}),
           "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  for (int64_t n = 2; n < 12; ++n) EXPECT_EQ(run(*session, {n}).shape(), (Shape{n + 3, n + 3}));
  EXPECT_EQ(session->memory().plans, 2);
}

// Values of an input that decide sizes are symbols of the class, as the sizes of the others are.
TEST(ShapeClass, TakesWholeNumbersThatDecideSizes) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto ends = b.input("ends", DType::int64, {{2, ""}});
  const auto first = b.node("Slice", {ends, b.ints({0}), b.ints({1})});
  const auto wide =
      b.node("Expand", {b.node("Exp", {x}), b.node("Shape", {b.node("ConstantOfShape", {ends})})});
  b.output(b.node("Mul", {wide, b.node("Cast", {first}, {{"to", int64_t{1}}})}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  auto exact = *model->session({.debug = {.classes = false}});
  const auto both = [&](int64_t rows, int64_t n) {
    const std::vector<NamedValue> in{{"x", ramp({n}, 0.1f)},
                                     {"ends", *Tensor::vector_i64(std::vector<int64_t>{rows, n})}};
    const auto got = *session->run(in), wanted = *exact->run(in);
    EXPECT_TRUE(got[0].tensor()->identical(*wanted[0].tensor())) << rows << " x " << n;
    EXPECT_EQ(got[0].tensor()->shape(), (Shape{rows, n}));
  };
  for (int64_t i = 0; i < 12; ++i) both(3 + i, 5 + 2 * i);
  EXPECT_EQ(session->memory().plans, 2);
  EXPECT_EQ(exact->memory().plans, 12);
  // What is 0, 1, or contradicts the other input, is met as it would be without a class.
  both(1, 7);
  both(0, 7);
  const std::vector<NamedValue> wrong{{"x", ramp({6})},
                                      {"ends", *Tensor::vector_i64(std::vector<int64_t>{4, 9})}};
  EXPECT_FALSE(session->run(wrong).ok());
  both(40, 41);
}

// What leaves the plan is a tensor, and so is what arithmetic of fractions reads.
TEST(ShapeClass, GivesShapesAsResults) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {3, ""}});
  b.output(b.node("Shape", {x}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  for (int64_t n = 2; n < 6; ++n) {
    const Tensor y = run(*session, {n, 3});
    EXPECT_TRUE(y.identical(*Tensor::vector_i64(std::vector<int64_t>{n, 3}))) << n;
  }
}

// A root of a size is no size: after a few tries each has its plan at once.
TEST(ShapeClass, GivesUpWhereValuesDecide) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto size = b.node("Cast", {b.node("Shape", {x})}, {{"to", int64_t{1}}});
  b.output(b.node("Div", {x, b.node("Sqrt", {size})}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  for (int64_t n = 2; n < 12; ++n) EXPECT_EQ(run(*session, {n}).shape(), (Shape{n}));
  EXPECT_EQ(session->memory().plans, 10);
}

}  // namespace
}  // namespace walle::runtime
