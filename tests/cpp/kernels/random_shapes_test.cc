// Products, convolutions and pools of random shapes: every instruction set and one and two threads against
// the definition. Shapes nobody thought of are where edge tiles, borders and strides go wrong.
#include <random>

#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "kernels/gemm/gemm_reference.h"
#include "kernels/gemm_f64/f64.h"
#include "kernels/pool/pool_reference.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

class RandomShapes : public ::testing::Test {
 protected:
  RandomShapes() : seed_(test_seed()), rng_(seed_) {}

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  uint32_t any() { return static_cast<uint32_t>(rng_()); }
  std::string trace(Isa isa, int threads) const {
    return std::string(isa_name(isa)) + " threads " + std::to_string(threads) + " seed " +
           std::to_string(seed_);
  }
  // Fresh scratch full of a value that spoils every result it gets into.
  std::vector<float>& scratch(int64_t bytes) {
    scratch_.assign(static_cast<size_t>(bytes) / sizeof(float) + 32, __builtin_nanf(""));
    return scratch_;
  }
  static std::byte* aligned(std::vector<float>& block) {
    const auto at = reinterpret_cast<uintptr_t>(block.data());
    return reinterpret_cast<std::byte*>((at + 63) / 64 * 64);
  }

  uint32_t seed_;
  std::mt19937 rng_;
  std::vector<float> scratch_;
};

TEST_F(RandomShapes, Products) {
  for (int round = 0; round < 40; ++round) {
    const int64_t m = between(1, 40), n = between(1, 100), k = round == 0 ? 0 : between(0, 70);
    const auto a = random_floats(m * k, any()), b = random_floats(k * n, any()),
               bias = random_floats(n, any());
    Epilogue e;
    if (round % 2) e.col_bias = bias.data();
    std::vector<float> want(static_cast<size_t>(m * n));
    gemm_reference(m, n, k, a.data(), b.data(), want.data(), e, 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " +
                     trace(isa, threads));
        const GemmTable& table = gemm_table(isa);
        std::vector<float> got(want.size(), -7);
        Gemm g;
        g.m = m;
        g.n = n;
        g.k = k;
        g.a = {a.data(), k, 1};
        g.b = {b.data(), n, 1};
        g.c = got.data();
        g.c_row = n;
        g.epilogue = e;
        run_gemm(table, g, threads,
                 aligned(scratch(threads * gemm_workspace_bytes(table, m, n, k, false, false))));
        expect_close(got, want, 2e-5);
      }
    if (HasFailure()) return;
  }
}

TEST_F(RandomShapes, ProductsOfDoubles) {
  for (int round = 0; round < 40; ++round) {
    // Each dimension is 0 in one round, whatever is drawn.
    const int64_t m = round == 1 ? 0 : between(0, 40), n = round == 2 ? 0 : between(0, 70),
                  k = round == 3  ? 0
                      : round % 8 ? between(0, 70)
                                  : between(250, 600);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> a(m * k), b(k * n), want(m * n);
    for (double& x : a) x = number(rng_);
    for (double& x : b) x = number(rng_);
    gemm_reference(m, n, k, a.data(), b.data(), want.data(), {}, 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " +
                     trace(isa, threads));
        const F64Table& table = f64_table(isa);
        std::vector<double> got(want.size() + 1, -7);
        run_f64_gemm(table, m, n, k, a.data(), b.data(), got.data(), threads,
                     aligned(scratch(f64_workspace_bytes(table, k, threads))));
        EXPECT_EQ(got.back(), -7);
        for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-13 * (1 + double(k)));
      }
    if (HasFailure()) return;
  }
}

// One row has a kernel of its own, which passes over B as it lies.
TEST_F(RandomShapes, ProductsOfOneRow) {
  for (int round = 0; round < 40; ++round) {
    const int64_t n = round % 8 ? between(1, 100) : between(4000, 9000), k = round == 1 ? 0 : between(0, 70);
    const auto a = random_floats(k, any()), b = random_floats(k * n, any()), bias = random_floats(n, any()),
               residual = random_floats(n, any());
    Epilogue e;
    if (round % 3 == 1) e.col_bias = bias.data();
    if (round % 3 == 2) e.row_bias = bias.data();
    if (round % 4 > 1) e.residual = residual.data();
    e.activation = round % 5 == 0 ? Activation::clamp : round % 5 == 1 ? Activation::silu : Activation::none;
    e.beta = 0.5f;
    std::vector<float> want(static_cast<size_t>(n));
    gemm_reference(1, n, k, a.data(), b.data(), want.data(), e, 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE(std::to_string(n) + "x" + std::to_string(k) + " " + trace(isa, threads));
        const GemmTable& table = gemm_table(isa);
        std::vector<float> got(want.size(), -7);
        const Gemm g{.m = 1,
                     .n = n,
                     .k = k,
                     .a = {a.data(), k, 1},
                     .b = {b.data(), n, 1},
                     .c = got.data(),
                     .c_row = n,
                     .epilogue = e};
        run_gemm(table, g, threads,
                 aligned(scratch(threads * gemm_workspace_bytes(table, 1, n, k, false, false))));
        expect_close(got, want, 2e-5);
      }
    if (HasFailure()) return;
  }
}

TEST_F(RandomShapes, Convolutions) {
  for (int round = 0; round < 60; ++round) {
    ConvShape s;
    s.kh = between(1, 4);
    s.kw = between(1, 4);
    s.sh = between(1, 3);
    s.sw = between(1, 3);
    s.dh = between(1, 2);
    s.dw = between(1, 2);
    s.pt = between(0, s.kh);
    s.pl = between(0, s.kw);
    s.h = between(1 + (s.kh - 1) * s.dh, 24);
    s.w = between(1 + (s.kw - 1) * s.dw, 40);
    s.oh = (s.h + 2 * s.pt - (s.kh - 1) * s.dh - 1) / s.sh + 1;
    s.ow = (s.w + 2 * s.pl - (s.kw - 1) * s.dw - 1) / s.sw + 1;
    s.n = between(1, 2);
    s.groups = round % 3 ? 1 : between(2, 5);
    const int64_t per_group = round % 6 ? between(1, 5) : 1;
    s.c = s.groups * per_group;
    s.m = round % 6 ? s.groups * between(1, 7) : s.groups;  // every sixth: depthwise
    const auto x = random_floats(s.n * s.c * s.h * s.w, any()), w = random_floats(s.m * s.depth(), any());
    const auto bias = random_floats(s.m, any());
    Epilogue e;
    e.row_bias = bias.data();
    std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
    conv_reference(s, x.data(), w.data(), bias.data(), e, want.data(), 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE("round " + std::to_string(round) + " kernel " + std::to_string(s.kh) + "x" +
                     std::to_string(s.kw) + " stride " + std::to_string(s.sh) + "," + std::to_string(s.sw) +
                     " groups " + std::to_string(s.groups) + " input " + std::to_string(s.c) + "x" +
                     std::to_string(s.h) + "x" + std::to_string(s.w) + " " + trace(isa, threads));
        const Conv conv = make_conv(s, isa);
        std::vector<float> packed(static_cast<size_t>(packed_weight_elements(conv)));
        pack_weights(conv, w.data(), packed.data());
        std::vector<float> got(want.size(), -7);
        run_conv(conv, x.data(), w.data(), packed.data(), e, got.data(), threads,
                 aligned(scratch(conv_workspace_bytes(conv, threads, true))));
        expect_close(got, want, 2e-5);
      }
    if (HasFailure()) return;
  }
}

TEST_F(RandomShapes, DepthwiseImages) {
  for (int round = 0; round < 80; ++round) {
    ConvShape s;
    s.kh = s.kw = round % 2 ? 3 : 5;
    s.sh = s.sw = between(1, 2);
    s.pt = between(0, s.kh);
    s.pl = between(0, s.kw);
    s.h = between(s.kh, 30);
    s.w = between(s.kw, 70);
    // Padding behind the image may differ from that before it, up to windows wholly outside.
    s.oh = (s.h + s.pt + between(0, s.kh) - s.kh) / s.sh + 1;
    s.ow = (s.w + s.pl + between(0, s.kw) - s.kw) / s.sw + 1;
    s.n = between(1, 2);
    s.c = s.groups = between(2, 5);
    s.m = s.c * between(1, 2);
    const auto x = random_floats(s.n * s.c * s.h * s.w, any()), w = random_floats(s.m * s.depth(), any());
    const auto bias = random_floats(s.m, any()), residual = random_floats(s.n * s.m * s.oh * s.ow, any());
    Epilogue e;
    if (round % 3) e.row_bias = bias.data();
    if (round % 5 == 0) e.residual = residual.data();
    e.activation = round % 4 == 0   ? Activation::hard_swish
                   : round % 4 == 1 ? Activation::clamp
                                    : Activation::none;
    e.beta = 0.5f;
    std::vector<float> want(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
    conv_reference(s, x.data(), w.data(), e.row_bias, e, want.data(), 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE("round " + std::to_string(round) + " window " + std::to_string(s.kh) + " stride " +
                     std::to_string(s.sh) + " input " + std::to_string(s.c) + "x" + std::to_string(s.h) +
                     "x" + std::to_string(s.w) + " " + trace(isa, threads));
        const Conv conv = make_conv(s, isa);
        EXPECT_EQ(conv.in_place, conv_table(isa).depthwise_image != nullptr);
        std::vector<float> got(want.size(), -7);
        run_conv(conv, x.data(), w.data(), nullptr, e, got.data(), threads,
                 aligned(scratch(conv_workspace_bytes(conv, threads, false))));
        expect_close(got, want, 2e-5);
      }
    if (HasFailure()) return;
  }
}

TEST_F(RandomShapes, Pools) {
  for (int round = 0; round < 60; ++round) {
    PoolShape s;
    s.kh = between(1, 4);
    s.kw = between(1, 4);
    s.sh = between(1, 3);
    s.sw = between(1, 3);
    s.pt = s.pb = between(0, s.kh - 1);
    s.pl = s.pr = between(0, s.kw - 1);
    s.h = between(s.kh, 20);
    s.w = between(s.kw, 40);
    s.oh = (s.h + 2 * s.pt - s.kh) / s.sh + 1;
    s.ow = (s.w + 2 * s.pl - s.kw) / s.sw + 1;
    s.channels = between(1, 6);
    s.mean = round % 3 != 0;
    s.count_padding = round % 3 == 1;
    const auto x = random_floats(s.channels * s.h * s.w, any());
    std::vector<float> want(static_cast<size_t>(s.channels * s.oh * s.ow));
    pool_reference(s, x.data(), want.data(), 1);
    for (Isa isa : supported_isas())
      for (int threads : {1, 2}) {
        SCOPED_TRACE("round " + std::to_string(round) + " " + trace(isa, threads));
        const Pool pool = make_pool(s, isa);
        std::vector<float> got(want.size(), -7);
        run_pool(pool, x.data(), got.data(), threads, aligned(scratch(pool_workspace_bytes(pool, threads))));
        expect_close(got, want, 1e-6);
      }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace walle::kernels
