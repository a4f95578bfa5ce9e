// The product with packed weights, in every form that this processor runs and in the emulated one, against
// the definition: weights are (code - zero point) * scale.
#include "kernels/gemm_nbits/nbits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "kernels/nbits_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace emulated_sdot {
extern const NBitsDotTable kGemmNBitsDot;  // nbits_sdot_emulated.cc
}

namespace {

struct Form {
  std::string name;
  NBitsKernels kernels;
};

// The set whose panels are as wide as a product of codes takes them.
Isa isa_of(const Variant<NBitsDotTable>& form) {
  Isa best = Isa::scalar;
  for (const Isa isa : supported_isas())
    if (form.needs.has(needs_of(isa))) best = isa;
  return best;
}

std::vector<Form> forms_here() {
  std::vector<Form> out;
  const auto add = [&](std::string_view name, Isa isa, const NBitsDotTable* dot) {
    for (const bool int8 : {false, true})
      out.push_back({std::string(name) + (int8 ? " int8" : " floats"),
                     {&nbits_table(isa), &gemm_table(isa), dot, int8}});
  };
  for (const Variant<NBitsDotTable>& form : nbits_dot_forms())
    // A build of two sets has no weights as wide as its widest products take them.
    if (base::cpu_features().has.has(form.needs) && form.table->nr == nbits_table(isa_of(form)).nr)
      add(form.name, isa_of(form), form.table);
  add("emulated", Isa::scalar, &emulated::kGemmNBitsDot);
  add("emulated_sdot", Isa::scalar, &emulated_sdot::kGemmNBitsDot);
  return out;
}

// Weights as a model has them, and as they are.
struct Weights {
  int bits = 4;
  int64_t n = 0, k = 0, block = 0;
  NBitsZeros zeros = NBitsZeros::none;
  std::vector<uint8_t> codes, zero_codes;
  std::vector<float> scales, zero_floats;

  int64_t blocks() const { return base::ceil_div(k, block); }
  int code(const std::vector<uint8_t>& from, int64_t row, int64_t row_bytes, int64_t i) const {
    return from[row * row_bytes + i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
  }
  float zero(int64_t j, int64_t b) const {
    if (zeros == NBitsZeros::floats) return zero_floats[j * blocks() + b];
    if (zeros == NBitsZeros::none) return static_cast<float>(1 << (bits - 1));
    return static_cast<float>(code(zero_codes, j, base::ceil_div(blocks() * bits, int64_t{8}), b));
  }
  float at(int64_t l, int64_t j) const {
    const int64_t b = l / block;
    const int q = code(codes, j * blocks() + b, block * bits / 8, l % block);
    return (static_cast<float>(q) - zero(j, b)) * scales[j * blocks() + b];
  }
  NBitsSource source() const {
    return {.codes = codes.data(),
            .scales = scales.data(),
            .zero_codes = zero_codes.data(),
            .zeros = zero_floats.data()};
  }
};

class NBitsCase {
 public:
  explicit NBitsCase(uint64_t seed) : random_(seed) {}

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  float real() { return std::uniform_real_distribution<float>(-1, 1)(random_); }

  // Whole numbers: every sum is exact, in whatever order.
  Weights weights(bool whole, bool int8 = false) {
    constexpr int64_t kBlocks[] = {16, 32, 64, 128, 256, 8, 24, 40, 300, 700};
    Weights w;
    w.bits = int8 ? 4 << pick(2) : 2 << pick(3);
    w.block = kBlocks[pick(10)];
    w.n = 1 + pick(pick(4) ? 40 : 90);
    w.k = 1 + pick(pick(3) ? 70 : 900);
    w.zeros = static_cast<NBitsZeros>(pick(3));
    w.codes.resize(w.n * w.blocks() * w.block * w.bits / 8);
    for (uint8_t& byte : w.codes) byte = static_cast<uint8_t>(pick(4) ? pick(256) : 0xff * pick(2));
    w.zero_codes.resize(w.n * base::ceil_div(w.blocks() * w.bits, int64_t{8}));
    for (uint8_t& byte : w.zero_codes) byte = static_cast<uint8_t>(pick(256));
    w.scales.resize(w.n * w.blocks());
    for (float& scale : w.scales) scale = whole ? static_cast<float>(1 << pick(2)) : real() * 0.1f;
    w.zero_floats.resize(w.n * w.blocks());
    for (float& zero : w.zero_floats)
      zero = whole ? static_cast<float>(pick(1 << w.bits)) : (real() + 1) * static_cast<float>(1 << w.bits);
    return w;
  }

  // A; of whole numbers with a largest magnitude of 127 in each piece, whose scale as int8 is then 1.
  std::vector<float> rows(const Weights& w, const NBitsWeights& packed, int64_t m, bool whole) {
    std::vector<float> a(m * w.k + 1);
    for (float& x : a) x = whole ? static_cast<float>(pick(7) - 3) : real();
    for (int64_t i = 0; whole && i < m; ++i)
      for (int64_t q = 0; q < packed.pieces(); ++q)
        if (packed.first_step(q) < packed.last_step(q))
          a[i * w.k + packed.first_step(q) + pick(packed.last_step(q) - packed.first_step(q))] =
              pick(2) ? 127 : -127;
    return a;
  }

  std::mt19937_64 random_;
};

Buffer packed_of(const Weights& w, const NBitsWeights& packed) {
  Buffer out = *Buffer::allocate(static_cast<size_t>(packed.bytes()));
  packed.pack(w.source(), out.data());
  return out;
}

std::vector<float> product(const Form& form, const NBitsWeights& w, const Buffer& packed, const float* a,
                           int64_t m, const float* bias, int threads) {
  auto workspace =
      Buffer::allocate(static_cast<size_t>(nbits_workspace_bytes(form.kernels, w, m, threads) + 64));
  std::vector<float> c(m * w.n() + 2, 77.0f);  // from an address that is no line's
  run_nbits_gemm(form.kernels, w, {.m = m, .a = a, .packed = packed.data(), .bias = bias, .c = c.data() + 1},
                 threads, workspace->data());
  EXPECT_EQ(c.front(), 77);
  EXPECT_EQ(c.back(), 77);
  return {c.begin() + 1, c.end() - 1};
}

// The sum, and that of the magnitudes.
std::pair<double, double> sums(const Weights& w, const float* a, int64_t j) {
  double sum = 0, size = 0;
  for (int64_t l = 0; l < w.k; ++l) {
    const double term = static_cast<double>(a[l]) * w.at(l, j);
    sum += term;
    size += std::abs(term);
  }
  return {sum, size};
}

std::string text(const Form& form, const Weights& w, int64_t m) {
  return form.name + " " + std::to_string(m) + "x" + std::to_string(w.k) + "x" + std::to_string(w.n) +
         " bits " + std::to_string(w.bits) + " block " + std::to_string(w.block) + " zeros " +
         std::to_string(static_cast<int>(w.zeros));
}

void check_one(const Form& form, NBitsCase& random, bool whole) {
  const Weights w = random.weights(whole, form.kernels.int8);
  const NBitsWeights packed(form.kernels.table->nr, w.bits, w.n, w.k, w.block, w.zeros);
  const Buffer bytes = packed_of(w, packed);
  const int64_t m = random.pick(2) ? 1 : random.pick(18);
  const std::vector<float> a = random.rows(w, packed, m, whole);
  std::vector<float> bias(w.n);
  for (float& x : bias) x = static_cast<float>(random.pick(9));
  const bool biased = random.pick(2);
  const auto c = product(form, packed, bytes, a.data(), m, biased ? bias.data() : nullptr,
                         static_cast<int>(1 + random.pick(2)));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < w.n; ++j) {
      const auto [sum, size] = sums(w, a.data() + i * w.k, j);
      const double wanted = sum + (biased ? bias[j] : 0);
      const float got = c[i * w.n + j];
      if (whole)
        ASSERT_EQ(got, wanted) << text(form, w, m) << " at " << i << ',' << j;
      else
        ASSERT_NEAR(got, wanted, 2e-6 * (size + 1)) << text(form, w, m) << " at " << i << ',' << j;
    }
}

TEST(NBitsProduct, IsExactOfWholeNumbersInEveryForm) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 250;
  for (const Form& form : forms_here()) {
    NBitsCase random(test_seed());
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) check_one(form, random, true);
  }
}

TEST(NBitsProduct, RoundsAsSumsOfFloatsDo) {
  for (const Form& form : forms_here()) {
    if (form.kernels.int8) continue;
    NBitsCase random(test_seed());
    for (int i = 0; i < 150 && !::testing::Test::HasFatalFailure(); ++i) check_one(form, random, false);
  }
}

// As int8 each element of A is off by at most half of a 127th of its piece's largest.
TEST(NBitsProduct, OfInt8IsOffByHalfACode) {
  for (const Form& form : forms_here()) {
    if (!form.kernels.int8) continue;
    NBitsCase random(test_seed());
    for (int t = 0; t < 60; ++t) {
      const Weights w = random.weights(false, true);
      const NBitsWeights packed(form.kernels.table->nr, w.bits, w.n, w.k, w.block, w.zeros);
      const std::vector<float> a = random.rows(w, packed, 3, false);
      const auto c = product(form, packed, packed_of(w, packed), a.data(), 3, nullptr, 1);
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < w.n; ++j) {
          double weights = 0;
          for (int64_t l = 0; l < w.k; ++l) weights += std::abs(w.at(l, j));
          const auto [sum, size] = sums(w, a.data() + i * w.k, j);
          ASSERT_NEAR(c[i * w.n + j], sum, weights * (0.5 / 127) * 1.001 + 2e-6 * (size + 1))
              << text(form, w, 3);
        }
    }
  }
}

// Decoded weights are the definition's to the bit, from and to any step.
TEST(NBitsProduct, DecodesWeightsExactly) {
  for (const Form& form : forms_here()) {
    NBitsCase random(test_seed());
    for (int t = 0; t < 60; ++t) {
      const Weights w = random.weights(false);
      const int nr = form.kernels.table->nr;
      const NBitsWeights packed(nr, w.bits, w.n, w.k, w.block, w.zeros);
      const Buffer bytes = packed_of(w, packed);
      const int64_t q = random.pick(packed.pieces()), panel = random.pick(packed.panels());
      const int64_t first = packed.first_step(q), steps = packed.last_step(q) - first;
      if (steps == 0) continue;  // the last block of a column that ends before it
      const int64_t from = random.pick(steps), to = from + 1 + random.pick(steps - from);
      std::vector<float> out((steps + 32) * nr, 77.0f);
      form.kernels.table->decode({.bits = w.bits,
                                  .from = from,
                                  .to = to,
                                  .b = packed.panel(bytes.data(), panel, q),
                                  .out = out.data()});
      for (int64_t l = 0; l < steps + 32; ++l)
        for (int64_t j = 0; j < nr && panel * nr + j < w.n; ++j)
          ASSERT_EQ(out[l * nr + j], l < from || l >= to ? 77.0f : w.at(first + l, panel * nr + j))
              << text(form, w, 0);
    }
  }
}

// What is not finite is what the definition says, as int8 too: such products are made in float32.
TEST(NBitsProduct, KeepsWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Form& form : forms_here()) {
    NBitsCase random(test_seed());
    for (int t = 0; t < 60; ++t) {
      const Weights w = random.weights(true, form.kernels.int8);
      const NBitsWeights packed(form.kernels.table->nr, w.bits, w.n, w.k, w.block, w.zeros);
      const int64_t m = 1 + random.pick(3);
      std::vector<float> a = random.rows(w, packed, m, true);
      a[random.pick(w.k)] = random.pick(2) ? kInfinity : std::nanf("");
      const auto c = product(form, packed, packed_of(w, packed), a.data(), m, nullptr, 1);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < w.n; ++j) {
          const double wanted = sums(w, a.data() + i * w.k, j).first;
          const float got = c[i * w.n + j];
          if (std::isnan(wanted))
            ASSERT_TRUE(std::isnan(got)) << text(form, w, m);
          else
            ASSERT_EQ(got, wanted) << text(form, w, m);
        }
    }
  }
}

TEST(NBitsProduct, TiesOfInt8AreRoundedToEven) {
  for (const Isa isa : supported_isas()) {
    const float x[] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.5f, 0};
    int8_t codes[8];
    float scale = 0;
    int32_t sum = 0;
    ASSERT_TRUE(nbits_table(isa).quantise({.x = x, .count = 8, .out = codes, .scale = &scale, .sums = &sum}));
    const int8_t wanted[] = {127, 0, 2, 2, 0, -2, -126, 0};
    for (int i = 0; i < 8; ++i) EXPECT_EQ(codes[i], wanted[i]) << isa_name(isa) << ' ' << i;
    EXPECT_EQ(scale, 1);
    EXPECT_EQ(sum, 3);
    const float nothing[] = {0, -0.0f, 1e-40f};
    ASSERT_TRUE(
        nbits_table(isa).quantise({.x = nothing, .count = 3, .out = codes, .scale = &scale, .sums = &sum}));
    EXPECT_EQ(sum, 0);
  }
}

// Digits give back each number but for less than one unit, which is a 2^30th of the largest at most, and what
// is no 64 times smaller than the largest to the bit.
TEST(NBitsProduct, DigitsAreTheNumbers) {
  std::mt19937 random(test_seed());
  for (const Isa isa : supported_isas())
    for (int t = 0; t < 2000; ++t) {
      const int64_t count = 1 + random() % 40;
      std::vector<float> x(count);
      const float unit = std::ldexp(1.0f, static_cast<int>(random() % 190) - 90);
      for (float& v : x)
        v = static_cast<float>(static_cast<int32_t>(random() % (1u << 24)) - (1 << 23)) * unit *
            (random() % 4 ? 1.0f : 1e-3f);
      if (random() % 8 == 0) x.assign(count, random() % 2 ? 0.0f : -0x1.fffffep+100f);
      std::vector<int8_t> out(kDigits * count);
      float scale = 0;
      int32_t sums[kDigits];
      const bool made = nbits_table(isa).split({.x = x.data(),
                                                .count = count,
                                                .out = out.data(),
                                                .out_row = count,
                                                .scale = &scale,
                                                .sums = sums,
                                                .sums_row = 1});
      float most = 0;
      for (const float v : x) most = std::max(most, std::abs(v));
      ASSERT_EQ(made, std::isfinite(most) && (most == 0 || most >= 0x1p-95f)) << most;
      if (!made) continue;
      ASSERT_LE(scale, most * 0x1.02p-30f);
      int64_t total[kDigits] = {};
      for (int64_t i = 0; i < count; ++i) {
        int64_t value = 0;
        for (int d = kDigits - 1; d >= 0; --d) value = value * 256 + out[d * count + i];
        for (int d = 0; d < kDigits; ++d) total[d] += out[d * count + i];
        const double got = static_cast<double>(value) * scale;
        ASSERT_NEAR(got, x[i], std::abs(x[i]) * 64 >= most ? 0 : scale) << isa_name(isa) << " of " << most;
      }
      for (int d = 0; d < kDigits; ++d) ASSERT_EQ(sums[d], total[d]);
    }
}

TEST(NBitsProduct, FormsAreInOrder) {
  EXPECT_TRUE(in_order<NBitsDotTable>(nbits_dot_forms()));
  EXPECT_EQ(nbits_dot_form({}, nbits_table(Isa::scalar).nr).name, "scalar");
}

// Products of codes read panels as wide as a set's table makes them, whatever else the processor has.
TEST(NBitsProduct, EverySetHasAFormOfItsWidth) {
  for (const Isa isa : supported_isas()) {
    const int nr = nbits_table(isa).nr;
    const Variant<NBitsDotTable>& form = nbits_dot_form(base::cpu_features().has, nr);
    EXPECT_EQ(form.table->nr, nr) << form.name;
    EXPECT_TRUE(base::cpu_features().has.has(form.needs)) << form.name;
  }
}

// A model's weights take what they take packed, and their scales.
TEST(NBitsProduct, WeightsStayPacked) {
  const NBitsWeights w(32, 4, 11008, 4096, 32, NBitsZeros::none);
  EXPECT_EQ(w.bytes(), int64_t{11008} * 4096 / 2 + int64_t{11008} * (4096 / 32) * 4);
  const NBitsWeights columns(32, 8, 64, 1000, 1000, NBitsZeros::codes);
  EXPECT_LT(columns.bytes(), 64 * 1000 * 105 / 100);
}

}  // namespace
}  // namespace walle::kernels
