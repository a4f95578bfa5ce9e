// Composite operators: what their decompositions compute, by hand or against the same formula in another
// form.
#include <cmath>

#include <limits>

#include "run_op.h"

namespace walle::ops {
namespace {

TEST(Composite, RowsByHand) {
  const Tensor six = ramp(Shape{2, 3});
  const Tensor picture = ramp(Shape{1, 2, 2, 2});  // channels 0 1 2 3 and 4 5 6 7
  const auto u8 = [](const std::vector<double>& v) {
    return tensor(DType::uint8, Shape{static_cast<int64_t>(v.size())}, v);
  };
  const Tensor ones = floats(Shape{2}, {1, 1}), zeros = floats(Shape{2}, {0, 0});
  const double half_range = std::sqrt(1.25);
  const Row rows[] = {
      {"Identity", {}, {six}, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"CastLike", {}, {six, ints({1})}, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"Clip", {}, {six, floats(Shape{}, {1}), floats(Shape{}, {3})}, {2, 3}, {1, 1, 2, 3, 3, 3}},
      {"Pow", {}, {six, integer(2)}, {2, 3}, {0, 1, 4, 9, 16, 25}},
      {"Min", {}, {six, floats(Shape{3}, {2, 2, 2}), floats(Shape{}, {1})}, {2, 3}, {0, 1, 1, 1, 1, 1}},
      {"Max", {}, {six, floats(Shape{}, {2})}, {2, 3}, {2, 2, 2, 3, 4, 5}},
      {"Sum", {}, {six, six, six}, {2, 3}, {0, 3, 6, 9, 12, 15}},
      {"Mean", {}, {six, floats(Shape{}, {1})}, {2, 3}, {0.5, 1, 1.5, 2, 2.5, 3}},
      {"Gemm",
       {{"alpha", 2.0}, {"beta", 0.5}, {"transB", int64_t{1}}},
       {six, floats(Shape{1, 3}, {1, 1, 1}), floats(Shape{}, {4})},
       {2, 1},
       {8, 26}},
      {"Einsum", {{"equation", std::string("ij,j->i")}}, {six, ramp(Shape{3})}, {2}, {5, 14}},
      {"Einsum", {{"equation", std::string("ii")}}, {ramp(Shape{3, 3})}, {}, {12}},
      {"GlobalAveragePool", {}, {picture}, {1, 2, 1, 1}, {1.5, 5.5}},
      {"GlobalMaxPool", {}, {picture}, {1, 2, 1, 1}, {3, 7}},
      {"GlobalLpPool", {{"p", int64_t{1}}}, {picture}, {1, 2, 1, 1}, {6, 22}, 1e-6},
      {"LpPool",
       {{"kernel_shape", Ints{2, 2}}},
       {picture},
       {1, 2, 1, 1},
       {std::sqrt(14.0), std::sqrt(126.0)},
       1e-6},
      {"BatchNormalization",
       {{"epsilon", 0.0}},
       {picture, ones, ones, floats(Shape{2}, {1, 5}), floats(Shape{2}, {4, 1})},
       {1, 2, 2, 2},
       {0.5, 1, 1.5, 2, 0, 1, 2, 3},
       1e-6},
      {"InstanceNormalization",
       {{"epsilon", 0.0}},
       {picture, ones, zeros},
       {1, 2, 2, 2},
       {-1.5 / half_range, -0.5 / half_range, 0.5 / half_range, 1.5 / half_range},
       1e-5},
      {"LpNormalization", {{"p", int64_t{1}}}, {floats(Shape{1, 2}, {1, -3})}, {1, 2}, {0.25, -0.75}, 1e-6},
      {"LRN",
       {{"size", int64_t{1}}, {"alpha", 1.0}, {"beta", 1.0}, {"bias", 1.0}},
       {floats(Shape{1, 1, 1, 2}, {1, 2})},
       {1, 1, 1, 2},
       {0.5, 0.4},
       1e-5},
      {"Hardmax", {}, {floats(Shape{1, 3}, {1, 5, 5})}, {1, 3}, {0, 1, 0}},
      {"OneHot", {}, {ints({1, -1}), integer(3), floats(Shape{2}, {-2, 7})}, {2, 3}, {-2, 7, -2, -2, -2, 7}},
      {"QuantizeLinear",
       {},
       {floats(Shape{4}, {-9, 0.25, 0.75, 1000}), floats(Shape{}, {0.5}), tensor(DType::uint8, Shape{}, {3})},
       {4},
       {0, 3, 5, 255}},
      {"DequantizeLinear",
       {},
       {u8({0, 3, 255}), floats(Shape{}, {0.5}), tensor(DType::uint8, Shape{}, {3})},
       {3},
       {-1.5, 0, 126}},
      {"MatMulInteger",
       {},
       {tensor(DType::uint8, Shape{1, 2}, {255, 1}), tensor(DType::int8, Shape{2, 1}, {-128, 1})},
       {1, 1},
       {-32639}},
      {"ConvTranspose",
       {{"strides", Ints{2}}},
       {ramp(Shape{1, 1, 3}), floats(Shape{1, 1, 2}, {1, 10})},
       {1, 1, 6},
       {0, 0, 1, 10, 2, 20}},
      {"Resize",
       {{"mode", std::string("nearest")},
        {"coordinate_transformation_mode", std::string("asymmetric")},
        {"nearest_mode", std::string("floor")}},
       {ramp(Shape{1, 1, 2}), Tensor(), Tensor(), ints({1, 1, 4})},
       {1, 1, 4},
       {0, 0, 1, 1}},
      {"Resize",
       {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}},
       {ramp(Shape{1, 1, 2}), Tensor(), Tensor(), ints({1, 1, 3})},
       {1, 1, 3},
       {0, 0.5, 1},
       1e-6},
      {"HannWindow", {}, {integer(4)}, {4}, {0, 0.5, 1, 0.5}, 1e-6},
      {"MeanVarianceNormalization", {{"axes", Ints{0}}}, {floats(Shape{2}, {1, 3})}, {2}, {-1, 1}, 1e-4},
      {"Dropout", {}, {six}, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"DFT",
       {{"onesided", int64_t{0}}},
       {floats(Shape{1, 4, 1}, {1, 0, 0, 0}), Tensor(), integer(1)},
       {1, 4, 2},
       {1, 0, 1, 0, 1, 0, 1, 0},
       1e-6},
      {"ArrayFeatureExtractor", {}, {six, ints({2, 0})}, {2, 2}, {2, 0, 5, 3}},
  };
  for (const Row& row : rows) expect_row(row);
}

TEST(Composite, OptimizersStepDownhill) {
  const Tensor rate = floats(Shape{}, {0.1}), step = integer(0), x = floats(Shape{1}, {1}),
               gradient = floats(Shape{1}, {2}), zero = floats(Shape{1}, {0});
  const auto momentum =
      run_op("Momentum",
             {{"alpha", 0.9}, {"beta", 1.0}, {"norm_coefficient", 0.0}, {"mode", std::string("standard")}},
             {rate, step, x, gradient, zero}, 2);
  ASSERT_TRUE(momentum.ok()) << momentum.error().message();
  EXPECT_NEAR((*(*momentum)[0].to_f64())[0], 1 - 0.1 * 2, 1e-6);
  EXPECT_NEAR((*(*momentum)[1].to_f64())[0], 2, 1e-6);
}

// A recurrent layer over a sequence of one step is a plain product; both directions see the ends they should.
TEST(Composite, RecurrentStepsFollowEachOther) {
  const Tensor x = floats(Shape{3, 1, 1}, {1, 2, 3}), w = floats(Shape{1, 1, 1}, {1}),
               r = floats(Shape{1, 1, 1}, {1});
  const ir::Attributes linear{{"hidden_size", int64_t{1}}, {"activations", std::vector<std::string>{"Relu"}}};
  const auto forward = run_op("RNN", linear, {x, w, r}, 2);
  ASSERT_TRUE(forward.ok()) << forward.error().message();
  EXPECT_EQ(*(*forward)[0].to_f64(), (std::vector<double>{1, 3, 6}));
  EXPECT_EQ(*(*forward)[1].to_f64(), std::vector<double>{6});
  ir::Attributes backward = linear;
  backward.set("direction", std::string("reverse"));
  EXPECT_EQ(*(*run_op("RNN", backward, {x, w, r}, 2))[0].to_f64(), (std::vector<double>{6, 5, 3}));
}

TEST(Composite, HostileArgumentsAreRefused) {
  const Tensor six = ramp(Shape{2, 3}), picture = ramp(Shape{1, 2, 2, 2});
  struct Bad {
    const char* op;
    ir::Attributes attributes;
    std::vector<Tensor> inputs;
  };
  const Bad bad[] = {
      {"Gemm", {}, {six, six}},
      {"Gemm", {}, {ramp(Shape{2}), six}},
      {"Einsum", {{"equation", std::string("ij,jk->q")}}, {six, six}},
      {"Einsum", {{"equation", std::string("->->")}}, {six}},
      {"Einsum", {{"equation", std::string("ij,ij->ij")}}, {six, ramp(Shape{2, 4})}},
      {"BatchNormalization", {}, {picture, ramp(Shape{3}), ramp(Shape{3}), ramp(Shape{3}), ramp(Shape{3})}},
      {"OneHot", {}, {ints({1}), integer(-1), ramp(Shape{2})}},
      {"OneHot", {}, {ints({1}), integer(9e18), ramp(Shape{2})}},
      {"Resize", {}, {picture, Tensor(), floats(Shape{4}, {1, 1, 0, -1})}},
      {"Resize", {}, {picture, Tensor(), floats(Shape{4}, {1, 1, 1e30, 1e30})}},
      {"Resize", {{"mode", std::string("fancy")}}, {picture, Tensor(), floats(Shape{4}, {1, 1, 2, 2})}},
      {"LRN", {{"size", int64_t{0}}}, {picture}},
      {"LpPool", {{"kernel_shape", Ints{0, 2}}}, {picture}},
      {"ConvTranspose", {{"strides", Ints{int64_t{1} << 40, 1}}}, {picture, ramp(Shape{2, 1, 2, 2})}},
      {"ConvTranspose",
       {},
       {ramp(Shape{1, 1, 1, 1}), *Tensor::zeros(DType::float32, Shape{1, 1, 1 << 9, 1 << 9})}},
      {"ConvTranspose", {{"group", int64_t{0}}}, {picture, ramp(Shape{2, 1, 2, 2})}},
      {"GroupNormalization", {{"num_groups", int64_t{0}}}, {picture, ramp(Shape{2}), ramp(Shape{2})}},
      {"HannWindow", {}, {integer(-4)}},
      {"HannWindow", {}, {integer(9e18)}},
      {"DFT", {}, {ramp(Shape{1, 4, 1}), integer(9e18), integer(1)}},
      {"RNN",
       {{"hidden_size", int64_t{1}}, {"direction", std::string("sideways")}},
       {ramp(Shape{3, 1, 1}), ramp(Shape{1, 1, 1}), ramp(Shape{1, 1, 1})}},
      {"LSTM", {}, {ramp(Shape{3, 1, 1}), ramp(Shape{1, 3, 1}), ramp(Shape{1, 4, 1})}},
      {"QuantizeLinear", {}, {six, ramp(Shape{5})}},
      {"MaxUnpool",
       {{"kernel_shape", Ints{2, 2}}},
       {picture, tensor(DType::int64, Shape{1, 2, 2, 2}, std::vector<double>(8, 1e15))}},
      {"AffineGrid", {}, {ramp(Shape{1, 2, 3}), ints({1, 1, -2, 2})}},
      {"MelWeightMatrix",
       {},
       {integer(-1), integer(16), integer(8000), floats(Shape{}, {0}), floats(Shape{}, {100})}},
  };
  for (const Bad& b : bad) {
    const auto got = run_op(b.op, b.attributes, b.inputs);
    ASSERT_FALSE(got.ok()) << b.op << " {" << b.attributes.text() << "} accepted what it should refuse";
    EXPECT_NE(got.error().group(), base::ErrorGroup::internal) << b.op << ": " << got.error().message();
    EXPECT_FALSE(got.error().text().next.empty()) << got.error().message();
  }
}

// ONNX allows a block that is longer than its axis: one scale for all of it.
TEST(Composite, BlocksMayBeLongerThanTheAxis) {
  const Tensor x = tensor(DType::int8, Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  for (const int64_t block : {int64_t{3}, int64_t{32}, std::numeric_limits<int64_t>::max()})
    expect_row({"DequantizeLinear",
                {{"axis", int64_t{1}}, {"block_size", block}},
                {x, floats(Shape{2, 1}, {1, 10})},
                {2, 3},
                {1, 2, 3, 40, 50, 60}});
}

// What planning computes element by element is bounded: the sizes come from shapes, which cost a file
// nothing.
TEST(Composite, TablesOfPlanningAreBounded) {
  struct Large {
    const char* op;
    ir::Attributes attributes;
    std::vector<Shape> values;
    std::vector<Tensor> constants;  // behind them
  };
  const Large large[] = {
      {"Trilu", {}, {Shape{1 << 14, 1 << 14}}, {}},
      {"OneHot", {}, {Shape{1}}, {integer(1 << 27), floats(Shape{2}, {0, 1})}},
      {"AffineGrid", {}, {Shape{1, 2, 3}}, {ints({1, 1, 1 << 14, 1 << 14})}},
      {"Resize",
       {{"mode", std::string("linear")}, {"antialias", int64_t{1}}},
       {Shape{1 << 26}},
       {Tensor(), Tensor(), ints({1 << 13})}},
  };
  for (const Large& l : large) {
    Program program;
    Lowering lowering(program, {});
    std::vector<Ref> refs;
    for (const Shape& s : l.values) refs.push_back(lowering.add_value(DType::float32, s));
    for (const Tensor& t : l.constants) refs.push_back(t.defined() ? lowering.add_constant(t) : kNoRef);
    const auto got = lowering.apply(*find_op(l.op), l.attributes, refs, 1, "node");
    ASSERT_FALSE(got.ok()) << l.op;
    EXPECT_NE(got.error().message().find(std::to_string(base::kMaxPlanTable)), std::string::npos)
        << got.error().message();
  }
}

TEST(Composite, TablesOfOneModelCountTogether) {
  Program program;
  Lowering lowering(program, {});
  const Shape half{5800, 5800};
  EXPECT_TRUE(
      lowering.apply(*find_op("Trilu"), {}, {lowering.add_value(DType::float32, half)}, 1, "first").ok());
  const auto second =
      lowering.apply(*find_op("Trilu"), {}, {lowering.add_value(DType::float32, half)}, 1, "second");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().group(), base::ErrorGroup::resource) << second.error().message();
}

}  // namespace
}  // namespace walle::ops
