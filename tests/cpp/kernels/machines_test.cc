// Products and convolutions larger than the caches of the smallest machine and smaller than those of the
// largest, on every machine: against the definition, in a workspace of exactly the bytes that were asked for.
#include <algorithm>
#include <array>
#include <random>

#include "each_machine.h"
#include "kernels/blocked/blocked_conv.h"
#include "kernels/compare.h"
#include "kernels/conv/channel_lanes.h"
#include "kernels/conv/conv_reference.h"
#include "kernels/conv/lane_windows.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm_reference.h"
#include "kernels/workspace.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

// Two blocks of rows on every machine, several of the depth, more than one group of columns.
constexpr int64_t kProducts[][3] = {{1, 700, 3000}, {4, 310, 3000}, {40, 130, 3000}, {600, 70, 1200}};

class Machines : public ::testing::Test {
 protected:
  Machines() : seed_(test_seed()) {}

  std::string trace(Isa isa, int threads) const {
    return std::string(isa_name(isa)) + " threads " + std::to_string(threads) + " seed " +
           std::to_string(seed_);
  }

  // Runs `kernel` in a workspace that ends with a guard; NaN in it spoils every result that reads it.
  template <class Kernel>
  void in_workspace(int64_t bytes, Kernel kernel) {
    ASSERT_GE(bytes, 0);
    Buffer memory = *Buffer::allocate(static_cast<size_t>(bytes) + kGuard);
    auto* floats = reinterpret_cast<float*>(memory.data());
    std::fill_n(floats, bytes / kFloatBytes, __builtin_nanf(""));
    std::fill_n(memory.data() + bytes, kGuard, kMark);
    kernel(memory.data());
    EXPECT_TRUE(std::all_of(memory.data() + bytes, memory.data() + bytes + kGuard,
                            [](std::byte b) { return b == kMark; }))
        << "wrote behind the " << bytes << " bytes it asked for";
  }

  void check_convolution(const ConvShape& s, Isa isa, int threads, const std::vector<float>& x,
                         const std::vector<float>& w, const std::vector<float>& want);
  void check_blocked(const BlockedConv& conv, const std::vector<float>& x, const std::vector<float>& w,
                     int threads, const std::vector<float>& want);

  static constexpr size_t kGuard = 4096;
  static constexpr std::byte kMark{0x5a};
  uint32_t seed_;
};

TEST_F(Machines, ProductsEqualTheDefinition) {
  for (const auto& [m, n, k] : kProducts) {
    const auto a = random_floats(m * k, seed_), b = random_floats(k * n, seed_ + 1);
    std::vector<float> want(static_cast<size_t>(m * n));
    gemm_reference(m, n, k, a.data(), b.data(), want.data(), Epilogue{}, 2);
    bool packed = false;
    on_each_machine([&, m = m, n = n, k = k] {
      const int threads = std::min(base::available_processors(), 4);
      packed = !packed;
      for (const Isa isa : supported_isas()) {
        SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " +
                     (packed ? "packed " : "") + trace(isa, threads));
        const GemmTable& table = gemm_table(isa);
        std::vector<float> got(want.size(), -7), panels(static_cast<size_t>(packed_b_elements(table, n, k)));
        pack_whole_b(table, {b.data(), n, 1}, k, n, panels.data());
        const Gemm g{.m = m,
                     .n = n,
                     .k = k,
                     .a = {a.data(), k, 1},
                     .packed_b = packed ? panels.data() : nullptr,
                     .b = {b.data(), n, 1},
                     .c = got.data(),
                     .c_row = n};
        in_workspace(threads * gemm_workspace_bytes(table, m, n, k, false, packed),
                     [&](std::byte* at) { run_gemm(table, g, threads, at); });
        expect_close(got, want, 1e-4);
      }
    });
  }
}

void Machines::check_convolution(const ConvShape& s, Isa isa, int threads, const std::vector<float>& x,
                                 const std::vector<float>& w, const std::vector<float>& want) {
  const auto expect = [&](const char* what, double tolerance, int64_t bytes, auto run) {
    SCOPED_TRACE(what);
    std::vector<float> got(want.size(), -7);
    in_workspace(bytes, [&](std::byte* at) { run(got.data(), at); });
    expect_close(got, want, tolerance);
  };
  const Conv columns = make_conv(s, isa);
  std::vector<float> packed(static_cast<size_t>(packed_weight_elements(columns)));
  pack_weights(columns, w.data(), packed.data());
  expect("columns", 1e-4, conv_workspace_bytes(columns, threads, true), [&](float* y, std::byte* at) {
    run_conv(columns, x.data(), w.data(), packed.data(), {}, y, threads, at);
  });
  if (lane_conv_fits(s)) {
    const LaneConv conv = make_lane_conv(s, isa);
    std::vector<float> weights(static_cast<size_t>(lane_weight_elements(conv)));
    lane_weights(conv, w.data(), weights.data());
    expect("channels in lanes", 1e-4, lane_workspace_bytes(conv, threads), [&](float* y, std::byte* at) {
      run_lane_conv(conv, x.data(), weights.data(), {}, y, threads, at);
    });
  }
  if (window_conv_fits(s, isa)) {
    const WindowConv conv = make_window_conv(s, isa);
    std::vector<float> weights(static_cast<size_t>(window_weight_elements(conv)));
    window_weights(conv, w.data(), weights.data());
    expect("windows", 1e-4, window_workspace_bytes(conv, threads), [&](float* y, std::byte* at) {
      run_window_conv(conv, x.data(), weights.data(), {}, y, threads, at);
    });
  }
  for (const int unit : kWinogradUnits) {
    if (!winograd_fits(s)) continue;
    const Winograd conv = make_winograd(s, unit, isa);
    std::vector<float> weights(static_cast<size_t>(winograd_weight_elements(conv)));
    winograd_weights(conv, w.data(), weights.data());
    expect(
        "winograd", winograd_error(unit) * 1e-4, winograd_workspace_bytes(conv, threads),
        [&](float* y, std::byte* at) { run_winograd(conv, x.data(), weights.data(), {}, y, threads, at); });
  }
  if (blocked_conv_fits(s, isa)) check_blocked(make_blocked_conv(s, isa), x, w, threads, want);
}

void Machines::check_blocked(const BlockedConv& conv, const std::vector<float>& x,
                             const std::vector<float>& w, int threads, const std::vector<float>& want) {
  SCOPED_TRACE("blocked");
  const ConvShape& s = conv.shape;
  const BlockedShape in{s.n, s.c, s.h * s.w}, out{s.n, s.m, s.oh * s.ow};
  std::vector<float> blocks(static_cast<size_t>(in.floats())), sums(static_cast<size_t>(out.floats())),
      weights(static_cast<size_t>(blocked_weight_elements(conv))), got(want.size(), -7);
  to_blocked(*conv.table, in, x.data(), blocks.data(), threads);
  blocked_weights(conv, w.data(), nullptr, weights.data());
  run_blocked_conv(conv, blocks.data(), weights.data(), {}, sums.data(), threads);
  from_blocked(*conv.table, out, sums.data(), got.data(), threads);
  expect_close(got, want, 1e-4);
}

TEST_F(Machines, ConvolutionsEqualTheDefinition) {
  // Many channels on few pixels and few on many: whichever of the two a block is made of.
  for (const auto& [channels, filters, side, window] :
       {std::array<int64_t, 4>{520, 40, 9, 3}, {40, 48, 34, 3}, {1100, 40, 13, 1}, {48, 70, 40, 1}}) {
    ConvShape s;
    s.n = 1;
    s.c = channels;
    s.m = filters;
    s.h = s.w = side;
    s.kh = s.kw = window;
    s.oh = s.ow = side - window + 1;
    const auto x = random_floats(s.c * s.h * s.w, seed_), w = random_floats(s.m * s.depth(), seed_ + 1);
    std::vector<float> want(static_cast<size_t>(s.m * s.oh * s.ow));
    conv_reference<float>(s, x.data(), w.data(), nullptr, Epilogue{}, want.data(), 2);
    on_each_machine([&] {
      const int threads = std::min(base::available_processors(), 4);
      for (const Isa isa : supported_isas()) {
        SCOPED_TRACE(std::to_string(s.c) + " to " + std::to_string(s.m) + " channels, side " +
                     std::to_string(s.h) + " " + trace(isa, threads));
        check_convolution(s, isa, threads, x, w, want);
      }
    });
  }
}

}  // namespace
}  // namespace walle::kernels
