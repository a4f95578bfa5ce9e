// The product of matrices that are rounded to bfloat16, in the form that this processor runs and in the
// emulated one, against its definition: operands rounded half to even, sums as exact as float32's.
#include "kernels/gemm_bf16/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "kernels/activation_reference.h"
#include "kernels/gemm_bf16_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"
#include "tensor/half.h"

namespace walle::kernels {
namespace emulated_mmla {
extern const Bf16Table kGemmBf16;  // gemm_bf16_mmla_emulated.cc
}
namespace emulated_amx {
extern const Bf16Table kGemmBf16;  // gemm_bf16_amx_emulated.cc
}
namespace emulated_fp16 {
extern const Bf16Table kGemmBf16;  // gemm_fp16_emulated.cc
}

namespace {

std::vector<Variant<Bf16Table>> forms_here() {
  std::vector<Variant<Bf16Table>> out{{"emulated", {}, &emulated::kGemmBf16},
                                      {"emulated_mmla", {}, &emulated_mmla::kGemmBf16},
                                      {"emulated_amx", {}, &emulated_amx::kGemmBf16}};
  if (const auto* form = bf16_form(base::cpu_features().has)) out.push_back(*form);
  if (const auto* form = bf16_amx_form(base::cpu_features().has)) out.push_back(*form);
  return out;
}

// With those of float16.
std::vector<Variant<Bf16Table>> all_forms_here() {
  std::vector<Variant<Bf16Table>> out = forms_here();
  out.push_back({"emulated_fp16", {}, &emulated_fp16::kGemmBf16});
  if (const auto* form = fp16_form(base::cpu_features().has)) out.push_back(*form);
  return out;
}
bool is_half(const Variant<Bf16Table>& form) { return form.name.ends_with("fp16"); }

double rounded(bool half, float x) {
  return half ? static_cast<float>(tensor::Half(x)) : static_cast<float>(tensor::BFloat16(x));
}

struct Sizes {
  int64_t m, n, k;
};

// An operand at an address that is no multiple of a vector, with its strides.
struct Operand {
  std::vector<float> floats;
  Matrix matrix;
  float at(int64_t row, int64_t col) const {
    return matrix.data[row * matrix.row_stride + col * matrix.col_stride];
  }
};

class Bf16Product {
 public:
  explicit Bf16Product(uint64_t seed) : random_(seed) {}

  // Around the edges of tiles and words, and now and then more than one chain and block of rows.
  Sizes any() { return {size(230), size(70), pick(6) == 0 ? 500 + pick(1200) : size(70)}; }

  void one(const Variant<Bf16Table>& form, const Sizes& s) {
    const Operand a = operand(s.m, s.k), b = operand(s.k, s.n);
    const Bf16Table& t = *form.table;
    const bool packs = pick(2);
    const int threads = 1 + static_cast<int>(pick(3));
    const std::vector<uint32_t> packed = packs ? packed_b(t, b.matrix, s) : std::vector<uint32_t>();
    const int64_t c_row = s.n + pick(3);
    std::vector<float> c(s.m * c_row + 1, 77), residual = floats(s.m * c_row + 1);
    const std::vector<float> bias = floats(std::max(s.m, s.n));
    Bf16Gemm g{.m = s.m, .n = s.n, .k = s.k, .a = a.matrix, .b = b.matrix, .c = c.data(), .c_row = c_row};
    if (packs) g.packed_b = packed.data();
    g.epilogue = epilogue(bias, residual);
    run(t, g, threads);
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < c_row; ++j) {
        const float got = c[i * c_row + j];
        const auto [want, limit] =
            j < s.n ? wanted(is_half(form), g, a, b, i, j) : std::pair<double, double>(77, 0);
        ASSERT_NEAR(got, want, limit)
            << form.name << ' ' << s.m << 'x' << s.k << 'x' << s.n << " at " << i << ',' << j << " packed "
            << packs << " activation " << static_cast<int>(g.epilogue.activation);
      }
  }

  static void run(const Bf16Table& t, const Bf16Gemm& g, int threads) {
    const int64_t bytes = bf16_workspace_bytes(t, g.m, g.n, g.k, g.packed_b != nullptr, threads);
    auto workspace = Buffer::allocate(static_cast<size_t>(bytes) + 64);
    run_bf16_gemm(t, g, threads, workspace->data());
  }

  // By all rows at once, or some.
  std::vector<uint32_t> packed_b(const Bf16Table& t, const Matrix& b, const Sizes& s) {
    std::vector<uint32_t> out(bf16_packed_b_words(t, s.n, s.k) + 1, 0xffffffffu);
    const int64_t middle = pick(s.k / 2 + 1) * 2;
    pack_bf16_b_rows(t, b, 0, middle, s.k, s.n, out.data());
    pack_bf16_b_rows(t, b, middle, s.k, s.k, s.n, out.data());
    EXPECT_EQ(out.back(), 0xffffffffu) << "writes behind its end";
    return out;
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t size(int64_t most) { return pick(4) == 0 ? pick(most) : pick(18); }
  std::vector<float> floats(int64_t n) {
    std::vector<float> out(n);
    for (float& x : out) x = static_cast<float>(pick(20001) - 10000) / 7919;
    return out;
  }

  Operand operand(int64_t rows, int64_t cols) {
    Operand out;
    const bool transposed = pick(3) == 0;
    const int64_t slack = pick(3), ahead = pick(4);
    out.matrix.row_stride = transposed ? 1 : cols + slack;
    out.matrix.col_stride = transposed ? rows + slack : 1;
    out.floats = floats((rows + slack) * (cols + slack) + ahead + 1);
    out.matrix.data = out.floats.data() + ahead;
    return out;
  }

  Epilogue epilogue(const std::vector<float>& bias, const std::vector<float>& residual) {
    Epilogue e;
    const int64_t with = pick(4);
    if (with == 1) e.row_bias = bias.data();
    if (with >= 2) e.col_bias = bias.data();
    if (pick(2)) e.residual = residual.data();
    if (pick(2)) e.activation = static_cast<Activation>(pick(static_cast<int64_t>(Activation::elu) + 1));
    e.alpha = e.activation == Activation::clamp ? -0.5f : 0.25f;
    e.beta = 0.75f;
    return e;
  }

  // What is right, and how far off sums may be.
  static std::pair<double, double> wanted(bool half, const Bf16Gemm& g, const Operand& a, const Operand& b,
                                          int64_t i, int64_t j) {
    double sum = 0, magnitude = 0;
    const auto add = [&](double x) {
      sum += x;
      magnitude += std::abs(x);
    };
    for (int64_t l = 0; l < g.k; ++l) add(rounded(half, a.at(i, l)) * rounded(half, b.at(l, j)));
    const Epilogue& e = g.epilogue;
    if (e.row_bias) add(e.row_bias[i]);
    if (e.col_bias) add(e.col_bias[j]);
    if (e.residual) add(e.residual[i * g.c_row + j]);
    const double want = activation_reference(e.activation, sum, e.alpha, e.beta);
    // Sums of 512 products at most in one chain; no activation is steeper than 1.2, and all are as exact as
    // functions_test.cc says.
    const double rounding = std::ldexp(1.0, -24) * (30 + static_cast<double>(g.k) / 32) * magnitude;
    // Of float16 each of the 128 sums of a chain is rounded to 11 bits, the largest of half the chain's size.
    const double short_chains = half ? 8 * std::ldexp(1.0, -12) * magnitude : 0;
    return {want, 1.2 * (rounding + short_chains) + 2e-6 * (1 + std::abs(want))};
  }

  std::mt19937_64 random_;
};

TEST(Bf16Product, MatchesItsDefinitionInEveryForm) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 300;
  const uint32_t seed = test_seed();
  for (const Variant<Bf16Table>& form : all_forms_here()) {
    Bf16Product product(seed);
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) product.one(form, product.any());
  }
}

TEST(Bf16Product, HasEveryHeightOfTilesAndEachDimensionZero) {
  Bf16Product product(test_seed());
  for (const Variant<Bf16Table>& form : all_forms_here()) {
    for (int64_t m = 0; m <= 2 * form.table->mr; ++m)
      for (const int64_t n : {int64_t{1}, int64_t{form.table->nr} / 2, int64_t{form.table->nr} + 1})
        product.one(form, {m, n, 19});
    for (const Sizes& s :
         {Sizes{0, 5, 7}, {5, 0, 7}, {5, 40, 0}, {1, 300, 0}, {0, 0, 0}, {300, 2, 0}, {1, 1, 1}})
      for (int i = 0; i < 8; ++i) product.one(form, s);
    // Chains to their last word, one word more, and several blocks of the depth.
    for (const int64_t k : {511, 512, 513, 1024, 1025, 9000}) product.one(form, {3, 33, k});
    product.one(form, {460, 40, 1100});
    // One row by several panels at once, by what is left of them, and by a part of the last one.
    for (int64_t n = 1; n <= 9 * form.table->nr; n += form.table->nr / 2 + 1) product.one(form, {1, n, 1100});
  }
}

// Whoever compares or normalises results may rely on it: a softmax over large logits shows the last bit.
TEST(Bf16Product, EqualColumnsGiveEqualResultsWhereverTheyStand) {
  Bf16Product product(test_seed(1));
  for (const Variant<Bf16Table>& form : all_forms_here())
    for (const int64_t n : {7, 70, 333})
      for (const bool packs : {false, true})
        for (const int threads : {1, 2, 3}) {
          const Sizes s{1, n, 1337};
          std::vector<float> a(s.k), b(s.k * n), c(n);
          for (int64_t l = 0; l < s.k; ++l) a[l] = std::sin(static_cast<float>(l));
          for (int64_t l = 0; l < s.k * n; ++l) b[l] = std::cos(static_cast<float>(l / n));
          Bf16Gemm g{.m = 1, .n = n, .k = s.k, .a = {a.data(), s.k, 1}, .b = {b.data(), n, 1}};
          g.c = c.data();
          g.c_row = n;
          const std::vector<uint32_t> packed = product.packed_b(*form.table, g.b, s);
          if (packs) g.packed_b = packed.data();
          Bf16Product::run(*form.table, g, threads);
          for (const float each : c) ASSERT_EQ(each, c[0]) << form.name << ", " << n << " columns";
        }
}

// vdpbf16ps and bfmmla are emulated element by element: what differs is the order of float32's sums at most.
TEST(Bf16Product, EmulationRoundsOperandsAsTheProcessorDoes) {
  const auto* form = bf16_form(base::cpu_features().has);
  if (!form) GTEST_SKIP() << "products of bfloat16 need a machine that has it";
  std::mt19937_64 random(test_seed());
  // One product each, which no order of sums changes: every pattern of bits as A, one as B.
  std::vector<float> a(4096);
  for (float& x : a) x = __builtin_bit_cast(float, static_cast<uint32_t>(random()));
  const float one = 1;
  for (const Variant<Bf16Table>& each : forms_here()) {
    std::vector<float> c(a.size());
    Bf16Product::run(*each.table,
                     {.m = static_cast<int64_t>(a.size()),
                      .n = 1,
                      .k = 1,
                      .a = {a.data(), 1, 1},
                      .b = {&one, 1, 1},
                      .c = c.data(),
                      .c_row = 1},
                     1);
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i])) {
        ASSERT_TRUE(std::isnan(c[i])) << each.name;
        continue;
      }
#if defined(__aarch64__)
      // bfcvtn rounds subnormal numbers, of which the largest are then none, and products take the rest as
      // zero.
      if (std::fpclassify(a[i]) == FP_SUBNORMAL && c[i] != 0) {
        ASSERT_EQ(std::abs(c[i]), std::numeric_limits<float>::min()) << each.name << ' ' << a[i];
        continue;
      }
#endif
      const float want = std::abs(a[i]) < std::numeric_limits<float>::min()
                             ? 0.0f
                             : static_cast<float>(tensor::BFloat16(a[i]));
      ASSERT_EQ(c[i], want) << each.name << ' ' << a[i];
    }
  }
}

TEST(Bf16Product, WhatIsNoNumberStaysInItsRow) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float low_bits = __builtin_bit_cast(float, 0x7f800001u);  // a NaN whose upper half is an infinity's
  const std::pair<float, float> cases[] = {
      {NAN, NAN},
      {low_bits, NAN},
      {-low_bits, NAN},
      {infinity, infinity},
      {-infinity, -infinity},
      {std::numeric_limits<float>::max(), infinity},  // rounds up
      {0x1.fep127f, 0x1.fep127f},                     // the largest bfloat16
      {0x1.feffp127f, 0x1.fep127f},                   // rounds down to it
      {0x1.01p0f, 0x1p0f},                            // ties go to the even one
      {0x1.03p0f, 0x1.04p0f},
      {std::numeric_limits<float>::denorm_min(), 0},
      {-0.0f, 0},
  };
  for (const Variant<Bf16Table>& form : forms_here())
    for (const auto& [given, want] : cases)
      for (const bool transposed : {false, true})
        for (const int64_t k : {1, 2, 33, 514})
          for (const bool in_b : {false, true}) {
            // Element (2, k - 1) of five rows of ones, or of B (k - 1, 2) of five columns; all else is zeros.
            constexpr int64_t kFive = 5;
            std::vector<float> special(kFive * k, 0.0f), ones(kFive * k, 1.0f);
            const bool along = transposed != in_b;  // steps of k lie apart
            special[along ? (k - 1) * kFive + 2 : 2 * k + k - 1] = given;
            const int64_t apart = along ? kFive : 1, other = along ? 1 : k;
            const Matrix of_special =
                in_b ? Matrix{special.data(), apart, other} : Matrix{special.data(), other, apart};
            const Matrix of_ones = in_b ? Matrix{ones.data(), k, 1} : Matrix{ones.data(), kFive, 1};
            std::vector<float> c(kFive * kFive, 77);
            Bf16Product::run(*form.table,
                             {.m = kFive,
                              .n = kFive,
                              .k = k,
                              .a = in_b ? of_ones : of_special,
                              .b = in_b ? of_special : of_ones,
                              .c = c.data(),
                              .c_row = kFive},
                             1);
            for (int64_t i = 0; i < kFive; ++i)
              for (int64_t j = 0; j < kFive; ++j) {
                const float got = c[i * kFive + j];
                const float expected = (in_b ? j : i) == 2 ? want : 0.0f;
                ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected)
                    << form.name << ' ' << given << " gave " << got << " at " << i << ',' << j << " k " << k
                    << " in B " << in_b << " transposed " << transposed;
              }
          }
}

TEST(Float16Product, IsInfiniteWhereItIsTooLargeAndStaysInItsRow) {
  for (const Variant<Bf16Table>& form : all_forms_here()) {
    if (!is_half(form)) continue;
    constexpr int64_t k = 3;
    // Operands, products and sums beyond 65,504; and what is next to it.
    const std::vector<float> a{1e6f, 0, 0, 300, 300, 0, 60000, 30000, 0, NAN, 1, 1, 65504, 0, 0, 1, 2, 3};
    const std::vector<float> b{1, 300, 1};
    const double want[] = {INFINITY, 90000, INFINITY, NAN, 65504, 604};
    std::vector<float> c(6);
    Bf16Product::run(
        *form.table,
        {.m = 6, .n = 1, .k = k, .a = {a.data(), k, 1}, .b = {b.data(), 1, 1}, .c = c.data(), .c_row = 1}, 1);
    for (size_t i = 0; i < c.size(); ++i) {
      if (std::isnan(want[i]))
        EXPECT_TRUE(std::isnan(c[i])) << form.name;
      else if (want[i] > 65504)
        EXPECT_EQ(c[i], INFINITY) << form.name << " row " << i;
      else
        EXPECT_EQ(c[i], want[i]) << form.name << " row " << i;
    }
  }
}

TEST(Float16Product, IsThereWhereTheProcessorHasIt) {
  using base::Capability;
  EXPECT_EQ(fp16_form({}), nullptr);
  EXPECT_EQ(fp16_form({Capability::fp16}), nullptr) << "stands beside a set";
  EXPECT_EQ(fp16_form(base::cpu_features().has) != nullptr, base::cpu_features().has.has(Capability::fp16));
}

TEST(Bf16Product, IsThereWhereTheProcessorHasIt) {
  using base::Capability;
#if defined(__aarch64__)
  constexpr Capability kProducts = Capability::bf16;
  constexpr Isa kSet = Isa::neon;
#else
  constexpr Capability kProducts = Capability::avx512_bf16;
  constexpr Isa kSet = Isa::avx512;
#endif
  EXPECT_EQ(bf16_form({}), nullptr);
  EXPECT_EQ(bf16_form({kProducts}), nullptr) << "stands beside a set";
  EXPECT_EQ(bf16_form(needs_of(kSet)), nullptr);
  const auto* form = bf16_form(base::cpu_features().has);
  EXPECT_EQ(form != nullptr, base::cpu_features().has.has(kProducts));
}

}  // namespace
}  // namespace walle::kernels
