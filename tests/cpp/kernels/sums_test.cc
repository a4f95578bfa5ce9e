// How far sums of products stray from double: no further than twice a sum of sums of 144 terms, which is what
// other engines make of a convolution (16 channels of a window of 3 x 3). One running sum of 2304 terms would
// be off by four times as much.
#include <limits>
#include <optional>
#include <random>

#include "each_machine.h"
#include "kernels/blocked/blocked_conv.h"
#include "kernels/compare.h"
#include "kernels/conv/channel_lanes.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/lane_windows.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

constexpr double kMost = 2;

// Root of the mean square of what `got` is off by, over that of sums of 144 terms.
class Ratio {
 public:
  // term(i, l) for every output i and every step l of `depth`.
  template <class Term>
  Ratio(int64_t outputs, int64_t depth, Term term) {
    for (int64_t i = 0; i < outputs; ++i) {
      double exact = 0;
      float sum = 0, part = 0;
      for (int64_t l = 0; l < depth; ++l) {
        const auto [a, b] = term(i, l);
        exact += static_cast<double>(a) * b;
        part = std::fma(a, b, part);
        if ((l + 1) % 144 == 0 || l + 1 == depth) {
          sum += part;
          part = 0;
        }
      }
      exact_.push_back(exact);
      square_ += (sum - exact) * (sum - exact);
    }
  }

  double of(const std::vector<float>& got) const {
    double square = 0;
    for (size_t i = 0; i < exact_.size(); ++i) square += (got[i] - exact_[i]) * (got[i] - exact_[i]);
    return std::sqrt(square / square_);
  }

 private:
  std::vector<double> exact_;
  double square_ = 0;
};

class Sums : public ::testing::Test {
 protected:
  Sums() : seed_(test_seed()) {}
  std::string trace(Isa isa) const { return std::string(isa_name(isa)) + " seed " + std::to_string(seed_); }
  std::byte* scratch(int64_t bytes) {
    scratch_ = *Buffer::allocate(static_cast<size_t>(bytes) + 64);
    std::fill_n(reinterpret_cast<float*>(scratch_->data()), bytes / 4,
                std::numeric_limits<float>::quiet_NaN());
    return scratch_->data();
  }

  std::vector<float> product(const GemmTable& table, int64_t m, int64_t n, int64_t k,
                             const std::vector<float>& a, const std::vector<float>& b, bool packed) {
    std::vector<float> got(static_cast<size_t>(m * n)),
        panels(static_cast<size_t>(packed ? packed_b_elements(table, n, k) : 0));
    Gemm g{.m = m, .n = n, .k = k, .a = {a.data(), k, 1}, .b = {b.data(), n, 1}, .c = got.data(), .c_row = n};
    if (packed) {
      pack_whole_b(table, {b.data(), n, 1}, k, n, panels.data());
      g.packed_b = panels.data();
    }
    run_gemm(table, g, 1, scratch(gemm_workspace_bytes(table, m, n, k, false, packed)));
    return got;
  }

  uint32_t seed_;
  std::optional<Buffer> scratch_;
};

ConvShape square(int64_t c, int64_t m, int64_t side, int64_t window) {
  ConvShape s;
  s.n = 1;
  s.c = c;
  s.m = m;
  s.h = s.w = side;
  s.kh = s.kw = window;
  s.oh = s.ow = side - window + 1;
  return s;
}

Ratio ratio_of(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w) {
  const int64_t pixels = s.oh * s.ow;
  return {s.m * pixels, s.depth(), [&, pixels](int64_t i, int64_t l) {
            const int64_t ch = l / s.taps(), row = i % pixels / s.ow + l % s.taps() / s.kw,
                          col = i % s.ow + l % s.kw;
            return std::pair{x[static_cast<size_t>((ch * s.h + row) * s.w + col)],
                             w[static_cast<size_t>(i / pixels * s.depth() + l)]};
          }};
}

// One row as it lies and in panels, few rows, whole tiles.
TEST_F(Sums, OfProducts) {
  const int64_t n = 310;  // fewer, and the figure itself strays by an eighth
  for (const int64_t m : {1, 4, 30})
    for (const int64_t k : {576, 2304, 6000}) {
      const auto a = random_floats(m * k, seed_), b = random_floats(k * n, seed_ + 1);
      const Ratio ratio(m * n, k, [&](int64_t i, int64_t l) {
        return std::pair{a[static_cast<size_t>(i / n * k + l)], b[static_cast<size_t>(l * n + i % n)]};
      });
      on_each_machine([&] {
        for (Isa isa : supported_isas())
          for (const bool packed : {false, true}) {
            SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                         (packed ? " packed " : " ") + trace(isa));
            EXPECT_LE(ratio.of(product(gemm_table(isa), m, n, k, a, b, packed)), kMost);
          }
      });
    }
}

// Few rows by a plain B join sums in C: of so many steps each that a deep product is as near as a flat one.
TEST_F(Sums, OfDeepProductsOfFewRows) {
  const int64_t m = 2, n = 310, k = 60'000;
  const auto a = random_floats(m * k, seed_), b = random_floats(k * n, seed_ + 1);
  const Ratio ratio(m * n, k, [&](int64_t i, int64_t l) {
    return std::pair{a[static_cast<size_t>(i / n * k + l)], b[static_cast<size_t>(l * n + i % n)]};
  });
  for (Isa isa : supported_isas()) {
    SCOPED_TRACE(trace(isa));
    EXPECT_LE(ratio.of(product(gemm_table(isa), m, n, k, a, b, false)), kMost);
  }
}

TEST_F(Sums, OfPointwiseConvolutionsWithChannelsInLanes) {
  for (const int64_t channels : {300, 1100}) {
    const ConvShape s = square(channels, 40, 7, 1);
    const auto x = random_floats(s.c * s.h * s.w, seed_), w = random_floats(s.m * s.depth(), seed_ + 1);
    const Ratio ratio = ratio_of(s, x, w);
    on_each_machine([&] {
      for (Isa isa : supported_isas()) {
        SCOPED_TRACE(std::to_string(channels) + " channels " + trace(isa));
        const LaneConv conv = make_lane_conv(s, isa);
        std::vector<float> weights(static_cast<size_t>(lane_weight_elements(conv))),
            got(static_cast<size_t>(s.m * s.oh * s.ow));
        lane_weights(conv, w.data(), weights.data());
        run_lane_conv(conv, x.data(), weights.data(), {}, got.data(), 1,
                      scratch(lane_workspace_bytes(conv, 1)));
        EXPECT_LE(ratio.of(got), kMost);
      }
    });
  }
}

TEST_F(Sums, OfWindows) {
  const ConvShape s = square(64, 40, 20, 3);
  const auto x = random_floats(s.c * s.h * s.w, seed_), w = random_floats(s.m * s.depth(), seed_ + 1);
  const Ratio ratio = ratio_of(s, x, w);
  on_each_machine([&] {
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(trace(isa));
      std::vector<float> got(static_cast<size_t>(s.m * s.oh * s.ow));
      const Conv columns = make_conv(s, isa);
      std::vector<float> packed(static_cast<size_t>(packed_weight_elements(columns)));
      pack_weights(columns, w.data(), packed.data());
      run_conv(columns, x.data(), w.data(), packed.data(), {}, got.data(), 1,
               scratch(conv_workspace_bytes(columns, 1, true)));
      EXPECT_LE(ratio.of(got), kMost) << "columns";
      EXPECT_TRUE(window_conv_fits(s, isa));
      const WindowConv conv = make_window_conv(s, isa);
      std::vector<float> weights(static_cast<size_t>(window_weight_elements(conv)));
      window_weights(conv, w.data(), weights.data());
      run_window_conv(conv, x.data(), weights.data(), {}, got.data(), 1,
                      scratch(window_workspace_bytes(conv, 1)));
      EXPECT_LE(ratio.of(got), kMost) << "windows";
    }
  });
}

TEST_F(Sums, OfBlockedConvolutions) {
  for (const ConvShape& s : {square(64, 40, 20, 3), square(300, 40, 7, 3), square(1100, 40, 7, 1)}) {
    const auto x = random_floats(s.c * s.h * s.w, seed_), w = random_floats(s.m * s.depth(), seed_ + 1);
    const Ratio ratio = ratio_of(s, x, w);
    on_each_machine([&] {
      for (Isa isa : supported_isas()) {
        SCOPED_TRACE(std::to_string(s.depth()) + " terms " + trace(isa));
        const BlockedConv conv = make_blocked_conv(s, isa);
        const BlockedShape in{s.n, s.c, s.h * s.w}, out{s.n, s.m, s.oh * s.ow};
        std::vector<float> blocks(static_cast<size_t>(in.floats())),
            weights(static_cast<size_t>(blocked_weight_elements(conv))),
            sums(static_cast<size_t>(out.floats())), got(static_cast<size_t>(s.m * s.oh * s.ow));
        to_blocked(blocked_table(isa), in, x.data(), blocks.data(), 1);
        blocked_weights(conv, w.data(), nullptr, weights.data());
        run_blocked_conv(conv, blocks.data(), weights.data(), {}, sums.data(), 1);
        from_blocked(blocked_table(isa), out, sums.data(), got.data(), 1);
        EXPECT_LE(ratio.of(got), kMost);
      }
    });
  }
}

TEST_F(Sums, OfConvolutionsFromRows) {
  for (const int64_t window : {7, 16, 30}) {  // in one chain, in three and in eleven
    const ConvShape s = square(3, 40, 40, window);
    const auto x = random_floats(s.c * s.h * s.w, seed_), w = random_floats(s.m * s.depth(), seed_ + 1);
    const Ratio ratio = ratio_of(s, x, w);
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(std::to_string(s.depth()) + " terms " + trace(isa));
      const BlockedConv conv = make_row_conv(s, isa);
      const BlockedShape out{s.n, s.m, s.oh * s.ow};
      std::vector<float> weights(static_cast<size_t>(blocked_weight_elements(conv))),
          sums(static_cast<size_t>(out.floats())), got(static_cast<size_t>(s.m * s.oh * s.ow));
      blocked_weights(conv, w.data(), nullptr, weights.data());
      run_blocked_conv(conv, x.data(), weights.data(), {}, sums.data(), 1);
      from_blocked(blocked_table(isa), out, sums.data(), got.data(), 1);
      EXPECT_LE(ratio.of(got), kMost);
    }
  }
}

TEST_F(Sums, OfBlockedMeans) {
  const BlockedShape in{1, 48, 112 * 112};
  const auto x = random_floats(in.c * in.pixels, seed_);
  const Ratio ratio(in.c, in.pixels, [&](int64_t i, int64_t l) {
    return std::pair{x[static_cast<size_t>(i * in.pixels + l)], 1.0f};
  });
  for (Isa isa : supported_isas()) {
    SCOPED_TRACE(trace(isa));
    std::vector<float> blocks(static_cast<size_t>(in.floats())), got(static_cast<size_t>(in.c));
    to_blocked(blocked_table(isa), in, x.data(), blocks.data(), 1);
    blocked_mean(blocked_table(isa), in, 1, blocks.data(), got.data(), 1);
    EXPECT_LE(ratio.of(got), kMost);
  }
}

TEST_F(Sums, OfWinogradStayWithinWhatCandidatesState) {
  for (const int64_t channels : {8, 32, 64, 256, 500})
    for (const bool positive : {false, true}) {
      const ConvShape s = square(channels, 20, 26, 3);
      auto x = random_floats(s.c * s.h * s.w, seed_);
      if (positive)
        for (float& v : x) v = std::max(v, 0.0f);  // as behind a ReLU
      const auto w = random_floats(s.m * s.depth(), seed_ + 1);
      const Ratio ratio = ratio_of(s, x, w);
      // Blocks of tiles follow the caches, chains of channels do not (chain_of in winograd.cc).
      for (Isa isa : supported_isas())
        for (int unit : kWinogradUnits) {
          const Winograd winograd = make_winograd(s, unit, isa);
          std::vector<float> weights(static_cast<size_t>(winograd_weight_elements(winograd))),
              got(static_cast<size_t>(s.m * s.oh * s.ow));
          winograd_weights(winograd, w.data(), weights.data());
          run_winograd(winograd, x.data(), weights.data(), {}, got.data(), 1,
                       scratch(winograd_workspace_bytes(winograd, 1)));
          const double found = ratio.of(got);
          RecordProperty("channels_" + std::to_string(channels) + (positive ? "_positive" : "") + "_unit_" +
                             std::to_string(unit) + "_" + std::string(isa_name(isa)),
                         std::to_string(found));
          EXPECT_LE(found, winograd_error(unit))
              << channels << " channels, unit " << unit << " " << trace(isa);
        }
    }
}

}  // namespace
}  // namespace walle::kernels
