// Convolutions of 1 x 1 with channels in lanes against the definition.
#include "kernels/conv/channel_lanes.h"

#include <limits>
#include <random>

#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

ConvShape shape_of(int64_t n, int64_t c, int64_t h, int64_t w, int64_t m) {
  return {{.h = h, .w = w, .oh = h, .ow = w}, n, c, m};
}

std::vector<float> run(const ConvShape& s, Isa isa, const std::vector<float>& x,
                       const std::vector<float>& filters, const Epilogue& e, int threads) {
  const LaneConv conv = make_lane_conv(s, isa);
  std::vector<float> weights(static_cast<size_t>(lane_weight_elements(conv)), -7);
  lane_weights(conv, filters.data(), weights.data());
  const auto bytes = static_cast<size_t>(lane_workspace_bytes(conv, threads));
  auto workspace = Buffer::allocate(bytes);
  std::fill_n(reinterpret_cast<float*>(workspace->data()), bytes / sizeof(float),
              std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow), -7);
  run_lane_conv(conv, x.data(), weights.data(), e, y.data(), threads, workspace->data());
  return y;
}

TEST(LaneConv, RandomShapesMatchTheDefinition) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 60; ++round) {
    const ConvShape s =
        shape_of(between(1, 3), between(1, 70), between(1, 15), between(1, 15), between(1, 70));
    ASSERT_TRUE(lane_conv_fits(s));
    const auto x = random_floats(s.n * s.c * s.h * s.w, rng()), filters = random_floats(s.m * s.c, rng());
    const auto bias = random_floats(s.m, rng()), residual = random_floats(s.n * s.m * s.oh * s.ow, rng());
    Epilogue e;
    if (round % 2) e.row_bias = bias.data();
    if (round % 3 == 0) e.residual = residual.data();
    e.activation = round % 4 == 0 ? Activation::none : round % 4 == 3 ? Activation::silu : Activation::clamp;
    e.alpha = -0.5f;
    e.beta = round % 8 == 1 ? 2.0f : std::numeric_limits<float>::infinity();
    std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
    conv_reference(s, x.data(), filters.data(), e.row_bias, e, want.data(), 2);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2, 5}) {
        SCOPED_TRACE("round " + std::to_string(round) + " input " + std::to_string(s.n) + "x" +
                     std::to_string(s.c) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) +
                     " filters " + std::to_string(s.m) + " " + std::string(isa_name(isa)) + " threads " +
                     std::to_string(threads) + " seed " + std::to_string(seed));
        expect_close(run(s, isa, x, filters, e, threads), want, 2e-5);
      }
    if (HasFailure()) return;
  }
}

TEST(LaneConv, ManyChannelsMakeSeveralBlocksOfPixels) {
  const ConvShape s = shape_of(2, 6000, 7, 9, 3);
  const auto x = random_floats(s.n * s.c * s.h * s.w, 1), filters = random_floats(s.m * s.c, 2);
  std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
  conv_reference<float>(s, x.data(), filters.data(), nullptr, {}, want.data(), 2);
  for (Isa isa : supported_isas()) {
    ASSERT_GT(s.oh * s.ow, make_lane_conv(s, isa).block) << "too small a case";
    for (int threads : {1, 2}) expect_close(run(s, isa, x, filters, {}, threads), want, 1e-3);
  }
}

TEST(LaneConv, FitsWindowsOfOneWithoutStridePaddingOrGroups) {
  const ConvShape good = shape_of(1, 8, 7, 7, 8);
  EXPECT_TRUE(lane_conv_fits(good));
  ConvShape bad = good;
  bad.sw = 2;
  bad.ow = 4;
  EXPECT_FALSE(lane_conv_fits(bad));
  bad = good;
  bad.groups = 2;
  EXPECT_FALSE(lane_conv_fits(bad));
  bad = good;
  bad.pt = 1;
  EXPECT_FALSE(lane_conv_fits(bad));
  bad = good;
  bad.oh = 8;  // padding behind the image
  EXPECT_FALSE(lane_conv_fits(bad));
  bad = good;
  bad.kh = 3;
  EXPECT_FALSE(lane_conv_fits(bad));
}

// A map of 49 pixels leaves 15 of 64 columns empty, and no channel.
TEST(LaneConv, WorkIsThatOfChannelsNotOfColumns) {
  const ConvShape s = shape_of(1, 64, 7, 7, 64);
  const Isa best = supported_isas().back();
  EXPECT_DOUBLE_EQ(lane_work(make_lane_conv(s, best)).product_flops, 2.0 * 49 * 64 * 64);
  EXPECT_GE(conv_flops(make_conv(s, best)), 2.0 * 49 * 64 * 64);
}

}  // namespace
}  // namespace walle::kernels
