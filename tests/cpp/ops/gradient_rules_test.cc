// Every rule of differentiation against central differences, over random shapes.
#include <limits>
#include <set>

#include "gradient_case.h"
#include "seed.h"
#include "tensor/kinds.h"

namespace walle::ops {
namespace {

Numbers numbers() { return Numbers(test_seed(11)); }

TEST(GradientRules, EveryAtomHasARuleOrSaysWhyNot) {
  for (const ir::OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    const bool atomic = op->op_class == ir::OpClass::atomic;
    EXPECT_EQ(op->gradient != nullptr || !op->no_gradient.empty(), atomic);
    EXPECT_FALSE(op->gradient && !op->no_gradient.empty());
  }
}

// Where functions of one operand are defined; everywhere else they are between -2.5 and 2.5.
std::pair<double, double> domain_of(std::string_view op) {
  if (op == "Acos" || op == "Asin" || op == "Atanh") return {-0.9, 0.9};
  if (op == "Acosh") return {1.1, 3};
  if (op == "Log" || op == "Sqrt") return {0.2, 3};
  if (op == "HardSwish") return {-4, 4};
  if (op == "Tan") return {-1.2, 1.2};
  return {-2.4, 2.4};
}

TEST(GradientRules, FunctionsOfOneOperand) {
  Numbers draw = numbers();
  const auto check = [&](std::string_view name, tensor::UnaryClass group, const ir::Attributes& attributes) {
    if (group != tensor::UnaryClass::floating && group != tensor::UnaryClass::number) return;
    const auto [low, high] = domain_of(name);
    const Shape shape{draw.size(1, 3), draw.size(2, 5)};
    expect_gradient({std::string(name), {draw.draw(shape, low, high)}, attributes});
  };
#define WALLE_UNARY(kind, name, group, ...) check(name, tensor::UnaryClass::group, {});
#define WALLE_UNARY_WITH(kind, name, group, alpha, alpha_default, beta, beta_default, ...) \
  check(name, tensor::UnaryClass::group, {});                                              \
  check(name, tensor::UnaryClass::group, {{alpha, 0.75}, {beta, 0.625}});
#include "tensor/kinds/unary.inc"
  check("Gelu", tensor::UnaryClass::floating, {{"approximate", std::string("tanh")}});
  check("Clamp", tensor::UnaryClass::floating, {{"min", -1.0}, {"max", 1.0}});
}

TEST(GradientRules, FunctionsOfTwoOperands) {
  Numbers draw = numbers();
  const auto check = [&](const std::string& name, const ir::Attributes& attributes = {}) {
    const double low = name == "Power" ? 0.2 : -2.5;
    const auto n = draw.size(2, 4);
    expect_gradient({name, {draw.draw({2, n}, low), draw.draw({2, n})}, attributes, 2});
    expect_gradient({name, {draw.draw({3, 1, n}, low), draw.draw({n})}, attributes, 2});
    expect_gradient({name, {draw.draw({2, n}, low), draw.draw({})}, attributes, 2});
    if (name == "PRelu") return;  // whose slope never broadcasts the other way
    expect_gradient({name, {draw.draw({n}, low), draw.draw({2, 1, n})}, attributes, 2});
    expect_gradient({name, {draw.draw({2, 1}, low), draw.draw({1, n})}, attributes, 2});
  };
#define WALLE_BINARY(kind, name, group, ...)                           \
  if (tensor::BinaryClass::group == tensor::BinaryClass::arithmetic || \
      tensor::BinaryClass::group == tensor::BinaryClass::order)        \
    check(name);
#include "tensor/kinds/binary.inc"
  check("Mod", {{"fmod", int64_t{1}}});
  // A base below 0 under whole exponents, and 0 to the power of 0.
  const Tensor x = doubles({4}, {-1.25, 0.5, -2, 1.5});
  expect_gradient({"Power", {x, doubles({}, {3})}});
  expect_gradient({"Pow", {x, integer(2)}});
  const auto zero = run_gradient(loss_of({"Power", {doubles({1}, {0}), doubles({1}, {0})}, {}, 2}), 2,
                                 {doubles({1}, {0}), doubles({1}, {0})}, 2);
  ASSERT_TRUE(zero.ok()) << zero.error().message();
  for (const Tensor& t : *zero) EXPECT_EQ(t.as<double>()[0], 0);
}

TEST(GradientRules, TiesShareTheGradient) {
  const Tensor tied = doubles({4}, {1, 3, 3, 2});
  Body reduced;
  reduced.output(reduced.node("ReduceMax", {reduced.input()}, {{"keepdims", int64_t{0}}}));
  EXPECT_EQ(*(*run_gradient(reduced.graph(), 1, {tied}, 1))[0].to_f64(),
            (std::vector<double>{0, 0.5, 0.5, 0}));
  Body greater;
  const auto a = greater.input();
  const auto b = greater.input();
  greater.output(greater.node("Max2", {a, b}));
  const auto both = run_gradient(greater.graph(), 2, {tied, doubles({4}, {1, 2, 4, 2})}, 2);
  EXPECT_EQ(*(*both)[0].to_f64(), (std::vector<double>{0.5, 1, 0, 0.5}));
  EXPECT_EQ(*(*both)[1].to_f64(), (std::vector<double>{0.5, 0, 1, 0.5}));
}

TEST(GradientRules, Reductions) {
  Numbers draw = numbers();
  const std::vector<std::vector<double>> lists = {{0}, {1}, {-1}, {0, 2}, {2, 1}, {0, 1, 2}};
#define WALLE_REDUCE(kind, name, numeric, ...)                                                         \
  for (const std::vector<double>& axes : lists)                                                        \
    for (const int64_t keep : {0, 1})                                                                  \
      expect_gradient({name, {draw.draw({2, 3, draw.size(2, 4)}), ints(axes)}, {{"keepdims", keep}}}); \
  expect_gradient({name, {draw.draw({5})}});                                                           \
  expect_gradient({name, {draw.draw({})}});                                                            \
  expect_gradient({name, {draw.draw({2, 2}), Tensor()}, {{"noop_with_empty_axes", int64_t{1}}}});
#include "tensor/kinds/reduce.inc"
  for (const char* name : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"})
    expect_gradient({name, {draw.draw({2, 3, 2}), ints({1})}});
  // One zero has the only gradient of its product, two leave none.
  expect_gradient({"ReduceProd", {doubles({2, 3}, {2, 0, 3, 0, 4, 0}), ints({1})}});
}

TEST(GradientRules, Products) {
  Numbers draw = numbers();
  const auto n = draw.size(1, 3);
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {3, n}},       {{4, 2, 3}, {3, n}}, {{2, 3}, {4, 3, n}}, {{2, 1, 2, 3}, {5, 3, n}},
      {{2, 2, 3}, {2, 3, n}}, {{3}, {3, n}},       {{n, 3}, {3}},       {{3}, {3}},
      {{3}, {2, 3, n}},       {{2, n, 3}, {3}}};
  for (const auto& [a, b] : shapes) expect_gradient({"MatMul", {draw.draw(a), draw.draw(b)}, {}, 2});
  expect_gradient({"Gemm",
                   {draw.draw({3, 2}), draw.draw({n, 3}), draw.draw({n})},
                   {{"alpha", 0.5}, {"transA", int64_t{1}}, {"transB", int64_t{1}}},
                   3});
  expect_gradient(
      {"Einsum", {draw.draw({2, 3}), draw.draw({3, n})}, {{"equation", std::string("ij,jk->k")}}, 2});
}

TEST(GradientRules, Convolutions) {
  Numbers draw = numbers();
  const auto check = [&](const Shape& x, const Shape& w, const ir::Attributes& attributes) {
    expect_gradient({"Conv", {draw.draw(x), draw.draw(w), draw.draw({w[0]})}, attributes, 3});
  };
  check({2, 2, 5, 4}, {3, 2, 3, 2}, {});
  check({1, 2, 6, 5}, {2, 2, 3, 3}, {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}});
  check({1, 1, 7, 6}, {2, 1, 2, 3}, {{"dilations", Ints{3, 2}}, {"strides", Ints{2, 1}}});
  check({2, 4, 4, 4}, {4, 1, 3, 3}, {{"group", int64_t{4}}, {"auto_pad", std::string("SAME_UPPER")}});
  check({1, 4, 3, 4}, {6, 2, 1, 1}, {{"group", int64_t{2}}, {"strides", Ints{2, 2}}});
  check({1, 2, 7}, {2, 2, 3}, {{"strides", Ints{2}}, {"pads", Ints{1, 1}}});
  check({1, 1, 3, 3, 3}, {2, 1, 2, 2, 2}, {{"pads", Ints{1, 0, 0, 0, 1, 0}}});
  expect_gradient({"ConvTranspose",
                   {draw.draw({1, 2, 3, 3}), draw.draw({2, 2, 3, 2}), draw.draw({2})},
                   {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}},
                   3});
}

TEST(GradientRules, Pools) {
  Numbers draw = numbers();
  const ir::Attributes windows[] = {
      {{"kernel_shape", Ints{2, 2}}},
      {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 0}}},
      {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}},
      {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 1}}, {"auto_pad", std::string("SAME_UPPER")}}};
  for (ir::Attributes a : windows) {
    const Tensor x = draw.draw({2, 2, 6, 5});
    expect_gradient({"MaxPool", {x}, a});
    expect_gradient({"MaxPool", {x}, a, 1, 2});  // with places
    expect_gradient({"AveragePool", {x}, a});
    a.set("count_include_pad", int64_t{1});
    expect_gradient({"AveragePool", {x}, a});
  }
  expect_gradient({"MaxPool", {draw.draw({1, 2, 7})}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}}});
  expect_gradient({"AveragePool", {draw.draw({1, 1, 3, 4, 3})}, {{"kernel_shape", Ints{2, 2, 2}}}});
  expect_gradient({"LpPool", {draw.draw({1, 2, 4, 4})}, {{"kernel_shape", Ints{2, 2}}}});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"})
    expect_gradient({op, {draw.draw({2, 3, 2, 3})}});
}

TEST(GradientRules, Normalizations) {
  Numbers draw = numbers();
  const Tensor x = draw.draw({2, 3, 4});
  for (const int64_t axis : {-1, 1, 0}) {
    const Shape scale = x.shape().sub(axis < 0 ? 2 : static_cast<int>(axis), 3);
    for (const int output : {0, 1, 2})  // statistics are float32
      expect_gradient({"LayerNormalization",
                       {x, draw.draw(scale), draw.draw(scale)},
                       {{"axis", axis}},
                       output ? 1 : 3,
                       3,
                       output,
                       output ? 2e-2 : 1e-6});
    expect_gradient({"RMSNormalization", {x, draw.draw(scale)}, {{"axis", axis}}, 2});
    for (const char* op : {"Softmax", "LogSoftmax"}) expect_gradient({op, {x}, {{"axis", axis}}});
  }
  const Tensor ones = doubles({3}, {1, 1.5, 0.5});
  expect_gradient({"BatchNormalization", {x, ones, draw.draw({3}), draw.draw({3}), ones}, {}, 5});
  expect_gradient({"BatchNormalization",
                   {x, ones, draw.draw({3}), draw.draw({3}), ones},
                   {{"training_mode", int64_t{1}}},
                   3,
                   3});
  expect_gradient({"InstanceNormalization", {x, ones, draw.draw({3})}, {}, 3});
  expect_gradient({"GroupNormalization",
                   {draw.draw({2, 4, 3}), draw.draw({4}), draw.draw({4})},
                   {{"num_groups", int64_t{2}}},
                   3});
  expect_gradient({"LRN", {draw.draw({1, 4, 2, 2})}, {{"size", int64_t{3}}}});
}

TEST(GradientRules, SumsChoicesAndCasts) {
  Numbers draw = numbers();
  const Tensor x = draw.draw({3, 4});
  for (const int64_t exclusive : {0, 1})
    for (const int64_t reverse : {0, 1})
      expect_gradient({"CumSum", {x, integer(1)}, {{"exclusive", exclusive}, {"reverse", reverse}}});
  for (const int64_t largest : {0, 1})
    expect_gradient({"TopK", {x, ints({2})}, {{"axis", int64_t{0}}, {"largest", largest}}, 1, 2});
  const Tensor flags = tensor(DType::boolean, {3, 1}, {1, 0, 1});
  Body chosen;  // the condition comes first, and does not vary
  const auto a = chosen.input();
  const auto b = chosen.input();
  chosen.output(chosen.total(chosen.node("Where", {chosen.constant(flags), a, b})));
  const auto got = run_gradient(chosen.graph(), 2, {x, draw.draw({4})}, 2);
  EXPECT_EQ(*(*got)[0].to_f64(), (std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(*(*got)[1].to_f64(), (std::vector<double>{1, 1, 1, 1}));
  expect_gradient({"Clip", {x, doubles({}, {-1}), doubles({}, {1})}});
  expect_gradient({"Min", {x, draw.draw({4}), draw.draw({3, 1})}, {}, 3});
  for (const DType dtype : {DType::float32, DType::float16, DType::int32}) {
    Body cast;
    const ir::ValueId narrow = cast.node("Cast", {cast.input()}, {{"to", static_cast<int64_t>(dtype)}});
    const ir::ValueId wide = cast.node("Cast", {narrow}, {{"to", static_cast<int64_t>(DType::float64)}});
    cast.output(cast.total(wide));
    EXPECT_EQ(*(*run_gradient(cast.graph(), 1, {doubles({2}, {1, 2})}, 1))[0].to_f64(),
              std::vector<double>(2, dtype == DType::int32 ? 0 : 1));
  }
}

TEST(GradientRules, Movements) {
  Numbers draw = numbers();
  const Tensor x = draw.draw({3, 4, 2});
  expect_gradient({"Transpose", {x}, {{"perm", Ints{2, 0, 1}}}});
  expect_gradient({"Reshape", {x, ints({4, -1})}});
  expect_gradient({"Slice", {x, ints({3, 2}), ints({-9, 0}), ints({1, 0}), ints({-2, -1})}});
  expect_gradient({"Expand", {draw.draw({3, 1, 2}), ints({2, 3, 4, 2})}});
  expect_gradient({"Tile", {x, ints({2, 1, 3})}});
  for (const char* mode : {"constant", "reflect", "edge", "wrap"})
    expect_gradient({"Pad", {x, ints({1, 2, 0, 1, 0, 1})}, {{"mode", std::string(mode)}}});
  expect_gradient({"Concat", {x, draw.draw({3, 1, 2}), x}, {{"axis", int64_t{1}}}, 3});
  expect_gradient({"Split", {x, ints({1, 3})}, {{"axis", int64_t{1}}}, 1, 2, 1});
  expect_gradient({"Trilu", {draw.draw({3, 4})}});
  expect_gradient({"DepthToSpace", {draw.draw({1, 8, 2, 2})}, {{"blocksize", int64_t{2}}}});
  expect_gradient(
      {"ReverseSequence", {x, ints({1, 3, 2, 3})}, {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}}});
  expect_gradient({"Col2Im", {draw.draw({1, 4, 4}), ints({3, 3}), ints({2, 2})}});
}

TEST(GradientRules, IndexedMovements) {
  Numbers draw = numbers();
  const Tensor x = draw.draw({3, 4});
  const Tensor twice = tensor(DType::int64, {2, 4}, {0, 2, 1, 0, 0, 1, -1, 0});
  expect_gradient({"Gather", {x, ints({2, 0, 2})}, {{"axis", int64_t{1}}}});
  expect_gradient({"GatherElements", {x, twice}});
  expect_gradient({"GatherND", {x, tensor(DType::int64, {3, 2}, {0, 1, 2, 3, 0, 1})}});
  for (const char* reduction : {"none", "add"}) {
    const ir::Attributes a{{"reduction", std::string(reduction)}};
    Body body;  // data and updates vary, indices lie between them
    const ir::ValueId data = body.input();
    const ir::ValueId updates = body.input();
    const ir::ValueId y = body.node("ScatterElements", {data, body.constant(twice), updates}, a);
    body.output(body.total(body.node("Mul", {y, body.constant(draw.draw({3, 4}))})));
    const std::vector<Tensor> inputs = {x, draw.draw({2, 4})};
    const auto got = run_gradient(body.graph(), 2, inputs, 2);
    ASSERT_TRUE(got.ok()) << got.error().message();
    for (size_t i = 0; i < 2; ++i)
      for (int64_t e = 0; e < inputs[i].elements(); ++e)
        EXPECT_NEAR((*got)[i].as<double>()[e], difference(*body.graph(), inputs, i, e, 1e-5), 1e-6)
            << reduction << " input " << i << " element " << e;
  }
  const std::vector<double> places = {0, 3, 10};
  expect_gradient({"MaxUnpool",
                   {draw.draw({1, 1, 1, 3}), tensor(DType::int64, {1, 1, 1, 3}, places)},
                   {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}});
  for (const char* mode : {"nearest", "linear", "cubic"})
    expect_gradient({"Resize",
                     {draw.draw({1, 2, 3, 4}), Tensor(), Tensor(), ints({1, 2, 5, 3})},
                     {{"mode", std::string(mode)}}});
}

TEST(GradientRules, WhatIsMadeOfMany) {
  Numbers draw = numbers();
  const Tensor x = draw.draw({3, 2, 4});  // [sequence, batch, input]
  const std::pair<const char*, int64_t> cells[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [op, gates] : cells)
    expect_gradient({op,
                     {x, draw.draw({1, gates * 3, 4}, -0.5, 0.5), draw.draw({1, gates * 3, 3}, -0.5, 0.5),
                      draw.draw({1, gates * 6}, -0.5, 0.5)},
                     {{"hidden_size", int64_t{3}}},
                     4});
  const Tensor labels = tensor(DType::int64, {3}, {1, 0, 3});
  for (const char* reduction : {"none", "sum", "mean"})
    expect_gradient({"SoftmaxCrossEntropyLoss",
                     {draw.draw({3, 4}), labels, doubles({4}, {1, 2, 0.5, 1.5})},
                     {{"reduction", std::string(reduction)}}});
  expect_gradient({"NegativeLogLikelihoodLoss", {draw.draw({3, 4}), labels}, {{"ignore_index", int64_t{0}}}});
}

}  // namespace
}  // namespace walle::ops
