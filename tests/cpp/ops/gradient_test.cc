// The walk backwards itself: sums of shares, what does not depend on x, what is refused, and what it costs.
#include "gradient_case.h"

namespace walle::ops {
namespace {

using Values = std::vector<double>;

Values gradient_by(const Body& body, int64_t wrt, const std::vector<Tensor>& inputs, int output = 0) {
  const auto got = run_gradient(body.graph(), wrt, inputs, output + 1);
  EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message());
  return got.ok() ? *(*got)[output].to_f64() : Values();
}

TEST(Gradient, SharesOfAllReadersAreSummed) {
  Body body;  // x^2 + 3 x + x
  const auto x = body.input();
  const auto square = body.node("Mul", {x, x});
  const auto three = body.node("Mul", {x, body.constant(doubles({}, {3}))});
  body.output(body.node("Add", {body.node("Add", {square, three}), x}));
  EXPECT_EQ(gradient_by(body, 1, {doubles({2}, {5, -1})}), (Values{14, 2}));
}

TEST(Gradient, BroadcastingIsUndone) {
  Body body;
  const auto a = body.input();
  const auto b = body.input();
  body.output(body.node("Add", {a, b}));
  const std::vector<Tensor> inputs = {ramp(Shape{3}), ramp(Shape{2, 1})};
  EXPECT_EQ(gradient_by(body, 2, inputs, 0), (Values{2, 2, 2}));
  EXPECT_EQ(gradient_by(body, 2, inputs, 1), (Values{3, 3}));
}

TEST(Gradient, ResultsOfTheBodyFollow) {
  Body body;
  const auto x = body.input();
  const auto y = body.node("Exp", {x});
  body.output(body.total(y));
  body.output(y);
  const auto got = *run_gradient(body.graph(), 1, {doubles({2}, {0, 1})}, 3);
  EXPECT_EQ(*got[0].to_f64(), *got[2].to_f64());
  EXPECT_DOUBLE_EQ((*got[1].to_f64())[0], 1 + std::exp(1));
}

TEST(Gradient, OfWhatDoesNotDependOnX) {
  Body body;
  const auto x = body.input();
  const auto z = body.input();
  body.output(body.node("Add", {body.node("Cast", {body.node("Greater", {x, z})}, {{"to", int64_t{1}}}), z}));
  const std::vector<Tensor> inputs = {floats({2}, {1, 2}), floats({2}, {3, 4})};
  EXPECT_EQ(gradient_by(body, 2, inputs, 0), (Values{0, 0}));
  EXPECT_EQ(gradient_by(body, 2, inputs, 1), (Values{1, 1}));
  Body itself;
  itself.output(itself.input());
  EXPECT_EQ(gradient_by(itself, 1, {floats({2}, {1, 2})}), (Values{1, 1}));
}

// d/dx of (d/dx of x^3): the body of the outer one is a Gradient itself.
TEST(Gradient, OfAGradient) {
  Body cube;
  const auto x = cube.input();
  cube.output(cube.node("Mul", {cube.node("Mul", {x, x}), x}));
  Body slope;
  const auto at = slope.input();
  slope.output(slope.node("Gradient", {at}, {{"body", cube.graph()}, {"wrt", int64_t{1}}}));
  EXPECT_EQ(gradient_by(slope, 1, {doubles({2}, {2, -3})}), (Values{12, -18}));
}

TEST(Gradient, InTheDtypeOfX) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    Body body;
    const auto x = body.input();
    const auto w = body.input();
    body.output(body.total(body.node("Relu", {body.node("MatMul", {x, w})})));
    const auto got = run_gradient(body.graph(), 2,
                                  {tensor(dtype, {2, 2}, {1, 2, 3, -4}), tensor(dtype, {2, 1}, {1, 1})}, 2);
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ((*got)[1].dtype(), dtype);
    EXPECT_EQ(*(*got)[1].to_f64(), (Values{1, 2}));
  }
}

Error refusal(const Body& body, int64_t wrt, const std::vector<Tensor>& inputs) {
  const auto got = run_gradient(body.graph(), wrt, inputs, 1);
  EXPECT_FALSE(got.ok());
  return got.ok() ? internal_error("no error", "test") : got.error();
}

TEST(Gradient, AnOperatorWithoutARuleIsNamed) {
  Body body;
  body.output(body.node("Det", {body.input()}));
  const std::string text = refusal(body, 1, {ramp(Shape{2, 2})}).message();
  EXPECT_NE(text.find("node 'the Det'"), std::string::npos) << text;
  EXPECT_NE(text.find("Det, which has no gradient: it takes the inverse"), std::string::npos) << text;
  Body aside;  // what does not vary may lie on the way
  const auto x = aside.input();
  aside.output(aside.node("Mul", {x, aside.node("Det", {aside.input()})}));
  EXPECT_EQ(gradient_by(aside, 1, {floats({1}, {2}), floats({1, 1}, {3})}), (Values{3}));
}

TEST(Gradient, ControlFlowIsRefusedByName) {
  Body inner;
  inner.output(inner.constant(floats({}, {1})));
  Body body;
  const auto x = body.input();
  const auto flag = body.node("Greater", {x, body.constant(floats({}, {0}))});
  body.output(body.node("If", {flag}, {{"then_branch", inner.graph()}, {"else_branch", inner.graph()}}));
  const std::string text = refusal(body, 1, {floats({}, {1})}).message();
  EXPECT_NE(text.find("the If"), std::string::npos) << text;
  EXPECT_NE(text.find("outside of what is differentiated"), std::string::npos) << text;
}

TEST(Gradient, FaultyNodesAreRefused) {
  Body body;
  body.output(body.node("Neg", {body.input()}));
  const Tensor x = ramp(Shape{2});
  for (const int64_t wrt : {-1, 0, 2})
    EXPECT_EQ(run_gradient(body.graph(), wrt, {x}, 1).error().group(), base::ErrorGroup::model) << wrt;
  EXPECT_FALSE(run_gradient(nullptr, 1, {x}, 1).ok());
  EXPECT_FALSE(run_gradient(body.graph(), 1, {x, x}, 1).ok());
  EXPECT_FALSE(run_gradient(body.graph(), 1, {ints({1})}, 1).ok());
  Body whole;  // whose result is no float
  whole.output(whole.node("Greater", {whole.input(), whole.constant(floats({}, {0}))}));
  EXPECT_FALSE(run_gradient(whole.graph(), 1, {x}, 1).ok());
}

// Frozen weights need no product of their own, and nothing below the lowest x is looked at.
TEST(Gradient, WhatIsNotAskedForIsNotComputed) {
  const auto products = [](int64_t wrt, bool weights_first) {
    Body body;
    const auto first = body.input();
    const auto second = body.input();
    const auto w = weights_first ? first : second;
    const auto bias = weights_first ? second : first;
    const auto x = body.input();
    const auto hidden = body.node("Tanh", {body.node("MatMul", {x, w})});
    body.output(body.total(body.node("Add", {body.node("MatMul", {hidden, w}), bias})));
    Program program;
    Lowering lowering(program, {});
    std::vector<Ref> refs(3);
    refs[weights_first ? 0 : 1] = lowering.add_value(DType::float32, Shape{4, 4});
    refs[weights_first ? 1 : 0] = lowering.add_value(DType::float32, Shape{4});
    refs[2] = lowering.add_value(DType::float32, Shape{8, 4});
    const auto made = lowering.apply(*find_op("Gradient"), {{"body", body.graph()}, {"wrt", wrt}}, refs,
                                     static_cast<int>(wrt), "node");
    EXPECT_TRUE(made.ok());
    program.outputs = *made;
    remove_dead_nodes(program);
    return std::ranges::count_if(program.nodes, [](const ProgramNode& n) { return n.op->name == "MatMul"; });
  };
  EXPECT_EQ(products(1, false), 0);  // of the bias
  EXPECT_EQ(products(1, true), 1 + 3);
}

// A composite that a backend claims elsewhere is made of atoms here.
TEST(Gradient, NothingIsClaimedInTheBody) {
  Body body;
  body.output(body.node("Softplus", {body.node("Gemm", {body.input(), body.input()})}));
  Program program;
  LowerOptions options;
  options.claims = [](const ir::OpDef& op, const ir::Attributes&, std::span<const ir::InferInput>,
                      std::span<const ir::InferOutput>) { return op.name == "Gemm"; };
  Lowering lowering(program, options);
  const Ref a = lowering.add_value(DType::float32, Shape{2, 3});
  const Ref b = lowering.add_value(DType::float32, Shape{3, 4});
  const auto made =
      lowering.apply(*find_op("Gradient"), {{"body", body.graph()}, {"wrt", int64_t{2}}}, {a, b}, 2, "node");
  ASSERT_TRUE(made.ok()) << made.error().message();
  for (const ProgramNode& n : program.nodes) EXPECT_EQ(n.op->op_class, ir::OpClass::atomic) << n.op->name;
}

}  // namespace
}  // namespace walle::ops
