// Winograd's convolution with products in bfloat16, in the form that this processor runs and in the emulated
// one: exact where every number on the way is one, and how far it rounds elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "kernels/bf16_numbers.h"
#include "kernels/blocked/blocked.h"
#include "kernels/blocked_bf16/blocked_bf16.h"
#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "kernels/conv/winograd.h"
#include "kernels/conv_bf16/conv_bf16.h"
#include "kernels/conv_bf16_emulated.h"
// Behind the words that both round to.
#include "kernels/blocked_bf16_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

struct Form {
  std::string_view name;
  Isa isa;
  const ConvBf16Table* table;
  const BlockedBf16Table* images;
};

ConvShape some_shape() {
  ConvShape s;
  s.n = 1, s.c = 18, s.m = 20, s.h = s.w = s.oh = s.ow = 24, s.kh = s.kw = 3, s.pt = s.pl = 1;
  return s;
}

// The set that the form of this processor goes with; sanitized builds leave AVX-512 out.
#if defined(__aarch64__)
constexpr Isa kSet = Isa::neon;
#else
constexpr Isa kSet = Isa::avx512;
#endif
std::vector<Form> forms_here() {
  std::vector<Form> out{{"emulated", Isa::scalar, &emulated::kConvBf16, &emulated::kBlockedBf16}};
  const base::Capabilities has = base::cpu_features().has;
  for (const auto* form : {conv_bf16_form(has), conv_bf16_amx_form(has)})
    if (form && winograd_bf16_fits(some_shape(), kSet, *form->table))
      out.push_back({form->name, kSet, form->table, blocked_bf16_form(has)->table});
  return out;
}

struct Case {
  ConvShape shape;
  std::vector<float> x, filters, bias, residual;
  bool kept = false;  // images are bfloat16

  static void run_kept(const Winograd& w, const std::vector<float>& x, const std::vector<float>& weights,
                       const Epilogue& e, const std::vector<float>& residual, std::vector<float>& y,
                       int threads, std::byte* workspace) {
    const std::vector<uint16_t> x16 = bf16_of(x), other = bf16_of(residual);
    std::vector<uint16_t> y16 = bf16_of(y);
    run_winograd_bf16(w, x16.data(), weights.data(), e, e.residual ? other.data() : nullptr, y16.data(),
                      threads, workspace);
    y = floats_of(y16);
  }

  std::vector<float> run(const Form& form, int unit, const Epilogue& given, int threads) const {
    const BlockedShape image{.n = shape.n, .c = shape.c, .pixels = shape.h * shape.w};
    const BlockedShape result{.n = shape.n, .c = shape.m, .pixels = shape.oh * shape.ow};
    const auto from = blocks(image, x);
    const auto other = given.residual ? blocks(result, residual) : std::vector<float>();
    Epilogue e = given;
    if (e.residual) e.residual = other.data();
    const Winograd w = make_winograd(shape, unit, form.isa, true, form.table, kept ? form.images : nullptr);
    std::vector<float> weights(static_cast<size_t>(winograd_weight_elements(w)), -7);
    winograd_weights(w, filters.data(), weights.data());
    const auto bytes = static_cast<size_t>(winograd_workspace_bytes(w, threads));
    auto workspace = Buffer::allocate(bytes);
    std::fill_n(reinterpret_cast<uint32_t*>(workspace->data()), bytes / 4, 0xffffffffu);
    std::vector<float> to(static_cast<size_t>(result.floats()), -7);
    kept ? run_kept(w, from, weights, e, other, to, threads, workspace->data())
         : run_winograd(w, from.data(), weights.data(), e, to.data(), threads, workspace->data());
    std::vector<float> y(static_cast<size_t>(shape.n * shape.m * shape.oh * shape.ow), -7);
    from_blocked(blocked_table(Isa::scalar), result, to.data(), y.data(), 1);
    return y;
  }

  std::vector<float> reference(const Epilogue& e) const {
    std::vector<float> y(static_cast<size_t>(shape.n * shape.m * shape.oh * shape.ow));
    conv_reference(shape, x.data(), filters.data(), e.row_bias, e, y.data(), 2);
    return y;
  }

  // Lanes behind the last channel hold NaN.
  static std::vector<float> blocks(const BlockedShape& s, const std::vector<float>& rows) {
    std::vector<float> out(static_cast<size_t>(s.floats()));
    to_blocked(blocked_table(Isa::scalar), s, rows.data(), out.data(), 1);
    for (int64_t i = 0; i < s.floats(); ++i)
      if (i / kBlock / s.pixels % blocks_of(s.c) * kBlock + i % kBlock >= s.c)
        out[static_cast<size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
    return out;
  }
};

class Cases {
 public:
  explicit Cases(uint32_t seed) : random_(seed) {}
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Numbers of `number`, filters of `weight`.
  template <class Number, class Weight>
  Case next(Number number, Weight weight) {
    Case c;
    ConvShape& s = c.shape;
    s.n = 1 + pick(2), s.c = 8 + 2 * pick(25), s.m = 1 + pick(70);
    s.h = 3 + pick(20), s.w = 3 + pick(20);
    s.kh = s.kw = 3;
    s.pt = pick(3), s.pl = pick(3);
    s.oh = s.h + 2 * s.pt - 2, s.ow = s.w + 2 * s.pl - 2;
    const auto some = [&](int64_t n, auto of) {
      std::vector<float> out(static_cast<size_t>(n));
      for (float& v : out) v = static_cast<float>(of());
      return out;
    };
    c.x = some(s.n * s.c * s.h * s.w, number);
    c.filters = some(s.m * s.depth(), weight);
    c.bias = some(s.m, number);
    c.residual = some(s.n * s.m * s.oh * s.ow, number);
    return c;
  }

 private:
  std::mt19937 random_;
};

// Inputs of -2 to 2 become numbers of at most 8 by a unit of 2, filters of fours whole ones: bfloat16 has
// all.
TEST(WinogradBf16, IsExactInSmallWholeNumbers) {
  for (const Form& form : forms_here()) {
    Cases cases(test_seed());
    for (int round = 0; round < 40; ++round) {
      const Case c = cases.next([&] { return cases.pick(5) - 2; }, [&] { return 4 * (cases.pick(3) - 1); });
      Epilogue e;
      if (round % 2) e.row_bias = c.bias.data();
      if (round % 3 == 0) e.residual = c.residual.data();
      if (round % 4 == 0) e.activation = Activation::clamp, e.alpha = -20, e.beta = 30;
      const int threads = 1 + round % 3;
      ASSERT_EQ(c.run(form, 2, e, threads), c.reference(e)) << form.name << " round " << round;
    }
  }
}

// What is kept as bfloat16 is what float32 would be, rounded once: of products in bfloat16, and in float32.
void expect_results_rounded(const Form& form, int unit) {
  Cases cases(test_seed());
  std::mt19937 random(test_seed());
  std::normal_distribution<float> normal;
  for (int round = 0; round < 6; ++round) {
    const auto number = [&] { return rounded(normal(random)); };
    Case c = cases.next(number, number);
    Epilogue e;
    if (round % 2) e.row_bias = c.bias.data();
    if (round % 3 == 0) e.residual = c.residual.data();
    if (round % 2 == 0) e.activation = static_cast<Activation>(cases.pick(4)), e.alpha = -1, e.beta = 2;
    const int threads = 1 + round % 3;
    std::vector<float> want = c.run(form, unit, e, threads);
    for (float& v : want) v = rounded(v);
    c.kept = true;
    ASSERT_EQ(c.run(form, unit, e, threads), want) << form.name << " unit " << unit << " round " << round;
  }
}

TEST(WinogradBf16, KeepsItsResultsRounded) {
  for (const Form& form : forms_here()) {
    for (const int unit : kWinogradBf16Units) expect_results_rounded(form, unit);
    for (const int unit : kWinogradUnits)
      expect_results_rounded({form.name, form.isa, nullptr, form.images}, unit);
  }
}

// The transforms of a unit in float64, from its points (Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2016): y = A^T [(G g G^T) (B^T d B)] A, point by point, the last one infinity.
struct Transforms {
  explicit Transforms(int unit) : n(unit + 2) {
    std::vector<double> points = {0};
    for (const double p : unit == 2 ? std::vector<double>{1} : std::vector<double>{M_SQRT1_2, M_SQRT2})
      points.push_back(p), points.push_back(-p);
    const size_t last = points.size();
    image.assign(n, std::vector<double>(n, 0.0));
    filter.assign(n, std::vector<double>(3, 0.0));
    result.assign(unit, std::vector<double>(n, 0.0));
    image[last] = product(points, last);
    filter[last][2] = 1;
    result[unit - 1][last] = 1;
    for (size_t i = 0; i < last; ++i) {
      const std::vector<double> others = product(points, i);
      std::ranges::copy(others, image[i].begin());
      double at = 0;
      for (size_t k = others.size(); k-- > 0;) at = at * points[i] + others[k];
      for (int k = 0; k < 3; ++k) filter[i][k] = std::pow(points[i], k) / at;
      for (int k = 0; k < unit; ++k) result[k][i] = std::pow(points[i], k);
    }
  }

  // T x T^T of a square x.
  static std::vector<double> both(const std::vector<std::vector<double>>& t, const std::vector<double>& x) {
    const size_t rows = t.size(), cols = t[0].size();
    std::vector<double> out(rows * rows, 0.0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < rows; ++j)
        for (size_t k = 0; k < cols; ++k)
          for (size_t l = 0; l < cols; ++l) out[i * rows + j] += t[i][k] * t[j][l] * x[k * cols + l];
    return out;
  }

  size_t n;
  std::vector<std::vector<double>> image, filter, result;  // B^T, G, A^T

 private:
  // The product of (x - q) over all points q but one, lowest power first.
  static std::vector<double> product(const std::vector<double>& points, size_t but) {
    std::vector<double> c = {1};
    for (size_t q = 0; q < points.size(); ++q) {
      if (q == but) continue;
      c.insert(c.begin(), 0.0);
      for (size_t k = 0; k + 1 < c.size(); ++k) c[k] -= points[q] * c[k + 1];
    }
    return c;
  }
};

// How far each result is off by as a rule: the root of the mean square of what rounding both factors of its
// products makes. A factor is off by up to 2^-8 of its power of two, evenly spread (a third of the square),
// and powers of two are 0.54 of their numbers' squares in the mean: 3 / (8 ln 2), where logarithms are spread
// evenly.
class Deviations {
 public:
  Deviations(const Case& c, int unit) : case_(c), s_(c.shape), t_(unit), unit_(unit) {
    for (int64_t i = 0; i < s_.m * s_.c; ++i)
      filters_.push_back(
          Transforms::both(t_.filter, {c.filters.begin() + i * 9, c.filters.begin() + i * 9 + 9}));
  }

  // Of all results, in their order; `exact` becomes what these transforms make of the same numbers.
  std::vector<double> all(std::vector<double>& exact) const {
    std::vector<double> out(static_cast<size_t>(s_.n * s_.m * s_.oh * s_.ow));
    exact.assign(out.size(), 0.0);
    for (int64_t n = 0; n < s_.n; ++n)
      for (int64_t y = 0; y < s_.oh; y += unit_)
        for (int64_t x = 0; x < s_.ow; x += unit_) tile(n, y, x, out, exact);
    return out;
  }

 private:
  std::vector<double> patch(int64_t n, int64_t c, int64_t y0, int64_t x0) const {
    const auto side = static_cast<int64_t>(t_.n);
    std::vector<double> out(t_.n * t_.n, 0.0);
    for (int64_t y = std::max<int64_t>(0, s_.pt - y0); y < side && y0 - s_.pt + y < s_.h; ++y)
      for (int64_t x = std::max<int64_t>(0, s_.pl - x0); x < side && x0 - s_.pl + x < s_.w; ++x)
        out[y * side + x] = case_.x[((n * s_.c + c) * s_.h + y0 - s_.pt + y) * s_.w + x0 - s_.pl + x];
    return out;
  }

  void tile(int64_t n, int64_t y0, int64_t x0, std::vector<double>& out, std::vector<double>& exact) const {
    std::vector<std::vector<double>> images;
    for (int64_t c = 0; c < s_.c; ++c) images.push_back(Transforms::both(t_.image, patch(n, c, y0, x0)));
    for (int64_t m = 0; m < s_.m; ++m) {
      std::vector<double> sums(t_.n * t_.n, 0.0), squares = sums;
      for (int64_t c = 0; c < s_.c; ++c)
        for (size_t i = 0; i < sums.size(); ++i) {
          const double term = images[c][i] * filters_[m * s_.c + c][i];
          sums[i] += term;
          squares[i] += term * term;
        }
      auto weights = t_.result;
      for (auto& row : weights)
        for (double& w : row) w *= w;
      const std::vector<double> y = Transforms::both(t_.result, sums);
      const std::vector<double> variance = Transforms::both(weights, squares);
      for (int64_t k = 0; k < unit_ && y0 + k < s_.oh; ++k)
        for (int64_t l = 0; l < unit_ && x0 + l < s_.ow; ++l) {
          const size_t at = ((n * s_.m + m) * s_.oh + y0 + k) * s_.ow + x0 + l;
          exact[at] = y[k * unit_ + l];
          out[at] = std::sqrt(variance[k * unit_ + l] * 2 * 0.541 / 3) * 0x1p-8;
        }
    }
  }

  const Case& case_;
  const ConvShape& s_;
  const Transforms t_;
  const int64_t unit_;
  std::vector<std::vector<double>> filters_;
};

// As signal to noise of sums of random numbers; no single one is off by more than eight times what its own
// products' rounding makes as a rule.
TEST(WinogradBf16, RoundsAsMuchAsItsUnitSays) {
  for (const Form& form : forms_here())
    for (const int unit : kWinogradBf16Units) {
      Cases cases(test_seed());
      std::normal_distribution<double> normal;
      std::mt19937 random(test_seed());
      double signal = 0, noise = 0;
      for (int round = 0; round < 20; ++round) {
        const auto number = [&] { return normal(random); };
        const Case c = cases.next(number, number);
        const auto got = c.run(form, unit, {}, 1 + round % 2), want = c.reference({});
        std::vector<double> exact;
        const std::vector<double> sigma = Deviations(c, unit).all(exact);
        for (size_t i = 0; i < want.size(); ++i) {
          ASSERT_NEAR(exact[i], want[i], 1e-3) << "the transforms of this test, unit " << unit;
          ASSERT_NEAR(got[i], want[i], 8 * sigma[i]) << form.name << " unit " << unit << " round " << round;
          signal += static_cast<double>(want[i]) * want[i];
          noise += std::pow(static_cast<double>(got[i]) - want[i], 2);
        }
      }
      const double db = 10 * std::log10(signal / noise);
      EXPECT_GT(db, unit == 2 ? 46 : 36) << form.name << " unit " << unit;
      EXPECT_LT(db, 60) << "products of more bits than bfloat16 has";
    }
}

// A number that is none stays in the tiles that meet it.
TEST(WinogradBf16, KeepsWhatIsNoNumberInItsTiles) {
  for (const Form& form : forms_here())
    for (const int unit : kWinogradBf16Units) {
      Cases cases(1);
      Case c = cases.next([] { return 1; }, [] { return 1; });
      const ConvShape s = c.shape = some_shape();
      c.x.assign(s.c * s.h * s.w, 1);
      c.filters.assign(s.m * s.depth(), 1);
      c.x[3 * 24 * 24 + 12 * 24 + 12] = std::numeric_limits<float>::quiet_NaN();
      const auto y = c.run(form, unit, {}, 1);
      for (int64_t m = 0; m < s.m; ++m) {
        EXPECT_TRUE(std::isnan(y[static_cast<size_t>((m * 24 + 12) * 24 + 12)]));
        for (int64_t row = 0; row < 24; ++row)
          for (int64_t col = 0; col < 24; ++col)
            if (std::abs(row - 12) > unit || std::abs(col - 12) > unit) {
              ASSERT_TRUE(std::isfinite(y[static_cast<size_t>((m * 24 + row) * 24 + col)]))
                  << row << " " << col;
            }
      }
    }
}

TEST(WinogradBf16, TakesWholeWordsOfChannelsByAsManyLanesAsItsTransforms) {
  const ConvBf16Table& words = emulated::kConvBf16;
  ConvShape s = some_shape();
  EXPECT_TRUE(winograd_bf16_fits(s, Isa::scalar, words));
  ConvBf16Table wider = words;
  wider.lanes *= 2;
  EXPECT_FALSE(winograd_bf16_fits(s, Isa::scalar, wider));
  s.c = 17;
  EXPECT_FALSE(winograd_bf16_fits(s, Isa::scalar, words));
  s.c = 18;
  s.dw = 2;
  EXPECT_FALSE(winograd_bf16_fits(s, Isa::scalar, words));
}

}  // namespace
}  // namespace walle::kernels
