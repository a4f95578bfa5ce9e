// ConvTranspose by both of its ways (float32 as phases where it has them, float64 as products) against the
// definition: every input adds weight times itself to every result it reaches.
#include <cmath>
#include <cstdlib>
#include <random>

#include "ops/composite/conv_phases.h"
#include "ops/composite/transposed_window.h"
#include "run_op.h"
#include "seed.h"

namespace walle::ops {
namespace {

struct Drawn {
  ir::Attributes attributes;
  Shape x, w;
  bool bias = false;
};

int64_t draw(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

Ints draw_all(std::mt19937& rng, int n, int64_t low, int64_t high) {
  Ints out;
  for (int i = 0; i < n; ++i) out.push_back(draw(rng, low, high));
  return out;
}

Drawn draw_case(std::mt19937& rng) {
  Drawn d;
  const int n = static_cast<int>(draw(rng, 1, 3));
  const int64_t group = draw(rng, 1, 3);
  d.x = Shape{draw(rng, 0, 8) ? draw(rng, 1, 2) : 0, group * draw(rng, 1, 3)};
  d.w = Shape{d.x[1], draw(rng, 1, 3)};
  for (int i = 0; i < n; ++i) d.x.push_back(draw(rng, 0, 20) ? draw(rng, 1, 5) : 0);
  for (int i = 0; i < n; ++i) d.w.push_back(draw(rng, 1, 5));
  d.attributes.set("group", group);
  d.attributes.set("strides", draw_all(rng, n, 1, 3));
  if (draw(rng, 0, 3) == 0) d.attributes.set("dilations", draw_all(rng, n, 1, 3));
  if (draw(rng, 0, 2) == 0) d.attributes.set("output_padding", draw_all(rng, n, 0, 2));
  const int64_t way = draw(rng, 0, 5);
  if (way == 0)
    d.attributes.set("auto_pad", std::string(draw(rng, 0, 1) ? "SAME_UPPER" : "SAME_LOWER"));
  else if (way == 1)
    d.attributes.set("output_shape", draw_all(rng, n, 1, 18));
  else
    d.attributes.set("pads", draw_all(rng, 2 * n, 0, 3));
  d.bias = draw(rng, 0, 1) == 1;
  return d;
}

Tensor noise(std::mt19937& rng, DType dtype, const Shape& shape) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (double& v : values) v = value(rng);  // exact in float32
  return tensor(dtype, shape, values);
}

// An element's index along each axis.
Ints index_of(int64_t at, const Shape& shape) {
  Ints out(static_cast<size_t>(shape.rank()));
  for (int i = shape.rank() - 1; i >= 0; at /= shape[i--]) out[static_cast<size_t>(i)] = at % shape[i];
  return out;
}

std::vector<double> definition(const Window& win, const std::vector<Tensor>& in, const Shape& out,
                               int64_t group) {
  const Shape &x = in[0].shape(), &w = in[1].shape();
  const std::vector<double> xs = *in[0].to_f64(), ws = *in[1].to_f64();
  const Shape to = out.strides();
  const int64_t depth = x[1] / group;
  std::vector<double> y(static_cast<size_t>(out.elements()), 0);
  for (int64_t a = 0; a < x.elements(); ++a) {
    const Ints i = index_of(a, x);
    for (int64_t k = 0; k < w.product(1, w.rank()); ++k) {
      const Ints j = index_of(k, w);
      int64_t at = i[0] * to[0] + (i[1] / depth * w[1] + j[1]) * to[1];
      bool lands = true;
      for (int d = 0; d < win.rank(); ++d) {
        const auto s = static_cast<size_t>(d);
        const int64_t o = i[s + 2] * win.stride[s] + j[s + 2] * win.dilation[s] - win.pad_begin[s];
        lands = lands && o >= 0 && o < win.out[s];
        at += o * to[d + 2];
      }
      if (lands)
        y[static_cast<size_t>(at)] +=
            xs[static_cast<size_t>(a)] * ws[static_cast<size_t>(i[1] * w.product(1, w.rank()) + k)];
    }
  }
  if (in.size() > 2) {
    const std::vector<double> bias = *in[2].to_f64();
    for (int64_t a = 0; a < out.elements(); ++a)
      y[static_cast<size_t>(a)] += bias[static_cast<size_t>(index_of(a, out)[1])];
  }
  return y;
}

TEST(ConvTranspose, BothWaysAreTheDefinition) {
  std::mt19937 rng(test_seed(20261123));
  int drawn = 0;
  int phased = 0;
  int products = 0;
  for (int i = 0; i < 1500; ++i) {
    const Drawn d = draw_case(rng);
    const auto win = transposed_window(d.attributes, d.x, d.w);
    if (!win.ok()) continue;  // more padding than there is
    ++drawn;
    phase_groups(*win, d.x) ? ++phased : ++products;
    const int64_t group = d.attributes.get_int("group", 1);
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::vector<Tensor> in{noise(rng, dtype, d.x), noise(rng, dtype, d.w)};
      if (d.bias) in.push_back(noise(rng, dtype, Shape{d.w[1] * group}));
      SCOPED_TRACE("case " + std::to_string(i) + ": X" + d.x.text() + " W" + d.w.text() + " {" +
                   d.attributes.text() + "} " + std::string(dtype_name(dtype)));
      const auto got = run_op("ConvTranspose", d.attributes, in);
      ASSERT_TRUE(got.ok()) << got.error().message();
      const std::vector<double> want = definition(*win, in, (*got)[0].shape(), group);
      const std::vector<double> have = *(*got)[0].to_f64();
      ASSERT_EQ(have.size(), want.size());
      for (size_t k = 0; k < want.size(); ++k)
        ASSERT_NEAR(have[k], want[k], (dtype == DType::float32 ? 2e-6 : 1e-14) * (1 + std::abs(want[k]) * 4))
            << "element " << k;
    }
  }
  // Else the draw tests one way alone.
  EXPECT_GT(phased, 300) << drawn;
  EXPECT_GT(products, 200) << drawn;
}

Window window(const ir::Attributes& attributes, const Shape& x, const Shape& w) {
  const auto win = transposed_window(attributes, x, w);
  EXPECT_TRUE(win.ok()) << win.status().error().message();
  return win.ok() ? *win : Window{};
}

size_t convolutions(const ir::Attributes& attributes, const Shape& x, const Shape& w) {
  const auto groups = phase_groups(window(attributes, x, w), x);
  return groups ? groups->size() : 0;
}

TEST(ConvTranspose, PhasesOfEquallyManyTapsAreOneConvolution) {
  const Shape x{1, 4, 6, 6};
  EXPECT_EQ(convolutions({{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}, x, Shape{4, 2, 4, 4}), 1u);
  EXPECT_EQ(convolutions({{"strides", Ints{2, 2}}}, x, Shape{4, 2, 2, 2}), 1u);
  EXPECT_EQ(convolutions({}, x, Shape{4, 2, 3, 3}), 1u);
  EXPECT_EQ(convolutions({{"dilations", Ints{2, 2}}}, x, Shape{4, 2, 3, 3}), 1u);
  const ir::Attributes odd{
      {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}};
  EXPECT_EQ(convolutions(odd, x, Shape{4, 2, 3, 3}), 4u);
  EXPECT_EQ(convolutions({{"strides", Ints{8}}, {"pads", Ints{4, 4}}}, Shape{1, 4, 9}, Shape{4, 2, 16}), 1u);
}

TEST(ConvTranspose, WhatHasNoPhasesIsAProduct) {
  const Shape x{1, 4, 6};
  EXPECT_EQ(convolutions({{"strides", Ints{3}}}, x, Shape{4, 2, 2}), 0u);  // results without taps
  EXPECT_EQ(convolutions({{"strides", Ints{2}}, {"dilations", Ints{3}}}, x, Shape{4, 2, 4}), 0u);
  EXPECT_EQ(convolutions({{"output_shape", Ints{20}}}, x, Shape{4, 2, 4}), 0u);  // beyond every tap
  EXPECT_EQ(convolutions({{"output_padding", Ints{2}}}, Shape{1, 4, 0}, Shape{4, 2, 4}), 0u);
  // Decided without counting the phases: a file may claim any stride.
  const ir::Attributes hostile{{"strides", Ints{kMaxWindowEntry}}, {"output_shape", Ints{1}}};
  EXPECT_EQ(convolutions(hostile, Shape{1, 4, 1}, Shape{4, 2, 1}), 0u);
}

// Padding beyond the reach of a window: the convolution begins later than the first result, and the raster
// takes what is wanted.
TEST(ConvTranspose, CutsWhatPaddingTakesOff) {
  expect_row({"ConvTranspose",
              {{"pads", Ints{3, 1}}},
              {floats(Shape{1, 1, 5}, {1, 2, 3, 4, 5}), floats(Shape{1, 1, 2}, {1, 10})},
              {1, 1, 2},
              {34, 45}});
  expect_row({"ConvTranspose",
              {{"strides", Ints{2}}, {"pads", Ints{1, 1}}},
              {floats(Shape{1, 1, 2}, {1, 2}), floats(Shape{1, 1, 4}, {1, 10, 100, 1000})},
              {1, 1, 4},
              {10, 102, 1020, 200}});
}

}  // namespace
}  // namespace walle::ops
