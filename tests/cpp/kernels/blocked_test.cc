// Channel-blocked storage against the definitions. Lanes that hold no channel are NaN before every run: what
// one of them reached would show.
#include "kernels/blocked/blocked.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "kernels/blocked/blocked_conv.h"
#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "kernels/pool/pool_reference.h"
#include "seed.h"

namespace walle::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class BlockedRandom : public testing::Test {
 protected:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  uint32_t lot() { return static_cast<uint32_t>(rng_()); }

  // On every instruction set, with one thread, two and five; stops at the first failure.
  void everywhere(const std::string& what, const std::function<void(Isa, int)>& check) {
    for (Isa isa : supported_isas())
      for (int threads : {1, 2, 5}) {
        SCOPED_TRACE(what + " " + std::string(isa_name(isa)) + " threads " + std::to_string(threads) +
                     " seed " + std::to_string(seed_));
        check(isa, threads);
        if (HasFailure()) return;
      }
  }

 private:
  const uint32_t seed_ = test_seed();
  std::mt19937 rng_{seed_};
};

std::vector<float> blocked(const BlockedShape& s, const std::vector<float>& rows, Isa isa) {
  std::vector<float> out(static_cast<size_t>(s.floats()), 3);
  to_blocked(blocked_table(isa), s, rows.data(), out.data(), 1);
  for (int64_t b = 0; b < s.blocks(); ++b)
    for (int64_t p = 0; p < s.pixels; ++p)
      for (int64_t l = s.c - b % blocks_of(s.c) * kBlock; l < kBlock; ++l) {
        EXPECT_EQ(out[(b * s.pixels + p) * kBlock + l], 0);
        out[(b * s.pixels + p) * kBlock + l] = kNan;
      }
  return out;
}

std::vector<float> rows_of(const BlockedShape& s, const std::vector<float>& given, Isa isa, int threads = 1) {
  std::vector<float> out(static_cast<size_t>(s.n * s.c * s.pixels), -7);
  from_blocked(blocked_table(isa), s, given.data(), out.data(), threads);
  return out;
}

std::string text(const ConvShape& s) {
  std::string out = "conv";
  for (int64_t v :
       {s.n, s.c, s.h, s.w, s.m, s.oh, s.ow, s.kh, s.kw, s.sh, s.sw, s.dh, s.dw, s.pt, s.pl, s.groups})
    out += " " + std::to_string(v);
  return out;
}

std::vector<float> run(const ConvShape& s, Isa isa, const std::vector<float>& x, const std::vector<float>& w,
                       const float* bias, const std::vector<float>* residual, BlockedTail tail, int threads) {
  const BlockedConv conv = make_blocked_conv(s, isa);
  std::vector<float> packed(static_cast<size_t>(blocked_weight_elements(conv)), kNan);
  blocked_weights(conv, w.data(), bias, packed.data());
  const BlockedShape in{s.n, s.c, s.h * s.w}, out{s.n, s.m, s.oh * s.ow};
  std::vector<float> shortcut;
  if (residual) {
    shortcut = blocked(out, *residual, isa);
    tail.residual = shortcut.data();
  }
  std::vector<float> y(static_cast<size_t>(out.floats()), -7);
  run_blocked_conv(conv, blocked(in, x, isa).data(), packed.data(), tail, y.data(), threads);
  return rows_of(out, y, isa);
}

TEST_F(BlockedRandom, ComesBackAsItWas) {
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    const BlockedShape s{between(1, 3), between(1, 50), between(1, 60) * (round % 5 ? 1 : 37)};
    const auto x = random_floats(s.n * s.c * s.pixels, lot());
    everywhere("shape", [&](Isa isa, int threads) {
      std::vector<float> there(static_cast<size_t>(s.floats()), kNan);
      to_blocked(blocked_table(isa), s, x.data(), there.data(), threads);
      EXPECT_EQ(rows_of(s, there, isa, threads), x);
    });
  }
}

TEST_F(BlockedRandom, ConvolutionsMatchTheDefinition) {
  for (int round = 0; round < 120 && !HasFailure(); ++round) {
    ConvShape s;
    s.n = between(1, 2), s.c = between(1, 40), s.m = between(1, 70);
    const bool depthwise = round % 3 == 0;
    if (depthwise) {
      s.m = s.groups = s.c = between(2, 40);
      s.kh = s.kw = 3 + 2 * between(0, 2);
      s.sh = s.sw = s.kh == 7 ? 1 : between(1, 2);
    } else if (round % 3 == 1) {
      s.kh = between(1, 5);
      s.kw = between(1, 5);
      s.sh = between(1, 3);
      s.sw = between(1, 3);
      s.dh = between(1, 2);
      s.dw = between(1, 2);
    }
    if (round % 6 == 5) {  // groups, whose first channel lies anywhere in a block
      s.groups = between(2, 4);
      s.c = s.groups * between(1, 40);
      s.m = s.groups * 8 * between(1, 4);
      if (round % 12 == 5) s.c = s.m = 4 * (s.groups = between(2, 11));  // several in a vector
      s.kh = s.kw = 1 + 2 * between(0, 1);
    }
    const bool padded = round % 3 != 2 || round % 4 == 0;
    s.pt = padded ? between(0, 3) : 0;
    s.pl = padded ? between(0, 3) : 0;
    s.h = between(1, 20);
    s.w = between(1, 34);
    s.oh = std::max<int64_t>(1, (s.h + 2 * s.pt - (s.kh - 1) * s.dh - 1) / s.sh + 1);
    s.ow = std::max<int64_t>(1, (s.w + 2 * s.pl - (s.kw - 1) * s.dw - 1) / s.sw + 1);
    ASSERT_TRUE(blocked_conv_fits(s, Isa::scalar)) << text(s);
    const auto x = random_floats(s.n * s.c * s.h * s.w, lot());
    const auto w = random_floats(s.m * s.depth(), lot()), bias = random_floats(s.m, lot());
    const auto residual = random_floats(s.n * s.m * s.oh * s.ow, lot());
    Epilogue e;
    e.activation = round % 4 == 0 ? Activation::none : round % 4 == 3 ? Activation::silu : Activation::clamp;
    e.alpha = -0.5f;
    e.beta = round % 8 == 1 ? 2.0f : std::numeric_limits<float>::infinity();
    if (round % 5 < 2) e.residual = residual.data();
    const float* b = round % 2 ? bias.data() : nullptr;
    std::vector<float> want(residual.size());
    conv_reference(s, x.data(), w.data(), b, e, want.data(), 2);
    everywhere(text(s), [&](Isa isa, int threads) {
      if (!blocked_conv_fits(s, isa)) return;
      expect_close(run(s, isa, x, w, b, e.residual ? &residual : nullptr,
                       {.activation = e.activation, .alpha = e.alpha, .beta = e.beta}, threads),
                   want, 5e-5);
    });
  }
}

// The first layer of a network: rows in, blocks out.
TEST_F(BlockedRandom, ConvolutionsFromRowsMatchTheDefinition) {
  for (int round = 0; round < 120 && !HasFailure(); ++round) {
    ConvShape s;
    s.n = between(1, 2), s.c = between(1, kMostRowChannels), s.m = between(1, 70);
    // Every sixth window is a patch: as wide as its stride, of more terms than one chain.
    const bool patch = round % 6 == 0;
    s.kh = patch ? between(8, 12) : between(1, 7);
    s.kw = patch ? between(8, 12) : between(1, 7);
    s.sh = patch ? s.kh : between(1, 4);
    s.sw = patch ? s.kw : between(1, 4);
    if (!patch) {
      s.dh = between(1, 2);
      s.dw = between(1, 2);
      s.pt = between(0, 4);
      s.pl = between(0, 4);
    }
    s.h = between(1, patch ? 40 : 20);
    s.w = between(1, round % 4 ? 34 : 90);
    s.oh = std::max<int64_t>(1, (s.h + 2 * s.pt - (s.kh - 1) * s.dh - 1) / s.sh + 1);
    s.ow = std::max<int64_t>(1, (s.w + 2 * s.pl - (s.kw - 1) * s.dw - 1) / s.sw + 1);
    ASSERT_TRUE(row_conv_fits(s)) << text(s);
    const auto x = random_floats(s.n * s.c * s.h * s.w, lot());
    const auto w = random_floats(s.m * s.depth(), lot()), bias = random_floats(s.m, lot());
    Epilogue e;
    e.activation = round % 4 == 0   ? Activation::none
                   : round % 4 == 3 ? Activation::hard_swish
                                    : Activation::clamp;
    e.alpha = -0.5f;
    e.beta = round % 8 == 1 ? 2.0f : std::numeric_limits<float>::infinity();
    const float* b = round % 2 ? bias.data() : nullptr;
    std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
    conv_reference(s, x.data(), w.data(), b, e, want.data(), 2);
    everywhere(text(s), [&](Isa isa, int threads) {
      const BlockedConv conv = make_row_conv(s, isa);
      std::vector<float> packed(static_cast<size_t>(blocked_weight_elements(conv)), kNan);
      blocked_weights(conv, w.data(), b, packed.data());
      const BlockedShape out{s.n, s.m, s.oh * s.ow};
      std::vector<float> y(static_cast<size_t>(out.floats()), -7);
      run_blocked_conv(conv, x.data(), packed.data(),
                       {.activation = e.activation, .alpha = e.alpha, .beta = e.beta}, y.data(), threads);
      expect_close(rows_of(out, y, isa), want, 5e-5);
    });
  }
}

TEST_F(BlockedRandom, OnlyFewChannelsAreReadFromRows) {
  ConvShape s{{.kh = 3, .kw = 3}};
  s.m = 16;
  s.c = kMostRowChannels;
  EXPECT_TRUE(row_conv_fits(s));
  s.c = kMostRowChannels + 1;
  EXPECT_FALSE(row_conv_fits(s));
  s.c = s.m = s.groups = 4;
  EXPECT_FALSE(row_conv_fits(s));
}

TEST_F(BlockedRandom, PoolsMatchTheDefinition) {
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    PoolShape s{{.h = between(1, 20),
                 .w = between(1, 20),
                 .kh = between(1, 4),
                 .kw = between(1, 4),
                 .sh = between(1, 3),
                 .sw = between(1, 3),
                 .dh = between(1, 2),
                 .dw = between(1, 2)}};
    s.mean = round % 2 == 0;
    s.count_padding = round % 4 == 0;
    const int64_t n = between(1, 2), c = between(1, 40);
    s.channels = n * c;
    s.pt = s.pb = between(0, s.kh - 1);
    s.pl = s.pr = between(0, s.kw - 1);
    s.oh = std::max<int64_t>(1, (s.h + 2 * s.pt - (s.kh - 1) * s.dh - 1) / s.sh + 1);
    s.ow = std::max<int64_t>(1, (s.w + 2 * s.pl - (s.kw - 1) * s.dw - 1) / s.sw + 1);
    auto x = random_floats(n * c * s.h * s.w, lot());
    if (round % 7 == 0) x[x.size() / 2] = kNan;
    std::vector<float> want(static_cast<size_t>(n * c * s.oh * s.ow));
    pool_reference(s, x.data(), want.data(), 1);
    everywhere("pool round " + std::to_string(round), [&](Isa isa, int threads) {
      const BlockedShape in{n, c, s.h * s.w}, out{n, c, s.oh * s.ow};
      std::vector<float> y(static_cast<size_t>(out.floats()), -7);
      blocked_pool(blocked_table(isa), in, s, blocked(in, x, isa).data(), y.data(), threads);
      expect_close(rows_of(out, y, isa), want, 1e-6);
    });
  }
}

TEST_F(BlockedRandom, MeansAndScalesMatchTheDefinition) {
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    const BlockedShape s{between(1, 3), between(1, 40), between(1, 80)};
    const auto x = random_floats(s.n * s.c * s.pixels, lot());
    const bool shared = round % 2 == 0;
    const BlockedShape narrow{shared ? 1 : s.n, s.c, 1};
    const auto lanes = random_floats(narrow.n * s.c, lot());
    std::vector<float> means(static_cast<size_t>(s.n * s.c)), want(x.size());
    const auto kind = static_cast<BlockedScale>(round / 2 % 4);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t channel = i / static_cast<size_t>(s.pixels);
      means[channel] += x[i] / static_cast<float>(s.pixels);
      const float b = lanes[shared ? channel % static_cast<size_t>(s.c) : channel];
      want[i] = kind == BlockedScale::add        ? x[i] + b
                : kind == BlockedScale::subtract ? x[i] - b
                : kind == BlockedScale::multiply ? x[i] * b
                                                 : std::max(x[i], 0.0f) + std::min(x[i], 0.0f) * b;
    }
    everywhere("round " + std::to_string(round), [&](Isa isa, int threads) {
      const BlockedTable& table = blocked_table(isa);
      const auto in = blocked(s, x, isa);
      std::vector<float> y(in.size(), -7);
      blocked_scale(table, s, kind, shared, in.data(), blocked(narrow, lanes, isa).data(), y.data(), threads);
      EXPECT_EQ(rows_of(s, y, isa), want);
      const BlockedShape one{s.n, s.c, 1};
      std::vector<float> mean(static_cast<size_t>(one.floats()), -7);
      blocked_mean(table, s, static_cast<float>(s.pixels), in.data(), mean.data(), threads);
      expect_close(rows_of(one, mean, isa), means, 1e-5);
    });
  }
}

TEST(BlockedConv, FitsDenseWindowsAndSquareDepthwiseOnes) {
  ConvShape s{{.h = 9, .w = 9, .oh = 9, .ow = 9, .kh = 3, .kw = 3, .pt = 1, .pl = 1}};
  s.c = s.m = 32;
  EXPECT_TRUE(blocked_conv_fits(s, Isa::scalar));
  s.groups = 32;
  EXPECT_TRUE(blocked_conv_fits(s, Isa::scalar));
  ConvShape bad = s;
  bad.groups = 4;  // eight outputs: two vectors of the scalar set
  EXPECT_TRUE(blocked_conv_fits(bad, Isa::scalar));
  bad.groups = 16;  // two outputs
  EXPECT_FALSE(blocked_conv_fits(bad, Isa::scalar));
  bad = s;
  bad.dw = 2;
  EXPECT_FALSE(blocked_conv_fits(bad, Isa::scalar));
  bad = s;
  bad.kw = 5;
  EXPECT_FALSE(blocked_conv_fits(bad, Isa::scalar));
  bad = s;
  bad.sh = bad.sw = 3;
  EXPECT_FALSE(blocked_conv_fits(bad, Isa::scalar));
  bad = s;
  bad.m = 64;  // two outputs a channel
  EXPECT_FALSE(blocked_conv_fits(bad, Isa::scalar));
}

// Groups do not see each other: what is not a number stays in its own.
TEST(BlockedConv, GroupsKeepTheirNaNs) {
  ConvShape s{{.h = 5, .w = 9, .oh = 5, .ow = 9, .kh = 3, .kw = 3, .pt = 1, .pl = 1}};
  s.c = s.m = 32;
  for (const int64_t groups : {2, 8}) {
    s.groups = groups;
    auto x = random_floats(s.c * s.h * s.w, 1);
    const auto w = random_floats(s.m * s.depth(), 2);
    for (int64_t i = 16 * s.h * s.w; i < s.c * s.h * s.w; ++i) x[static_cast<size_t>(i)] = NAN;
    for (const Isa isa : supported_isas()) {
      ASSERT_TRUE(blocked_conv_fits(s, isa));
      const auto y = run(s, isa, x, w, nullptr, nullptr, {}, 1);
      for (int64_t i = 0; i < s.m * s.oh * s.ow; ++i)
        ASSERT_EQ(std::isnan(y[static_cast<size_t>(i)]), i >= 16 * s.oh * s.ow)
            << isa_name(isa) << " at " << i;
    }
  }
}

// 3 x 3 on 7 x 7 with a border of one: 361 of 441 taps lie in the image. The first and the last column are
// walked downwards, where the corners (4 taps each) and the fifth of the pixels between them (6) are tiles of
// their own, which take as long as tiles of two.
TEST(BlockedConv, WorkLeavesOutThePaddingAndCountsLonePixelsTwice) {
  constexpr double kLone = 2 * (4 + 6 + 4);
  ConvShape s{{.h = 7, .w = 7, .oh = 7, .ow = 7, .kh = 3, .kw = 3, .pt = 1, .pl = 1}};
  s.c = s.m = 16;
  EXPECT_DOUBLE_EQ(blocked_work(make_blocked_conv(s, Isa::scalar)).flops, 2.0 * (361 + kLone) * 16 * 16);
}

}  // namespace
}  // namespace walle::kernels
