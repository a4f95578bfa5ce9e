// Functions of 8-bit codes on every set, against the definition: codes less their zero point as float32, one
// rounding each step, half to even at the end.
#include "kernels/codes/codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "seed.h"

namespace walle::kernels {
namespace {

constexpr uint8_t kGuard = 77;

int value(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

class Codes {
 public:
  explicit Codes(uint64_t seed) : random_(seed) {}

  // `kind`: which function; `size`: how many codes or pixels, -1: any.
  void one(Isa isa, int64_t kind, int64_t size = -1) {
    const CodesTable& t = codes_table(isa);
    switch (kind) {
      case 0: return arithmetic(t.add, true, size);
      case 1: return arithmetic(t.multiply, false, size);
      case 2: return scaled(t, size);
      case 3: return looked_up(t, size);
      case 4: return pooled(t, size);
      case 5: return meant(t, size);
      default: return turned(size);
    }
  }
  static constexpr int64_t kKinds = 7;

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t count(int64_t given) { return given >= 0 ? given : pick(5) ? pick(70) : pick(900); }
  int threads() { return 1 + static_cast<int>(pick(2)); }

  // Behind `offset` bytes, so that no address is a vector's.
  std::vector<uint8_t> codes(int64_t n) {
    std::vector<uint8_t> out(n + 1);
    const bool extreme = pick(3) == 0;
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(extreme ? 0x7f + pick(2) : pick(256));
    if (extreme && pick(2))
      for (uint8_t& byte : out) byte = pick(2) ? 0xff : 0x00;
    return out;
  }

  CodesOperand operand() {
    CodesOperand out{.is_signed = pick(2) == 1};
    out.zero = static_cast<float>((out.is_signed ? -128 : 0) + pick(256));
    out.factor = std::exp2(static_cast<float>(pick(120)) / 8 - 10);
    if (pick(8) == 0) out.factor = 0.5f;  // ties
    return out;
  }

  CodesBinary binary() {
    CodesBinary op{.a = operand(), .b = operand()};
    const bool is_signed = pick(2);
    op.zero = static_cast<int32_t>((is_signed ? -128 : 0) + pick(256));
    const int64_t least = (is_signed ? -128 : 0) - op.zero;
    int64_t low = pick(2) ? 0 : pick(256), high = pick(2) ? 255 : pick(256);
    if (high < low) std::swap(low, high);
    op.low = static_cast<float>(least + low);
    op.high = static_cast<float>(least + high);
    return op;
  }

  static uint8_t rounded(float x, float low, float high, int32_t zero) {
    return static_cast<uint8_t>(static_cast<int32_t>(std::nearbyint(std::fmin(std::fmax(x, low), high))) +
                                zero);
  }
  static float centred(const CodesOperand& o, uint8_t byte) {
    return static_cast<float>(value(byte, o.is_signed)) - o.zero;
  }
  static uint8_t sum(const CodesBinary& op, uint8_t a, uint8_t b) {
    const volatile float left = centred(op.a, a) * op.a.factor, right = centred(op.b, b) * op.b.factor;
    return rounded(left + right, op.low, op.high, op.zero);
  }
  static uint8_t product(const CodesBinary& op, uint8_t a, uint8_t b) {
    const volatile float exact = centred(op.a, a) * centred(op.b, b);
    return rounded(exact * op.a.factor, op.low, op.high, op.zero);
  }

  template <class Run>
  void arithmetic(Run run, bool adds, int64_t size) {
    const int64_t n = count(size);
    const CodesBinary op = binary();
    const std::vector<uint8_t> a = codes(n), b = codes(n);
    std::vector<uint8_t> y(n + 2, kGuard);
    run(op, a.data() + 1, b.data() + 1, y.data() + 1, n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i + 1], adds ? sum(op, a[i + 1], b[i + 1]) : product(op, a[i + 1], b[i + 1]))
          << (adds ? "add " : "multiply ") << int{a[i + 1]} << ' ' << int{b[i + 1]} << " of " << n;
    ASSERT_TRUE(y.front() == kGuard && y.back() == kGuard) << n;
  }

  void scaled(const CodesTable& t, int64_t size) {
    const int64_t n = count(size);
    const CodesBinary op = binary();
    const std::vector<uint8_t> a = codes(n * kBlock), b = codes(kBlock);
    std::vector<uint8_t> y(n * kBlock + 2, kGuard);
    t.scale(op, a.data() + 1, b.data() + 1, y.data() + 1, n);
    for (int64_t i = 0; i < n * kBlock; ++i)
      ASSERT_EQ(y[i + 1], product(op, a[i + 1], b[i % kBlock + 1])) << "scale " << i << " of " << n;
    ASSERT_TRUE(y.front() == kGuard && y.back() == kGuard) << n;
  }

  void looked_up(const CodesTable& t, int64_t size) {
    const int64_t n = count(size);
    const std::vector<uint8_t> x = codes(n), table = codes(256);
    const auto check = [&](auto run) {
      std::vector<uint8_t> y(n + 2, kGuard);
      run(x.data() + 1, table.data() + 1, y.data() + 1, n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i + 1], table[x[i + 1] + 1]) << "lookup " << i;
      ASSERT_TRUE(y.front() == kGuard && y.back() == kGuard) << n;
    };
    check(t.lookup);
    if (t.lookup_vbmi && base::cpu_features().has.has(base::Capability::avx512_vbmi)) check(t.lookup_vbmi);
  }

  void pooled(const CodesTable& t, int64_t size) {
    const BlockedShape image{.n = pick(3), .c = pick(40), .pixels = 0};
    WindowShape s{.h = 1 + pick(9), .w = 1 + pick(12)};
    s.kh = 1 + pick(3), s.kw = 1 + pick(3), s.sh = 1 + pick(3), s.sw = 1 + pick(3);
    s.dh = 1 + pick(2), s.dw = 1 + pick(2), s.pt = pick(s.kh), s.pl = pick(s.kw);
    s.oh = size >= 0 ? size : std::max<int64_t>(1, (s.h + s.pt + pick(2) - (s.kh - 1) * s.dh - 1) / s.sh + 1);
    s.ow = size >= 0 ? size : std::max<int64_t>(1, (s.w + s.pl + pick(2) - (s.kw - 1) * s.dw - 1) / s.sw + 1);
    const bool is_signed = pick(2);
    const int64_t blocks = image.blocks(), outputs = blocks * s.oh * s.ow * kBlock;
    const std::vector<uint8_t> x = codes(blocks * s.h * s.w * kBlock);
    std::vector<uint8_t> y(outputs + 2, kGuard);
    codes_max_pool(t, image, s, is_signed, x.data() + 1, y.data() + 1, threads());
    for (int64_t i = 0; i < outputs; ++i) {
      const int64_t lane = i % kBlock, col = i / kBlock % s.ow, row = i / kBlock / s.ow % s.oh,
                    block = i / kBlock / s.ow / s.oh;
      int most = is_signed ? -128 : 0;
      for (int64_t h = row * s.sh - s.pt, a = 0; a < s.kh; ++a, h += s.dh)
        for (int64_t w = col * s.sw - s.pl, b = 0; b < s.kw; ++b, w += s.dw)
          if (h >= 0 && h < s.h && w >= 0 && w < s.w)
            most = std::max(most, value(x[((block * s.h + h) * s.w + w) * kBlock + lane + 1], is_signed));
      ASSERT_EQ(value(y[i + 1], is_signed), most) << "pool, row " << row << " column " << col;
    }
    ASSERT_TRUE(y.front() == kGuard && y.back() == kGuard);
  }

  // Over rows and over blocks, whose lanes without a channel hold anything.
  void meant(const CodesTable& t, int64_t size) {
    const BlockedShape s{.n = pick(3), .c = pick(40), .pixels = size > 0 ? size : 1 + pick(90)};
    const bool y_signed = pick(2);
    CodesMean op{.is_signed = pick(2) == 1};
    op.zero = static_cast<int32_t>((op.is_signed ? -128 : 0) + pick(256));
    op.factor = std::exp2(static_cast<float>(pick(80)) / 8 - 6) / static_cast<float>(s.pixels);
    op.y_zero = static_cast<int32_t>((y_signed ? -128 : 0) + pick(256));
    op.low = static_cast<float>((y_signed ? -128 : 0) - op.y_zero);
    op.high = op.low + 255;
    const int64_t rows = s.n * s.c;
    const std::vector<uint8_t> x = codes(rows * s.pixels);
    std::vector<uint8_t> of_rows(rows + 2, kGuard);
    codes_mean_of_rows(s, op, x.data() + 1, of_rows.data() + 1, threads());
    for (int64_t r = 0; r < rows; ++r) {
      int64_t sum = 0;
      for (int64_t p = 0; p < s.pixels; ++p) sum += value(x[r * s.pixels + p + 1], op.is_signed) - op.zero;
      ASSERT_EQ(of_rows[r + 1], rounded(static_cast<float>(sum) * op.factor, op.low, op.high, op.y_zero))
          << "mean of row " << r << " of " << s.pixels;
    }
    ASSERT_TRUE(of_rows.front() == kGuard && of_rows.back() == kGuard);
    std::vector<uint8_t> blocked = codes(s.floats()), y(s.blocks() * kBlock + 2, kGuard);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t p = 0; p < s.pixels; ++p)
        blocked[at(s, r / s.c, r % s.c, p) + 1] = x[r * s.pixels + p + 1];
    codes_mean(t, s, op, blocked.data() + 1, y.data() + 1, threads());
    for (int64_t r = 0; r < rows; ++r) {
      const BlockedShape one{.n = s.n, .c = s.c, .pixels = 1};
      ASSERT_EQ(y[at(one, r / s.c, r % s.c, 0) + 1], of_rows[r + 1]) << "mean of channel " << r;
    }
    ASSERT_TRUE(y.front() == kGuard && y.back() == kGuard);
  }

  static int64_t at(const BlockedShape& s, int64_t n, int64_t c, int64_t p) {
    return ((n * blocks_of(s.c) + c / kBlock) * s.pixels + p) * kBlock + c % kBlock;
  }

  void turned(int64_t size) {
    const BlockedShape s{.n = pick(3), .c = size == 0 ? 0 : pick(40), .pixels = count(size)};
    const std::vector<uint8_t> x = codes(s.n * s.c * s.pixels);
    std::vector<uint8_t> blocks(s.floats() + 2, kGuard), back(x.size() + 1, kGuard);
    codes_to_blocked(s, x.data() + 1, blocks.data() + 1, threads());
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t p = 0; p < s.pixels; ++p)
          ASSERT_EQ(blocks[at(s, n, c, p) + 1], x[(n * s.c + c) * s.pixels + p + 1]);
    codes_from_blocked(s, blocks.data() + 1, back.data() + 1, threads());
    ASSERT_TRUE(std::equal(x.begin() + 1, x.end(), back.begin() + 1)) << s.c << " channels";
    ASSERT_TRUE(blocks.front() == kGuard && blocks.back() == kGuard);
    ASSERT_TRUE(back.front() == kGuard && back.back() == kGuard);
  }

  std::mt19937_64 random_;
};

TEST(Codes, AreTheDefinitionsOnEverySet) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 500;
  const uint32_t seed = test_seed();
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    Codes codes(seed);
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) codes.one(isa, i % Codes::kKinds);
  }
}

// Every number of codes around a vector's, none of them left to chance.
TEST(Codes, OfEveryFewAreTheDefinitions) {
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    Codes codes(test_seed());
    for (int64_t n = 0; n < 130; ++n)
      for (int64_t kind = 0; kind < Codes::kKinds && !::testing::Test::HasFatalFailure(); ++kind)
        codes.one(isa, kind, kind == 4 ? n % 12 : n);
  }
}

// Tables of 256 codes: lines of sixteen by shuffles, and what is left one by one.
using Lookup = void (*)(const uint8_t*, const uint8_t*, uint8_t*, int64_t);

void expect_entries(Lookup lookup, std::mt19937& random, const std::string& where) {
  std::array<uint8_t, 256> table;
  for (uint8_t& entry : table) entry = static_cast<uint8_t>(random());
  for (const int64_t n : {0, 1, 31, 255, 256, 257, 287, 288, 1000, 4099}) {
    const size_t at = random() % 4;  // at no multiple of a vector
    std::vector<uint8_t> x(at + static_cast<size_t>(n)), y(x.size() + 64, 77);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(n > 512 && i < 512 ? i : random());
    lookup(x.data() + at, table.data(), y.data() + at, n);
    for (size_t i = 0; i < at; ++i) ASSERT_EQ(y[i], 77) << where;
    for (size_t i = at; i < x.size(); ++i)
      ASSERT_EQ(y[i], table[x[i]]) << where << " code " << int{x[i]} << " of " << n;
    for (size_t i = x.size(); i < y.size(); ++i) ASSERT_EQ(y[i], 77) << where << " behind " << n;
  }
}

TEST(Codes, AreLookedUpInEverySet) {
  std::mt19937 random(test_seed());
  for (const Isa isa : supported_isas()) {
    const CodesTable& table = codes_table(isa);
    for (int round = 0; round < 50 && !::testing::Test::HasFatalFailure(); ++round) {
      expect_entries(table.lookup, random, std::string(isa_name(isa)));
      if (table.lookup_vbmi && base::cpu_features().has.has(base::Capability::avx512_vbmi))
        expect_entries(table.lookup_vbmi, random, std::string(isa_name(isa)) + " by bytes of 512 bits");
    }
  }
}

// Of windows with padding, strides and dilation, some wider than what is looked at together.
TEST(Codes, MaximaOfWindowsAreTheDefinitions) {
  std::mt19937 random(test_seed());
  const auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 300 && !::testing::Test::HasFatalFailure(); ++round) {
    WindowShape s;
    s.h = pick(1, 12);
    s.w = pick(1, round % 4 ? 20 : 700);
    s.kh = pick(1, 4);
    s.kw = pick(1, 4);
    s.sh = pick(1, 3);
    s.sw = pick(1, 3);
    s.dh = pick(1, 2);
    s.dw = round % 8 ? pick(1, 2) : pick(100, 200);
    s.pt = pick(0, s.kh);
    s.pl = pick(0, s.kw);
    s.oh = pick(1, (s.h + s.pt) / s.sh + 1);
    s.ow = pick(1, (s.w + s.pl) / s.sw + 1);
    const BlockedShape image{.n = pick(1, 2), .c = pick(1, 20), .pixels = s.h * s.w};
    const int64_t outputs = image.blocks() * s.oh * s.ow * kBlock;
    std::vector<uint8_t> x(static_cast<size_t>(image.blocks() * s.h * s.w * kBlock));
    for (uint8_t& code : x) code = static_cast<uint8_t>(random());
    const bool is_signed = pick(0, 1);
    const auto order = [&](uint8_t code) { return is_signed ? code ^ 0x80 : code; };
    for (const Isa isa : supported_isas()) {
      std::vector<uint8_t> y(static_cast<size_t>(outputs + 1), 77);
      codes_max_pool(codes_table(isa), image, s, is_signed, x.data(), y.data(), static_cast<int>(pick(1, 2)));
      EXPECT_EQ(y.back(), 77);
      for (int64_t at = 0; at < outputs; ++at) {
        const int64_t pixel = at / kBlock % (s.oh * s.ow), block = at / kBlock / (s.oh * s.ow);
        int most = 0;
        for (int64_t i = 0; i < s.kh; ++i)
          for (int64_t j = 0; j < s.kw; ++j) {
            const int64_t row = pixel / s.ow * s.sh - s.pt + i * s.dh,
                          col = pixel % s.ow * s.sw - s.pl + j * s.dw;
            if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
            most = std::max(
                most,
                order(x[static_cast<size_t>(((block * s.h + row) * s.w + col) * kBlock + at % kBlock)]));
          }
        ASSERT_EQ(order(y[static_cast<size_t>(at)]), most)
            << isa_name(isa) << ' ' << at << " round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace walle::kernels
