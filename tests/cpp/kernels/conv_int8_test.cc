// The convolution of codes, in every form that this processor runs and in the emulated one, against the
// definition: sums of integers, one product in float32, rounded half to even.
#include "kernels/conv_int8/conv_int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "base/cpu_features.h"
#include "kernels/conv_int8_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
// conv_int8_sdot_emulated.cc, conv_int8_mmla_emulated.cc and conv_int8_amx_emulated.cc
namespace emulated_sdot {
extern const ConvInt8Table kConvInt8;
}
namespace emulated_mmla {
extern const ConvInt8Table kConvInt8;
}
namespace emulated_amx {
extern const ConvInt8Table kConvInt8;
}

namespace {

std::vector<Variant<ConvInt8Table>> forms_here() {
  std::vector<Variant<ConvInt8Table>> out;
  for (const Variant<ConvInt8Table>& form : conv_int8_forms())
    if (base::cpu_features().has.has(form.needs)) out.push_back(form);
  if (const auto* tiles = conv_int8_amx_form(base::cpu_features().has)) out.push_back(*tiles);
  out.push_back({"emulated", {}, &emulated::kConvInt8});
  out.push_back({"emulated_amx", {}, &emulated_amx::kConvInt8});
  out.push_back({"emulated_sdot", {}, &emulated_sdot::kConvInt8});
  out.push_back({"emulated_mmla", {}, &emulated_mmla::kConvInt8});
  return out;
}

float rounded_between(float x, float low, float high) {
  return std::nearbyint(std::fmin(std::fmax(x, low), high));
}

// What one convolution is made of, what it should give, and its results in blocks.
struct Case {
  ConvShape shape;
  bool x_signed = false, w_signed = false, y_signed = false, rows = false, joined = false, as_sums = false;
  int threads = 1;
  int32_t x_zero = 0;
  CodesEnd end;
  std::vector<uint8_t> x, image, w, residual;  // image: x as the kernels get it; residual in blocks
  std::vector<int32_t> zeros, bias;
  std::vector<float> factors;
  std::vector<int64_t> sums;  // where at() says

  int64_t at(int64_t n, int64_t m, int64_t p) const {
    const ConvShape& s = shape;
    return ((n * blocks_of(s.m) + m / kBlock) * s.oh * s.ow + p) * kBlock + m % kBlock;
  }
  int64_t results() const { return shape.n * blocks_of(shape.m) * kBlock * shape.oh * shape.ow; }

  int64_t sum_of(int64_t n, int64_t m, int64_t p) const {
    const ConvShape& s = shape;
    const auto value = [](uint8_t byte, bool is_signed) -> int64_t {
      return is_signed ? static_cast<int8_t>(byte) : byte;
    };
    const int64_t inputs = s.c / s.groups, first = m / (s.m / s.groups) * inputs;
    const int64_t w_zero = zeros[zeros.size() == 1 ? 0 : m];
    int64_t sum = bias.empty() ? 0 : bias[m];
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t i = 0; i < s.kh; ++i)
        for (int64_t j = 0; j < s.kw; ++j) {
          const int64_t row = p / s.ow * s.sh - s.pt + i * s.dh, col = p % s.ow * s.sw - s.pl + j * s.dw;
          if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
          sum += (value(x[((n * s.c + first + c) * s.h + row) * s.w + col], x_signed) - x_zero) *
                 (value(w[((m * inputs + c) * s.kh + i) * s.kw + j], w_signed) - w_zero);
        }
    return sum;
  }

  uint8_t code_of(int64_t sum, int64_t m, int64_t at) const {
    float code = rounded_between(static_cast<float>(sum) * factors[m], end.low, end.high);
    if (!joined) return static_cast<uint8_t>(static_cast<int32_t>(code + static_cast<float>(end.zero)));
    const float r = end.residual_signed ? static_cast<int8_t>(residual[at]) : residual[at];
    const volatile float own = code * end.own, other = (r - end.residual_zero) * end.other;
    code = rounded_between(own + other, end.joint_low, end.joint_high) + static_cast<float>(end.joint_zero);
    return static_cast<uint8_t>(static_cast<int32_t>(code));
  }

  void expect(const Variant<ConvInt8Table>& form) const {
    const ConvInt8 conv = make_conv_int8(shape, *form.table, x_signed, rows);
    auto packed = Buffer::allocate(static_cast<size_t>(conv_int8_packed_words(conv) * 4 + 64));
    auto* const words = reinterpret_cast<uint32_t*>(packed->data());
    pack_conv_int8(conv, {w.data(), w_signed, zeros}, bias, as_sums ? std::span<const float>() : factors,
                   words);
    auto workspace = Buffer::allocate(static_cast<size_t>(conv_int8_workspace_bytes(conv, threads) + 64));
    std::vector<uint8_t> y(results() + 16, 77);
    std::vector<int32_t> got_sums(results() + 16, 77);
    CodesEnd with = end;
    if (joined) with.residual = residual.data();
    run_conv_int8(conv,
                  {.x = image.data(),
                   .x_zero = x_zero,
                   .packed = words,
                   .end = with,
                   .y = as_sums ? nullptr : y.data(),
                   .sums = as_sums ? got_sums.data() : nullptr},
                  threads, workspace->data());
    for (int64_t n = 0; n < shape.n; ++n)
      for (int64_t m = 0; m < shape.m; ++m)
        for (int64_t p = 0; p < shape.oh * shape.ow; ++p) {
          const int64_t i = at(n, m, p);
          const int64_t got = as_sums ? got_sums[i] : y[i], want = as_sums ? sums[i] : code_of(sums[i], m, i);
          ASSERT_EQ(got, want) << form.name << " image " << n << " channel " << m << " pixel " << p << " of "
                               << text();
        }
    EXPECT_EQ(y[results()], 77) << form.name << ' ' << text();
    EXPECT_EQ(got_sums[results()], 77) << form.name << ' ' << text();
  }

  std::string text() const {
    const ConvShape& s = shape;
    std::string out;
    for (const int64_t v :
         {s.n, s.c, s.h, s.w, s.m, s.kh, s.kw, s.sh, s.sw, s.dh, s.dw, s.pt, s.pl, s.groups, s.oh, s.ow})
      out += std::to_string(v) + ' ';
    return out + (rows ? "rows" : "blocks") + (x_signed ? " signed" : "") + (joined ? " joined" : "") +
           (as_sums ? " as sums" : "");
  }
};

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}

  // `any`: also what pairs alone hold, weights of nine bits and taps that do not lie side by side.
  Case next(bool any) {
    Case c;
    ConvShape& s = c.shape = shape();
    if (!any && s.depthwise() && s.kw > 1) s.dw = 1;
    fit(s);
    c.x_signed = pick(2), c.w_signed = pick(2), c.y_signed = pick(2);
    c.rows = pick(2), c.joined = pick(3) == 0, c.as_sums = pick(4) == 0;
    c.threads = 1 + static_cast<int>(pick(2));
    c.x_zero = static_cast<int32_t>((c.x_signed ? -128 : 0) + pick(256));
    c.x = codes(s.n * s.c * s.h * s.w);
    c.w = codes(s.m * s.depth());
    c.zeros.assign(pick(2) ? s.m : 1, c.w_signed ? 0 : 128);
    if (any)
      for (int32_t& z : c.zeros) z = static_cast<int32_t>((c.w_signed ? -128 : 0) + pick(256));
    c.bias.resize(pick(2) ? s.m : 0);
    for (int32_t& b : c.bias) b = static_cast<int32_t>(pick(20001)) - 10000;
    c.factors.resize(s.m);
    for (float& f : c.factors) f = std::exp2(static_cast<float>(pick(100)) / -8.0f);
    c.residual = codes(c.results());
    c.image = c.rows ? c.x : blocked(s, c.x);
    c.end = end(c.y_signed, c.joined);
    c.sums.resize(c.results());
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t m = 0; m < s.m; ++m)
        for (int64_t p = 0; p < s.oh * s.ow; ++p) c.sums[c.at(n, m, p)] = c.sum_of(n, m, p);
    return c;
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  ConvShape shape() {
    ConvShape s;
    s.n = 1 + pick(2);
    s.h = 1 + pick(9);
    s.w = 1 + pick(pick(3) ? 9 : 40);
    s.kh = 1 + pick(3);
    s.kw = 1 + pick(pick(3) ? 3 : 7);
    s.sh = 1 + pick(2);
    s.sw = 1 + pick(3);
    s.dh = 1 + pick(2);
    s.dw = 1 + pick(2);
    s.pt = pick(3);
    s.pl = pick(3);
    if (pick(3) == 0) s.kh = s.kw = s.sh = s.sw = 1, s.pt = s.pl = 0;
    if (pick(4) == 0) s.kh = s.kw = 3, s.sh = s.sw = s.dh = s.dw = 1;  // by tiles of 2 x 2 outputs
    s.c = 1 + pick(40);
    s.m = 1 + pick(70);
    const int64_t kind = pick(6);
    if (kind < 2) s.groups = s.c = s.m = 2 + pick(40);
    if (kind == 2) s.groups = 2, s.c = 32 * (1 + pick(4)), s.m = 64;
    if (kind == 3) s.c = 49 + pick(90), s.m = 1 + pick(40);  // four blocks of channels together, or not
    return s;
  }

  // Output sizes, with padding behind now and then.
  void fit(ConvShape& s) {
    s.oh = std::max<int64_t>(1, (s.h + s.pt + pick(3) - (s.kh - 1) * s.dh - 1) / s.sh + 1);
    s.ow = std::max<int64_t>(1, (s.w + s.pl + pick(3) - (s.kw - 1) * s.dw - 1) / s.sw + 1);
  }

  CodesEnd end(bool y_signed, bool joined) {
    CodesEnd out{.zero = static_cast<int32_t>((y_signed ? -128 : 0) + pick(256))};
    out.low = static_cast<float>((y_signed ? -128 : 0) - out.zero);
    out.high = out.low + 255;
    if (!joined) return out;
    out.residual_signed = pick(2);
    out.residual_zero = static_cast<float>(pick(256));
    out.own = 0.731f;
    out.other = 0.377f;
    out.joint_zero = static_cast<int32_t>(pick(100));
    out.joint_low = static_cast<float>(-out.joint_zero);
    out.joint_high = out.joint_low + 255;
    return out;
  }

  std::vector<uint8_t> codes(int64_t n) {
    std::vector<uint8_t> out(n + 64);
    const int64_t kind = pick(3);  // extremes often: what saturates does so there
    for (uint8_t& byte : out)
      byte = static_cast<uint8_t>(kind == 0   ? (pick(2) ? 0xff : 0x00)
                                  : kind == 1 ? 0x7f + pick(2)
                                              : pick(256));
    return out;
  }

  // Lanes without a channel hold anything.
  std::vector<uint8_t> blocked(const ConvShape& s, const std::vector<uint8_t>& x) {
    std::vector<uint8_t> out = codes(s.n * blocks_of(s.c) * kBlock * s.h * s.w);
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t p = 0; p < s.h * s.w; ++p)
          out[((n * blocks_of(s.c) + c / kBlock) * s.h * s.w + p) * kBlock + c % kBlock] =
              x[(n * s.c + c) * s.h * s.w + p];
    return out;
  }

  std::mt19937_64 random_;
};

// What is right is summed once for all forms: it takes longer than any of them.
TEST(ConvInt8, IsExactInEveryForm) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 300;
  Cases cases(test_seed());
  for (int i = 0; i < count; ++i)
    for (const bool any : {false, true}) {
      const Case c = cases.next(any);
      for (const Variant<ConvInt8Table>& form : forms_here()) {
        if (any && form.table->step == 4) continue;
        c.expect(form);
        if (::testing::Test::HasFailure()) return;
      }
    }
}

TEST(ConvInt8, FormsAreInOrder) { EXPECT_TRUE(in_order<ConvInt8Table>(conv_int8_forms())); }

// Weights of nine bits, and taps that do not lie side by side, are no quads.
TEST(ConvInt8, TakesPairsWhereQuadsHoldTooLittle) {
  const auto all = base::cpu_features().has;
  ConvShape s;
  s.c = s.m = s.groups = 32;
  s.kh = s.kw = 3;
  EXPECT_EQ(conv_int8_form(all, s, true).table->step, 2);
  s.dw = 2;
  EXPECT_EQ(conv_int8_form(all, s, false).table->step, 2);
  const uint8_t codes[] = {0, 255};
  const int32_t zero[] = {0};
  EXPECT_FALSE(fits_eight_bits({codes, false, zero}, 1, 2));
  EXPECT_TRUE(fits_eight_bits({codes, true, zero}, 1, 2));
}

// Rows are copied with their padding.
TEST(ConvInt8, LeavesWindowsFarBeyondTheImageToOthers) {
  ConvShape s;
  s.c = s.m = 16;
  s.h = s.w = 8;
  s.kh = s.kw = 3;
  EXPECT_TRUE(conv_int8_fits(s));
  s.dw = 1 << 20;
  s.pl = 1 << 20;
  EXPECT_FALSE(conv_int8_fits(s));
}

}  // namespace
}  // namespace walle::kernels
