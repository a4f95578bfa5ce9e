// Winograd's convolution against the definition, every unit on every instruction set, and how far it rounds.
#include "kernels/conv/winograd.h"

#include <limits>
#include <random>

#include "kernels/blocked/blocked.h"
#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

ConvShape shape_of(int64_t n, int64_t c, int64_t h, int64_t w, int64_t m, int64_t pt, int64_t pl) {
  ConvShape s;
  s.n = n;
  s.c = c;
  s.h = h;
  s.w = w;
  s.m = m;
  s.kh = s.kw = 3;
  s.pt = pt;
  s.pl = pl;
  s.oh = h + 2 * pt - 2;
  s.ow = w + 2 * pl - 2;
  return s;
}

// Every value a buffer of scratch may not leave behind.
std::vector<float> run(const ConvShape& s, int unit, Isa isa, const std::vector<float>& x,
                       const std::vector<float>& filters, const Epilogue& e, int threads) {
  const Winograd w = make_winograd(s, unit, isa);
  std::vector<float> weights(static_cast<size_t>(winograd_weight_elements(w)), -7);
  winograd_weights(w, filters.data(), weights.data());
  const auto bytes = static_cast<size_t>(winograd_workspace_bytes(w, threads));
  auto workspace = Buffer::allocate(bytes);
  std::fill_n(reinterpret_cast<float*>(workspace->data()), bytes / sizeof(float),
              std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow), -7);
  run_winograd(w, x.data(), weights.data(), e, y.data(), threads, workspace->data());
  return y;
}

// The same between blocks of channels; lanes behind the last channel hold NaN.
std::vector<float> run_blocked(const ConvShape& s, int unit, Isa isa, const std::vector<float>& x,
                               const std::vector<float>& filters, const Epilogue& given, int threads) {
  const BlockedShape image{.n = s.n, .c = s.c, .pixels = s.h * s.w};
  const BlockedShape result{.n = s.n, .c = s.m, .pixels = s.oh * s.ow};
  const BlockedTable& table = blocked_table(isa);
  const auto blocks_with_nan = [&](const BlockedShape& shape, const float* rows) {
    std::vector<float> out(static_cast<size_t>(shape.floats()));
    to_blocked(table, shape, rows, out.data(), 1);
    for (int64_t i = 0; i < shape.floats(); ++i)
      if (i / kBlock / shape.pixels % blocks_of(shape.c) * kBlock + i % kBlock >= shape.c)
        out[static_cast<size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
    return out;
  };
  const auto from = blocks_with_nan(image, x.data());
  std::vector<float> residual;
  Epilogue e = given;
  if (e.residual) {
    residual = blocks_with_nan(result, e.residual);
    e.residual = residual.data();
  }
  std::vector<float> blocks(static_cast<size_t>(result.floats()), -7);
  const Winograd w = make_winograd(s, unit, isa, true);
  std::vector<float> weights(static_cast<size_t>(winograd_weight_elements(w)), -7);
  winograd_weights(w, filters.data(), weights.data());
  auto workspace = Buffer::allocate(static_cast<size_t>(winograd_workspace_bytes(w, threads)));
  run_winograd(w, from.data(), weights.data(), e, blocks.data(), threads, workspace->data());
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow), -7);
  from_blocked(table, result, blocks.data(), y.data(), 1);
  return y;
}

// Rounding grows with the unit; what is compared here are mistakes, not the last bits.
double tolerance(int unit) { return unit == 6 ? 4e-4 : 4e-5; }

TEST(Winograd, RandomShapesMatchTheDefinition) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 40; ++round) {
    const int64_t pt = between(0, 2), pl = between(0, 2);
    const ConvShape s =
        shape_of(between(1, 3), between(8, 40), between(3, 26), between(3, 30), between(1, 70), pt, pl);
    ASSERT_TRUE(winograd_fits(s));
    const auto x = random_floats(s.n * s.c * s.h * s.w, rng()),
               filters = random_floats(s.m * s.depth(), rng());
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
      for (int unit : kWinogradUnits)
        for (int threads : {1, 2, 3}) {
          SCOPED_TRACE("round " + std::to_string(round) + " input " + std::to_string(s.n) + "x" +
                       std::to_string(s.c) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) +
                       " filters " + std::to_string(s.m) + " unit " + std::to_string(unit) + " " +
                       std::string(isa_name(isa)) + " threads " + std::to_string(threads) + " seed " +
                       std::to_string(seed));
          expect_close(run(s, unit, isa, x, filters, e, threads), want, tolerance(unit));
          expect_close(run_blocked(s, unit, isa, x, filters, e, threads), want, tolerance(unit));
        }
    if (HasFailure()) return;
  }
}

// One thread's tiles in several blocks, and blocks that reach from one image into the next.
TEST(Winograd, BlocksOfTilesCrossRowsAndImages) {
  const ConvShape s = shape_of(6, 300, 18, 30, 5, 1, 1);
  const auto x = random_floats(s.n * s.c * s.h * s.w, 1), filters = random_floats(s.m * s.depth(), 2);
  std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
  conv_reference<float>(s, x.data(), filters.data(), nullptr, {}, want.data(), 2);
  for (Isa isa : supported_isas())
    for (int unit : kWinogradUnits) {
      const Winograd w = make_winograd(s, unit, isa);
      ASSERT_GT(w.tiles(), w.block) << "too small a case";
      // Sums of 2700 terms lie around 30.
      expect_close(run(s, unit, isa, x, filters, {}, 1), want, tolerance(unit) * 10);
      expect_close(run_blocked(s, unit, isa, x, filters, {}, 1), want, tolerance(unit) * 10);
    }
}

TEST(Winograd, FitsWindowsOfThreeWithoutStrideDilationOrGroups) {
  const ConvShape good = shape_of(1, 8, 14, 14, 8, 1, 1);
  EXPECT_TRUE(winograd_fits(good));
  ConvShape bad = good;
  bad.kw = 1;
  EXPECT_FALSE(winograd_fits(bad));
  bad = good;
  bad.sh = 2;
  EXPECT_FALSE(winograd_fits(bad));
  bad = good;
  bad.dw = 2;
  EXPECT_FALSE(winograd_fits(bad));
  bad = good;
  bad.groups = 2;
  EXPECT_FALSE(winograd_fits(bad));
  bad = good;
  bad.c = 7;
  EXPECT_FALSE(winograd_fits(bad));
}

// The larger the unit, the less arithmetic per pixel, as long as tiles are not mostly border.
TEST(Winograd, WorkFollowsTheUnit) {
  const ConvShape large = shape_of(1, 64, 48, 48, 64, 1, 1);
  const auto flops = [&](const ConvShape& s, int unit) {
    return winograd_work(make_winograd(s, unit, Isa::scalar)).product_flops;
  };
  const double direct = 2.0 * 48 * 48 * 64 * 64 * 9;
  EXPECT_DOUBLE_EQ(flops(large, 2) * 2.25, direct);
  EXPECT_DOUBLE_EQ(flops(large, 4) * 4, direct);
  EXPECT_DOUBLE_EQ(flops(large, 6) * 81 / 16, direct);
  const ConvShape small = shape_of(1, 64, 4, 4, 64, 1, 1);
  EXPECT_LT(flops(small, 4), flops(small, 6));
}

}  // namespace
}  // namespace walle::kernels
