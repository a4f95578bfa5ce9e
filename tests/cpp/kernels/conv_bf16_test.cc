// The convolution in bfloat16, in the form that this processor runs and in the emulated one, against the
// definition: operands rounded half to even, products and sums in float64.
#include "kernels/conv_bf16/conv_bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "kernels/activation_reference.h"
#include "kernels/bf16_numbers.h"
#include "kernels/conv_bf16_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"
#include "tensor/half.h"

namespace walle::kernels {
namespace emulated_mmla {
extern const ConvBf16Table kConvBf16;  // conv_bf16_mmla_emulated.cc
}
namespace emulated_amx {
extern const ConvBf16Table kConvBf16;  // conv_bf16_amx_emulated.cc
}
namespace emulated_fp16 {
extern const ConvBf16Table kConvBf16;  // conv_fp16_emulated.cc
}

namespace {

std::vector<Variant<ConvBf16Table>> forms_here() {
  std::vector<Variant<ConvBf16Table>> out{{"emulated", {}, &emulated::kConvBf16},
                                          {"emulated_mmla", {}, &emulated_mmla::kConvBf16},
                                          {"emulated_amx", {}, &emulated_amx::kConvBf16}};
  if (const auto* form = conv_bf16_form(base::cpu_features().has)) out.push_back(*form);
  if (const auto* form = conv_bf16_amx_form(base::cpu_features().has)) out.push_back(*form);
  return out;
}

// With those of float16.
std::vector<Variant<ConvBf16Table>> all_forms_here() {
  std::vector<Variant<ConvBf16Table>> out = forms_here();
  out.push_back({"emulated_fp16", {}, &emulated_fp16::kConvBf16});
  if (const auto* form = conv_fp16_form(base::cpu_features().has)) out.push_back(*form);
  return out;
}
bool is_half(const Variant<ConvBf16Table>& form) { return form.name.ends_with("fp16"); }

float rounded_by(bool half, float x) { return half ? static_cast<float>(tensor::Half(x)) : rounded(x); }

// What one convolution is made of, and its result in blocks.
struct Case {
  ConvShape shape;
  bool rows = false, joined = false;
  bool from_kept = false, to_kept = false;  // images are bfloat16
  int threads = 1;
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
  std::vector<float> x, w, bias, residual;  // residual in blocks

  int64_t at(int64_t n, int64_t m, int64_t p) const {
    const ConvShape& s = shape;
    return ((n * blocks_of(s.m) + m / kBlock) * s.oh * s.ow + p) * kBlock + m % kBlock;
  }
  int64_t results() const { return shape.n * blocks_of(shape.m) * kBlock * shape.oh * shape.ow; }

  // Lanes without a channel hold what must reach no other.
  std::vector<float> image() const {
    if (rows) return x;
    const ConvShape& s = shape;
    std::vector<float> out(s.n * blocks_of(s.c) * kBlock * s.h * s.w,
                           std::numeric_limits<float>::quiet_NaN());
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t p = 0; p < s.h * s.w; ++p)
          out[((n * blocks_of(s.c) + c / kBlock) * s.h * s.w + p) * kBlock + c % kBlock] =
              x[(n * s.c + c) * s.h * s.w + p];
    return out;
  }

  std::vector<float> run(const ConvBf16Table& table) const {
    const ConvBf16 conv = make_conv_bf16(shape, table,
                                         rows        ? ConvBf16Image::rows
                                         : from_kept ? ConvBf16Image::bf16_blocks
                                                     : ConvBf16Image::blocks);
    auto packed = Buffer::allocate(static_cast<size_t>(conv_bf16_packed_words(conv) * 4 + 64));
    auto* const words = reinterpret_cast<uint32_t*>(packed->data());
    pack_conv_bf16(conv, w.data(), bias.empty() ? nullptr : bias.data(), words);
    auto workspace = Buffer::allocate(static_cast<size_t>(conv_bf16_workspace_bytes(conv, threads) + 64));
    // What a workspace held before is nobody's.
    std::fill_n(reinterpret_cast<uint32_t*>(workspace->data()), conv_bf16_workspace_bytes(conv, threads) / 4,
                0xffffffffu);
    // Neither end lies where vectors would like it; words of two elements lie on words.
    std::vector<float> from(2), y(results() + 17, 77);
    const std::vector<float> given = image();
    from.insert(from.end(), given.begin(), given.end());
    const std::vector<uint16_t> from16 = bf16_of(from), other16 = bf16_of(residual);
    std::vector<uint16_t> y16 = bf16_of(y);
    ConvBf16Run run{.packed = words, .tail = {.activation = activation, .alpha = alpha, .beta = beta}};
    from_kept ? void(run.x16 = from16.data() + 2) : void(run.x = from.data() + 2);
    to_kept ? void(run.y16 = y16.data() + 1) : void(run.y = y.data() + 1);
    if (joined) to_kept ? void(run.residual16 = other16.data()) : void(run.tail.residual = residual.data());
    run_conv_bf16(conv, run, threads, workspace->data());
    if (to_kept) y = floats_of(y16);
    EXPECT_EQ(y[0], 77);
    for (int64_t i = results() + 1; i < results() + 17; ++i) EXPECT_EQ(y[i], 77);
    return {y.begin() + 1, y.begin() + 1 + results()};
  }

  // The sum, and the sum of magnitudes that its rounding grows with.
  std::pair<double, double> sum_of(int64_t n, int64_t m, int64_t p, bool half = false) const {
    const ConvShape& s = shape;
    const int64_t inputs = s.c / s.groups, first = m / (s.m / s.groups) * inputs;
    double sum = bias.empty() ? 0 : bias[m], size = std::abs(sum);
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t i = 0; i < s.kh; ++i)
        for (int64_t j = 0; j < s.kw; ++j) {
          const int64_t row = p / s.ow * s.sh - s.pt + i * s.dh, col = p % s.ow * s.sw - s.pl + j * s.dw;
          if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
          const double product =
              static_cast<double>(rounded_by(half, x[((n * s.c + first + c) * s.h + row) * s.w + col])) *
              rounded_by(half, w[((m * inputs + c) * s.kh + i) * s.kw + j]);
          sum += product;
          size += std::abs(product);
        }
    if (joined) sum += residual[at(n, m, p)], size += std::abs(residual[at(n, m, p)]);
    return {sum, size};
  }

  std::string text() const {
    const ConvShape& s = shape;
    std::string out;
    for (const int64_t v :
         {s.n, s.c, s.h, s.w, s.m, s.kh, s.kw, s.sh, s.sw, s.dh, s.dw, s.pt, s.pl, s.groups, s.oh, s.ow})
      out += std::to_string(v) + ' ';
    return out +
           (rows        ? "rows"
            : from_kept ? "bfloat16"
                        : "blocks") +
           (to_kept ? " to bfloat16" : "") + (joined ? " joined" : "") + " activation " +
           std::to_string(static_cast<int>(activation)) + " threads " + std::to_string(threads);
  }
};

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}

  Case next() {
    Case c;
    ConvShape& s = c.shape = shape();
    c.rows = pick(3) == 0 && s.groups == 1;
    c.from_kept = !c.rows && pick(2);
    c.joined = pick(3) == 0;
    c.threads = 1 + static_cast<int>(pick(2));
    c.x = numbers(s.n * s.c * s.h * s.w);
    c.w = numbers(s.m * s.depth());
    if (pick(2)) c.bias = numbers(s.m);
    c.residual = numbers(c.results());
    if (pick(2)) c.activation = static_cast<Activation>(pick(static_cast<int64_t>(Activation::elu) + 1));
    c.alpha = c.activation == Activation::clamp ? -0.25f : 0.3f;
    c.beta = 0.6f;
    return c;
  }

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

 private:
  ConvShape shape() {
    ConvShape s;
    s.n = 1 + pick(2);
    s.h = 1 + pick(9);
    s.w = 1 + pick(pick(3) ? 9 : 40);
    s.kh = 1 + pick(3);
    s.kw = 1 + pick(pick(3) ? 3 : 7);
    s.sh = 1 + pick(3);
    s.sw = 1 + pick(3);
    s.dh = 1 + pick(2);
    s.dw = 1 + pick(2);
    s.pt = pick(pick(4) ? 3 : 14);
    s.pl = pick(pick(4) ? 3 : 50);
    if (pick(3) == 0) s.kh = s.kw = 1, s.pt = s.pl = 0;
    if (s.taps() == 1 && pick(2)) s.sh = s.sw = 1;
    s.c = 1 + pick(pick(4) ? 40 : 600);
    s.m = 1 + pick(70);
    if (pick(5) == 0) {
      s.groups = 2 + pick(3);
      s.c = s.groups * kBlock * (1 + pick(2));
      s.m = s.groups * kBlock * (1 + pick(3));
    }
    // Padding behind now and then.
    const bool flat = s.taps() == 1 && s.sh == 1 && s.sw == 1 && s.pt + s.pl == 0 && pick(4);
    const auto outputs = [&](int64_t n, int64_t pad, int64_t k, int64_t d, int64_t step) {
      return std::max<int64_t>(1, (n + pad + (flat ? 0 : pick(3)) - (k - 1) * d - 1) / step + 1);
    };
    s.oh = outputs(s.h, s.pt, s.kh, s.dh, s.sh);
    s.ow = outputs(s.w, s.pl, s.kw, s.dw, s.sw);
    return s;
  }

  // Some are ties between two bfloat16.
  std::vector<float> numbers(int64_t n) {
    std::vector<float> out(n);
    for (float& v : out) {
      v = static_cast<float>(static_cast<int32_t>(random_())) / 2147483648.0f;
      if (pick(4) == 0) v = std::bit_cast<float>((std::bit_cast<uint32_t>(v) & 0xffff0000u) | 0x8000u);
    }
    return out;
  }

  std::mt19937_64 random_;
};

// Results of forms of one type against its sums.
void expect_sums(const Case& c, const std::vector<Variant<ConvBf16Table>>& forms,
                 const std::vector<std::vector<float>>& results, bool half) {
  const ConvShape& s = c.shape;
  if (std::none_of(forms.begin(), forms.end(), [&](const auto& form) { return is_half(form) == half; }))
    return;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t p = 0; p < s.oh * s.ow; ++p) {
        const auto [sum, size] = c.sum_of(n, m, p, half);
        const double want = activation_reference(c.activation, sum, c.alpha, c.beta);
        // Half a unit in the last place for every step of a chain and of the chains, and one of a function.
        // Of float16 each of the 128 sums of a chain is rounded to 11 bits.
        const double limit = (half ? 2e-3 : 4e-6) * (size + std::abs(want));
        for (size_t f = 0; f < forms.size(); ++f)
          if (is_half(forms[f]) == half)
            ASSERT_NEAR(results[f][c.at(n, m, p)], want, limit)
                << forms[f].name << " image " << n << " channel " << m << " pixel " << p << " of "
                << c.text();
      }
}

// What is right is summed once for all forms: it takes longer than any of them.
TEST(ConvBf16, IsTheSumOfRoundedProducts) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 300;
  Cases cases(test_seed());
  const auto forms = all_forms_here();
  for (int i = 0; i < count; ++i) {
    const Case c = cases.next();
    ASSERT_TRUE(conv_bf16_fits(c.shape)) << c.text();
    std::vector<std::vector<float>> results;
    for (const Variant<ConvBf16Table>& form : forms) {
      Case own = c;
      own.from_kept = c.from_kept && !is_half(form);  // images are bfloat16, or float32
      results.push_back(own.run(*form.table));
    }
    for (const bool half : {false, true}) expect_sums(c, forms, results, half);
    if (::testing::Test::HasFailure()) return;
  }
}

// What is kept as bfloat16 is what float32 would be, rounded once: sums, what is added, bounds and functions.
TEST(ConvBf16, KeepsItsResultsRounded) {
  for (const Variant<ConvBf16Table>& form : forms_here()) {
    Cases cases(test_seed() + 1);
    for (int i = 0; i < 200 && !::testing::Test::HasFailure(); ++i) {
      Case c = cases.next();
      for (float& v : c.residual) v = rounded(v);
      const std::vector<float> wide = c.run(*form.table);
      c.to_kept = true;
      const std::vector<float> kept = c.run(*form.table);
      for (int64_t n = 0; n < c.shape.n; ++n)
        for (int64_t m = 0; m < c.shape.m; ++m)
          for (int64_t p = 0; p < c.shape.oh * c.shape.ow; ++p)
            ASSERT_EQ(kept[c.at(n, m, p)], rounded(wide[c.at(n, m, p)]))
                << form.name << " image " << n << " channel " << m << " pixel " << p << " of " << c.text();
    }
  }
}

// The instruction is what its emulation says, bit for bit: vdpbf16ps, or bfmmla.
TEST(ConvBf16, FormsAgree) {
  const auto* form = conv_bf16_form(base::cpu_features().has);
  if (!form) GTEST_SKIP() << "products of bfloat16 need a machine that has it";
#if defined(__aarch64__)
  const ConvBf16Table& emulation = emulated_mmla::kConvBf16;
  constexpr int64_t kScales = 1;  // what is rounded to the least normal number is zero to some
#else
  const ConvBf16Table& emulation = emulated::kConvBf16;
  constexpr int64_t kScales = 4;
#endif
  Cases cases(test_seed());
  for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
    Case c = cases.next();
    if (c.activation > Activation::clamp) c.activation = Activation::none;
    c.to_kept = cases.pick(2);
    const int64_t scale = kScales - cases.pick(kScales);  // products and sums that are denormal, or none
    for (float& v : c.x) v = std::ldexp(v, scale == 4 ? -70 : scale == 3 ? -126 : 0);
    for (float& v : c.w) v = std::ldexp(v, scale == 4 ? -60 : 0);
    const std::vector<float> got = c.run(*form->table), want = c.run(emulation);
    for (int64_t n = 0; n < c.shape.n; ++n)
      for (int64_t m = 0; m < c.shape.m; ++m)
        for (int64_t p = 0; p < c.shape.oh * c.shape.ow; ++p)
          ASSERT_EQ(std::bit_cast<uint32_t>(got[c.at(n, m, p)]), std::bit_cast<uint32_t>(want[c.at(n, m, p)]))
              << "image " << n << " channel " << m << " pixel " << p << " of " << c.text();
  }
}

// A channel of one pixel that is no number is seen by the windows that meet it, and by no other.
TEST(ConvBf16, KeepsWhatIsNoNumberInItsPixels) {
  for (const Variant<ConvBf16Table>& form : forms_here())
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()})
      for (const int from : {0, 1, 2})
        for (const int64_t groups : {1, 2}) {
          const bool rows = from == 1;
          if (rows && groups > 1) continue;
          Case c;
          ConvShape& s = c.shape;
          s.h = s.w = s.oh = s.ow = 9;
          s.kh = s.kw = 3;
          s.pt = s.pl = 1;
          s.groups = groups;
          s.c = 32;
          s.m = 48 + 16 * (groups == 2);
          c.rows = rows;
          c.from_kept = c.to_kept = from == 2;
          c.x.assign(s.c * 81, 0.5f);
          c.w.assign(s.m * s.depth(), 0.25f);
          c.residual.assign(c.results(), 0);
          c.x[3 * 81 + 4 * 9 + 5] = odd;  // channel 3, row 4, column 5
          const std::vector<float> y = c.run(*form.table);
          for (int64_t m = 0; m < s.m; ++m)
            for (int64_t p = 0; p < 81; ++p) {
              const bool met =
                  std::abs(p / 9 - 4) <= 1 && std::abs(p % 9 - 5) <= 1 && (groups == 1 || m < s.m / groups);
              const float got = y[c.at(0, m, p)];
              ASSERT_EQ(std::isfinite(got), !met) << form.name << " " << m << " " << p;
              if (met && odd == odd) {
                ASSERT_EQ(got, odd);
              }
            }
        }
}

TEST(ConvBf16, RoundsToInfinityWhatIsTooLarge) {
  for (const Variant<ConvBf16Table>& form : forms_here()) {
    Case c;
    c.shape.c = c.shape.m = 16;
    c.shape.h = c.shape.w = c.shape.oh = c.shape.ow = 1;
    c.shape.kh = c.shape.kw = 1;
    c.x.assign(16, 0.0f);
    c.x[0] = std::numeric_limits<float>::max();
    c.w.assign(256, 1.0f);
    for (const float y : c.run(*form.table)) EXPECT_EQ(y, std::numeric_limits<float>::infinity());
  }
}

// Images and results without elements; an image without pixels whose outputs are all padding.
TEST(ConvBf16, TakesEmptyImages) {
  for (const Variant<ConvBf16Table>& form : all_forms_here())
    for (const int from : {0, 1, 2}) {
      if (from == 2 && is_half(form)) continue;
      Case c;
      ConvShape& s = c.shape;
      c.rows = from == 1;
      c.from_kept = c.to_kept = from == 2;
      s.c = 20, s.m = 5;
      s.kh = s.kw = 3;
      c.w.assign(s.m * s.depth(), 1.0f);
      c.bias = {1, 2, 3, 4, 5};
      s.n = 0, s.h = s.w = 4, s.oh = s.ow = 2;
      EXPECT_TRUE(c.run(*form.table).empty());
      s.n = 1, s.h = 0, s.oh = 0;
      EXPECT_TRUE(c.run(*form.table).empty());
      s.h = 4, s.w = 0, s.oh = 2, s.ow = 0;
      EXPECT_TRUE(c.run(*form.table).empty());
      for (const int64_t side : {0, 1}) {
        s.h = side ? 0 : 2, s.w = side ? 2 : 0;
        s.pt = s.pl = 2;
        s.oh = s.ow = 3;
        const std::vector<float> y = c.run(*form.table);
        for (int64_t m = 0; m < s.m; ++m)
          for (int64_t p = 0; p < 9; ++p) EXPECT_EQ(y[c.at(0, m, p)], static_cast<float>(m + 1));
      }
    }
  ConvShape none;
  none.m = 16;
  none.c = 0;
  EXPECT_FALSE(conv_bf16_fits(none));
  none.c = 16;
  none.kh = 0;
  EXPECT_FALSE(conv_bf16_fits(none));
  none.kh = 1;
  none.m = 0;
  EXPECT_FALSE(conv_bf16_fits(none));
}

// Rows are copied with their padding, and a group fills whole vectors.
TEST(ConvBf16, LeavesToOthersWhatItWouldDoBadly) {
  ConvShape s;
  s.c = s.m = 32;
  s.h = s.w = 8;
  s.kh = s.kw = 3;
  EXPECT_TRUE(conv_bf16_fits(s));
  s.groups = 2;
  EXPECT_TRUE(conv_bf16_fits(s));
  s.groups = 32;
  EXPECT_FALSE(conv_bf16_fits(s));
  s.groups = 1;
  s.dw = 1 << 20;
  s.pl = 1 << 20;
  EXPECT_FALSE(conv_bf16_fits(s));
}

TEST(ConvBf16, HasNoFormWhereTheInstructionIsMissing) {
  EXPECT_EQ(conv_bf16_form(needs_of(Isa::avx512)), nullptr);
  EXPECT_EQ(conv_bf16_form(base::Capabilities{}), nullptr);
}

}  // namespace
}  // namespace walle::kernels
