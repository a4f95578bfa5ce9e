#include "ops/rules/window.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/composite/resize_taps.h"

namespace walle::ops {
namespace {

using Ints = std::vector<int64_t>;

Window resolved(const ir::Attributes& attrs, const Shape& x) {
  auto w = resolve_window(attrs, x);
  EXPECT_TRUE(w.ok()) << w.status().error().message();
  return w.ok() ? *w : Window{};
}

TEST(Window, PutsTheOddElementWhereAutoPadSays) {
  const Shape x{1, 1, 5};
  const Window upper = resolved({{"kernel_shape", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}, x);
  EXPECT_EQ(upper.out, std::vector<Dim>{5});
  EXPECT_EQ(upper.pads(), (Ints{0, 1}));
  const Window lower = resolved({{"kernel_shape", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}, x);
  EXPECT_EQ(lower.pads(), (Ints{1, 0}));
}

TEST(Window, DropsTheLastCeilWindowThatWouldStartInThePadding) {
  const ir::Attributes attrs{{"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  EXPECT_EQ(resolved(attrs, Shape{1, 1, 2}).out, std::vector<Dim>{1});
  const ir::Attributes wide{{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  EXPECT_EQ(resolved(wide, Shape{1, 1, 4}).out, std::vector<Dim>{2});
}

TEST(Window, RefusesWhatCannotBeMeant) {
  const Shape x{1, 1, 8, 8};
  const Ints two{3, 3};
  EXPECT_FALSE(resolve_window({}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", Ints{3}}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", two}, {"strides", Ints{0, 1}}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", two}, {"dilations", Ints{1, -1}}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", two}, {"pads", Ints{0, 0, -1, 0}}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", two}, {"auto_pad", std::string("SOME")}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", Ints{9, 9}}}, x).ok());
  EXPECT_FALSE(resolve_window({{"kernel_shape", Ints{int64_t{1} << 40, 1}}}, x).ok());
  EXPECT_FALSE(
      resolve_window({{"kernel_shape", Ints{int64_t{1} << 30, int64_t{1} << 30}}, {"pads", Ints{0, 0, 0, 0}}},
                     x)
          .ok());
}

TEST(Window, SpanIsExactlyTheOutputsThatReadInside) {
  for (int64_t size : {1, 4, 7})
    for (int64_t stride : {1, 2, 3})
      for (int64_t tap : {0, 1, 5})
        for (int64_t pad : {0, 1, 4}) {
          const int64_t out = 6;
          const Span s = inside(size, out, stride, tap, pad);
          for (int64_t o = 0; o < out; ++o) {
            const int64_t i = o * stride + tap - pad;
            EXPECT_EQ(o >= s.first && o < s.last, i >= 0 && i < size)
                << size << ' ' << stride << ' ' << tap << ' ' << pad << ' ' << o;
          }
        }
}

TEST(ResizeTaps, WeightsOfEveryOutputSumToOne) {
  for (const char* mode : {"linear", "cubic"})
    for (bool antialias : {false, true})
      for (int64_t out : {1, 3, 5, 11}) {
        ResizeRule rule;
        rule.mode = mode;
        rule.antialias = antialias;
        const AxisTaps t = resize_taps(rule, 5, out, static_cast<double>(out) / 5, 0, 1);
        ASSERT_EQ(t.index.size(), static_cast<size_t>(out * t.taps));
        for (int64_t j = 0; j < out; ++j) {
          const auto row = t.weight.begin() + j * t.taps;
          EXPECT_NEAR(std::accumulate(row, row + t.taps, 0.0), 1.0, 1e-12);
        }
        for (int32_t i : t.index) EXPECT_TRUE(i >= 0 && i < 5);
      }
}

TEST(ResizeTaps, NearestRoundsTiesAsAsked) {
  ResizeRule rule;
  rule.coordinates = "asymmetric";
  const auto second = [&](const char* nearest) {
    rule.nearest = nearest;
    return resize_taps(rule, 2, 4, 2, 0, 1).index[1];  // position 0.5
  };
  EXPECT_EQ(second("round_prefer_floor"), 0);
  EXPECT_EQ(second("floor"), 0);
  EXPECT_EQ(second("round_prefer_ceil"), 1);
  EXPECT_EQ(second("ceil"), 1);
}

}  // namespace
}  // namespace walle::ops
