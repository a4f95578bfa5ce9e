// Convolutions of few channels with output channels in lanes against the definition.
#include "kernels/conv/lane_windows.h"

#include <limits>
#include <random>

#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

std::vector<float> run(const ConvShape& s, Isa isa, const std::vector<float>& x,
                       const std::vector<float>& filters, const Epilogue& e, int threads) {
  const WindowConv conv = make_window_conv(s, isa);
  std::vector<float> weights(static_cast<size_t>(window_weight_elements(conv)), -7);
  window_weights(conv, filters.data(), weights.data());
  const auto bytes = static_cast<size_t>(window_workspace_bytes(conv, threads));
  auto workspace = Buffer::allocate(bytes);
  std::fill_n(reinterpret_cast<float*>(workspace->data()), bytes / sizeof(float),
              std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow), -7);
  run_window_conv(conv, x.data(), weights.data(), e, y.data(), threads, workspace->data());
  return y;
}

TEST(WindowConv, RandomShapesMatchTheDefinition) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  int fitted = 0;
  for (int round = 0; round < 60; ++round) {
    ConvShape s;
    s.kh = between(1, 5);
    s.kw = between(s.kh == 1 ? 2 : 1, 5);
    s.sh = between(1, 3);
    s.sw = between(1, 2);
    s.dh = between(1, 2);
    s.dw = between(1, 2);
    // Up to windows that lie wholly outside of the image, on any side.
    s.pt = between(0, s.kh + 1);
    s.pl = between(0, s.kw + 1);
    s.h = between(1, 20);
    s.w = between(1, 90);
    s.oh = between(1, 12);
    s.ow = between(1, 50);
    s.n = between(1, 2);
    s.c = between(1, 4);
    s.m = between(1, 70);
    const auto x = random_floats(s.n * s.c * s.h * s.w, rng()),
               filters = random_floats(s.m * s.depth(), rng());
    const auto bias = random_floats(s.m, rng()), residual = random_floats(s.n * s.m * s.oh * s.ow, rng());
    Epilogue e;
    if (round % 2) e.row_bias = bias.data();
    if (round % 3 == 0) e.residual = residual.data();
    e.activation = round % 4 == 0   ? Activation::none
                   : round % 4 == 3 ? Activation::hard_swish
                                    : Activation::clamp;
    e.alpha = -0.5f;
    e.beta = round % 8 == 1 ? 2.0f : std::numeric_limits<float>::infinity();
    std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
    conv_reference(s, x.data(), filters.data(), e.row_bias, e, want.data(), 2);
    for (Isa isa : supported_isas()) {
      if (!window_conv_fits(s, isa)) continue;
      ++fitted;
      for (int threads : {1, 2, 5}) {
        SCOPED_TRACE("round " + std::to_string(round) + " window " + std::to_string(s.kh) + "x" +
                     std::to_string(s.kw) + " stride " + std::to_string(s.sw) + " input " +
                     std::to_string(s.c) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) +
                     " filters " + std::to_string(s.m) + " " + std::string(isa_name(isa)) + " threads " +
                     std::to_string(threads) + " seed " + std::to_string(seed));
        expect_close(run(s, isa, x, filters, e, threads), want, 2e-5);
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(fitted, 30);
}

TEST(WindowConv, FitsWideRowsOfFewChannelsWithoutGroups) {
  ConvShape good{
      {.h = 64, .w = 64, .oh = 32, .ow = 32, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .pt = 1, .pl = 1}};
  good.c = 3;
  good.m = 16;
  for (Isa isa : supported_isas()) {
    EXPECT_TRUE(window_conv_fits(good, isa));
    ConvShape bad = good;
    bad.groups = 3;
    EXPECT_FALSE(window_conv_fits(bad, isa)) << "groups";
    bad = good;
    bad.sw = 3;
    EXPECT_FALSE(window_conv_fits(bad, isa)) << "stride";
    bad = good;
    bad.ow = channel_lanes_table(isa).rows - 1;
    EXPECT_FALSE(window_conv_fits(bad, isa)) << "columns";
    bad.ow = channel_lanes_table(isa).rows;
    EXPECT_TRUE(window_conv_fits(bad, isa)) << "columns";
    bad = good;
    bad.c = 64;
    EXPECT_FALSE(window_conv_fits(bad, isa)) << "rows beyond the first-level cache";
  }
}

}  // namespace
}  // namespace walle::kernels
