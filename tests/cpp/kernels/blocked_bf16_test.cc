// Kernels over images of bfloat16, in the form that this processor runs and in the emulated one, against
// those of float32 over the same numbers, rounded. Lanes that hold no channel are NaN before every run.
#include "kernels/blocked_bf16/blocked_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "kernels/bf16_numbers.h"
#include "kernels/blocked_bf16_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

std::vector<Variant<BlockedBf16Table>> forms_here() {
  std::vector<Variant<BlockedBf16Table>> out{{"emulated", {}, &emulated::kBlockedBf16}};
  if (const auto* form = blocked_bf16_form(base::cpu_features().has)) out.push_back(*form);
  return out;
}

class BlockedBf16 : public testing::Test {
 protected:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  float number() { return rounded(std::uniform_real_distribution<float>(-4, 4)(rng_)); }

  // An image of numbers that bfloat16 holds.
  std::vector<float> image(const BlockedShape& s) {
    std::vector<float> out(static_cast<size_t>(s.floats()), std::numeric_limits<float>::quiet_NaN());
    each_channel(s, [&](size_t at) { out[at] = number(); });
    return out;
  }

  template <class Fn>
  static void each_channel(const BlockedShape& s, Fn fn) {
    for (int64_t b = 0; b < s.blocks(); ++b)
      for (int64_t p = 0; p < s.pixels; ++p)
        for (int64_t l = 0; l < std::min(kBlock, s.c - b % blocks_of(s.c) * kBlock); ++l)
          fn(static_cast<size_t>((b * s.pixels + p) * kBlock + l));
  }

  // `got` is `want`, rounded once; NaN where that is. `off`: that a function is, which another compiler's
  // flags may contract otherwise.
  static void expect_rounded(const BlockedShape& s, const std::vector<uint16_t>& got,
                             const std::vector<float>& want, float off = 0) {
    const std::vector<float> y = floats_of(got);
    each_channel(s, [&](size_t at) {
      if (std::abs(y[at] - want[at]) <= off * (1 + std::abs(want[at]) * 0x1p12f)) return;
      ASSERT_TRUE(y[at] == rounded(want[at]) || (y[at] != y[at] && want[at] != want[at]))
          << "element " << at << ": " << y[at] << " of " << want[at];
    });
  }

  std::mt19937 rng_{test_seed()};
  // Sums are taken in the order of float32's, whose tile is as wide.
  static Isa isa_of(const Variant<BlockedBf16Table>& form) {
    return form.needs.empty() ? Isa::scalar : supported_isas().back();
  }
};

TEST_F(BlockedBf16, ComesBackRounded) {
  for (const auto& form : forms_here())
    for (int round = 0; round < 60 && !HasFailure(); ++round) {
      const BlockedShape s{between(0, 3), between(1, 50), between(0, 60) * (round % 5 ? 1 : 37)};
      std::vector<float> x(static_cast<size_t>(s.n * s.c * s.pixels)), back(x.size(), 7);
      for (float& v : x) v = std::uniform_real_distribution<float>(-4, 4)(rng_);
      std::vector<uint16_t> there(static_cast<size_t>(s.floats()), 0x7fc0);
      const int threads = 1 + round % 2;
      const BlockedTable& turns = blocked_table(Isa::scalar);
      to_blocked_bf16(*form.table, turns, s, x.data(), there.data(), threads);
      from_blocked_bf16(*form.table, turns, s, there.data(), back.data(), threads);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(back[i], rounded(x[i])) << form.name << " " << i;
    }
}

TEST_F(BlockedBf16, RoundsHalfToEvenAndKeepsWhatIsNoNumber) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> given{1.00390625f, 1.01171875f, -1.00390625f,
                                 kInf,        -kInf,       3.4e38f,
                                 1e-40f,      -1e-40f,     std::numeric_limits<float>::quiet_NaN(),
                                 0.0f,        -0.0f,       1.0f,
                                 2.0f,        3.0f,        1e-38f,
                                 5.0f};
  for (const auto& form : forms_here()) {
    std::vector<uint16_t> got(16);
    form.table->narrow(given.data(), form.table->lanes, 16 / form.table->lanes, got.data(),
                       form.table->lanes);
    std::vector<float> wide(16);
    form.table->widen(got.data(), form.table->lanes, 16 / form.table->lanes, wide.data(), form.table->lanes);
    for (size_t i = 0; i < 16; ++i) {
      // Arm's BFCVT keeps subnormal numbers, which its products count as zeros; vcvtneps2bf16 makes zeros of
      // them.
      const float nearest = form.name == "neon_bf16" ? rounded_as_any(given[i]) : rounded(given[i]);
      ASSERT_TRUE(wide[i] == nearest || given[i] != given[i]) << form.name << " " << given[i];
      ASSERT_EQ(wide[i] != wide[i], given[i] != given[i]);
      ASSERT_EQ(std::signbit(wide[i]), std::signbit(given[i]));
    }
    EXPECT_EQ(wide[0], 1.0f);  // ties go to the even one
    EXPECT_EQ(wide[1], 1.015625f);
  }
}

TEST_F(BlockedBf16, DepthwiseIsFloatsRounded) {
  for (const auto& form : forms_here())
    for (int round = 0; round < 80 && !HasFailure(); ++round) {
      ConvShape s;
      s.n = between(1, 2), s.m = s.groups = s.c = between(2, 40);
      s.kh = s.kw = 3 + 2 * between(0, 1);
      s.sh = s.sw = between(1, 2);
      s.h = between(1, 20), s.w = between(1, round % 4 ? 20 : 130);
      s.pt = between(0, s.kh - 1), s.pl = between(0, s.kw - 1);
      s.oh = std::max<int64_t>(1, (s.h + 2 * s.pt - s.kh) / s.sh + 1);
      s.ow = std::max<int64_t>(1, (s.w + 2 * s.pl - s.kw) / s.sw + 1);
      const BlockedConv conv = make_blocked_conv(s, isa_of(form));
      ASSERT_TRUE(conv.depthwise);
      std::vector<float> w(static_cast<size_t>(s.m * s.taps())), bias(static_cast<size_t>(s.m));
      for (float& v : w) v = number();
      for (float& v : bias) v = number();
      std::vector<float> packed(static_cast<size_t>(blocked_weight_elements(conv)));
      blocked_weights(conv, w.data(), round % 3 ? bias.data() : nullptr, packed.data());
      const BlockedShape from{s.n, s.c, s.h * s.w}, to{s.n, s.m, s.oh * s.ow};
      const auto x = image(from);
      BlockedTail tail{.activation =
                           static_cast<Activation>(between(0, static_cast<int64_t>(Activation::elu)))};
      tail.alpha = tail.activation == Activation::clamp ? -1.0f : 0.3f;
      tail.beta = 2;
      const int threads = 1 + round % 2;
      std::vector<float> want(static_cast<size_t>(to.floats()));
      run_blocked_conv(conv, x.data(), packed.data(), tail, want.data(), threads);
      std::vector<uint16_t> got(want.size(), 0x7fc0);
      auto workspace = Buffer::allocate(static_cast<size_t>(blocked_bf16_workspace_bytes(s.ow, threads)));
      run_depthwise_bf16(*form.table, isa_of(form), conv, bf16_of(x).data(), packed.data(), tail, got.data(),
                         threads, workspace->data());
      SCOPED_TRACE(std::string(form.name) + " round " + std::to_string(round));
      expect_rounded(to, got, want, tail.activation > Activation::clamp ? 1e-6f : 0);
    }
}

TEST_F(BlockedBf16, PoolingIsFloatsRounded) {
  for (const auto& form : forms_here())
    for (int round = 0; round < 80 && !HasFailure(); ++round) {
      PoolShape s;
      s.kh = between(1, 4), s.kw = between(1, 4), s.sh = between(1, 3), s.sw = between(1, 3);
      s.dh = between(1, 2), s.dw = between(1, 2);
      s.h = between(1, 20), s.w = between(1, round % 4 ? 20 : 100);
      s.pt = between(0, s.kh - 1), s.pl = between(0, s.kw - 1);
      s.mean = round % 2;
      s.count_padding = round % 4 == 1;
      s.oh = std::max<int64_t>(1, (s.h + 2 * s.pt - (s.kh - 1) * s.dh - 1) / s.sh + 1);
      s.ow = std::max<int64_t>(1, (s.w + 2 * s.pl - (s.kw - 1) * s.dw - 1) / s.sw + 1);
      const BlockedShape from{between(1, 2), between(1, 40), s.h * s.w}, to{from.n, from.c, s.oh * s.ow};
      const auto x = image(from);
      const int threads = 1 + round % 2;
      std::vector<float> want(static_cast<size_t>(to.floats()));
      blocked_pool(blocked_table(isa_of(form)), from, s, x.data(), want.data(), threads);
      std::vector<uint16_t> got(want.size(), 0x7fc0);
      auto workspace = Buffer::allocate(static_cast<size_t>(blocked_bf16_workspace_bytes(s.ow, threads)));
      blocked_pool_bf16(*form.table, from, s, bf16_of(x).data(), got.data(), threads, workspace->data());
      SCOPED_TRACE(std::string(form.name) + " round " + std::to_string(round));
      expect_rounded(to, got, want);
    }
}

TEST_F(BlockedBf16, MeansAreThoseOfFloats) {
  for (const auto& form : forms_here())
    for (int round = 0; round < 40 && !HasFailure(); ++round) {
      const BlockedShape s{between(1, 3), between(1, 40), between(1, 700)};
      const auto x = image(s);
      std::vector<float> want(static_cast<size_t>(s.blocks() * kBlock)), got(want.size(), 7);
      const auto count = static_cast<float>(s.pixels);
      blocked_mean(blocked_table(isa_of(form)), s, count, x.data(), want.data(), 1 + round % 2);
      blocked_mean_bf16(*form.table, s, count, bf16_of(x).data(), got.data(), 1 + round % 2);
      each_channel({s.n, s.c, 1}, [&](size_t at) { ASSERT_EQ(got[at], want[at]) << form.name << " " << at; });
    }
}

TEST_F(BlockedBf16, PiecesAreWholePixelsOfOneBlock) {
  for (const auto& form : forms_here())
    for (int round = 0; round < 30 && !HasFailure(); ++round) {
      const int64_t block = kBlock * between(1, round % 2 ? 200 : 7), elements = block * between(0, 9);
      std::vector<float> a(static_cast<size_t>(elements)), b(a.size());
      for (float& v : a) v = number();
      for (float& v : b) v = number();
      const auto a16 = bf16_of(a), b16 = bf16_of(b);
      const uint16_t* const x[] = {a16.data(), b16.data()};
      std::vector<uint16_t> y(a.size(), 0x7fc0);
      over_bf16(*form.table, x, y.data(), elements, block, 1 + round % 2,
                [&](const float* const* in, float* out, int64_t first, int64_t n) {
                  EXPECT_EQ(first / block, (first + n - 1) / block);
                  EXPECT_LE(n, kBf16Piece);
                  for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] * in[1][i];
                });
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(floats_of({y[i]})[0], rounded(a[i] * b[i])) << form.name << " " << i;
    }
}

TEST_F(BlockedBf16, HasNoFormWhereTheInstructionIsMissing) {
  EXPECT_EQ(blocked_bf16_form(needs_of(Isa::avx512)), nullptr);
  EXPECT_EQ(blocked_bf16_form(base::Capabilities{}), nullptr);
}

}  // namespace
}  // namespace walle::kernels
