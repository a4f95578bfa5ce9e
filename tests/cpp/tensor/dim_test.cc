#include "tensor/dim.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "tensor/dim_program.h"
#include "tensor/shape.h"

namespace walle::tensor {
namespace {

// What the sizes are for these symbols; nothing where a condition does not hold.
std::optional<std::vector<int64_t>> values(const DimTrace& trace, std::initializer_list<Dim> sizes,
                                           std::vector<int64_t> symbols) {
  std::vector<Dim::Term> terms;
  for (const Dim d : sizes) terms.push_back(d.term());
  std::vector<int64_t> out;
  if (!DimProgram(trace, terms).evaluate(symbols, out)) return std::nullopt;
  return out;
}

TEST(Dim, IsAPlainNumberWithoutATrace) {
  const Dim a = 12;
  EXPECT_EQ(a / 5 + a % 5 - 2 * a, -20);
  EXPECT_FALSE((a + 1).symbolic());
  EXPECT_EQ(static_cast<int64_t>(a), 12);
}

TEST(Dim, FollowsItsSymbols) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const Dim m = trace.symbol(10);
  const Dim d = 3 * (n + 1) * m - n;
  EXPECT_EQ(d.value(), 204);
  EXPECT_EQ(*values(trace, {d, n * n}, {5, 4}), (std::vector<int64_t>{67, 25}));
}

TEST(Dim, DividesEvenlyWhereItCanBeSeen) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const Dim whole = n * 768;
  EXPECT_EQ((whole / 768).term(), n.term());
  EXPECT_FALSE((whole % 64).symbolic());
  EXPECT_EQ((whole / n).value(), 768);
  EXPECT_FALSE((whole / n).symbolic());
  // One condition is noted for none of these.
  EXPECT_TRUE(values(trace, {whole}, {1000}));
}

TEST(Dim, KeepsDivisionsThatLeaveARest) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(7);
  const Dim half = (n - 1) / 2 + 1;
  const Dim rest = (4 * n + 3) % 4;
  EXPECT_FALSE(rest.symbolic());
  EXPECT_EQ(rest.value(), 3);
  EXPECT_EQ(half.value(), 4);
  EXPECT_EQ(*values(trace, {half, n % 3}, {12}), (std::vector<int64_t>{6, 0}));
}

TEST(Dim, NotesWhatIsDecided) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const Dim m = trace.symbol(10);
  EXPECT_TRUE(n < m);
  EXPECT_TRUE(n != 8);
  EXPECT_TRUE(values(trace, {n}, {7, 8}));
  EXPECT_FALSE(values(trace, {n}, {8, 9}));
  EXPECT_FALSE(values(trace, {n}, {9, 9}));
}

TEST(Dim, KnowsThatSymbolsAreAtLeastTwo) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  EXPECT_TRUE(n > 0 && n != 1 && n + 1 > n && n * 64 >= 128 && 0 - n < 0);
  EXPECT_TRUE(values(trace, {n}, {2}));
  EXPECT_FALSE(values(trace, {n}, {1}));  // sizes of 1 have plans of their own
}

TEST(Dim, IsPinnedByWhatTakesANumber) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const int64_t number = n * 2;
  EXPECT_EQ(number, 12);
  EXPECT_TRUE(values(trace, {n}, {6}));
  EXPECT_FALSE(values(trace, {n}, {7}));
}

TEST(Dim, ComparesInTuplesWithoutBeingPinned) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const Dim big = n * 8;
  EXPECT_TRUE(std::tie(n, big) < std::tie(big, n));
  EXPECT_TRUE(values(trace, {n}, {70}));
}

TEST(Dim, GivesUpOnSumsWithoutEnd) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  Dim d = 1;
  for (int i = 0; i < 12; ++i) d *= trace.symbol(2 + i) + trace.symbol(20 + i);
  EXPECT_FALSE(trace.complete());
}

TEST(Dim, IsOfNoUseWhereNumbersOverflow) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  const Dim n = trace.symbol(6);
  const Dim cube = n * n * n;
  EXPECT_TRUE(values(trace, {cube}, {1000}));
  EXPECT_FALSE(values(trace, {cube}, {int64_t{1} << 40}));
}

// Random formulas, computed again from their terms and from plain numbers: where the conditions hold, both
// decide alike and give the same number.
TEST(Dim, AgreesWithPlainNumbers) {
  std::mt19937 rng(1);
  const auto below = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    struct Step {
      int op, a, b;
      int64_t number;
    };
    std::vector<Step> steps;
    for (int i = 0; i < 12; ++i) steps.push_back({below(7), below(2 + i), below(2 + i), 1 + below(9)});
    const auto compute = [&](std::vector<Dim> dims) {
      for (const Step& s : steps) {
        const Dim a = dims[s.a];
        const Dim b = dims[s.b];
        switch (s.op) {
          case 0: dims.push_back(a + b); break;
          case 1: dims.push_back(a - s.number); break;
          case 2: dims.push_back(a * s.number); break;
          case 3: dims.push_back(a / s.number); break;
          case 4: dims.push_back(a % s.number); break;
          case 5: dims.push_back(b != 0 ? a / b : Dim(s.number)); break;
          default: dims.push_back(a < b ? a * 2 : b + 1); break;
        }
      }
      return dims.back();
    };
    DimTrace trace;
    Dim last;
    {
      const DimTrace::Scope scope(&trace);
      const Dim n = trace.symbol(2 + below(20));
      last = compute({n, trace.symbol(2 + below(20))});
    }
    for (int again = 0; again < 4; ++again) {
      const int64_t n = 2 + below(30);
      const int64_t m = 2 + below(30);
      std::vector<int64_t> out;
      const std::vector<Dim::Term> terms{last.term()};
      if (!DimProgram(trace,
                      last.symbolic() ? std::span<const Dim::Term>(terms) : std::span<const Dim::Term>())
               .evaluate(std::vector<int64_t>{n, m}, out))
        continue;
      ++held;
      EXPECT_EQ(last.symbolic() ? out[0] : last.value(), compute({n, m}).value()) << "round " << round;
    }
  }
  EXPECT_GT(held, 500);
}

TEST(Shape, CarriesSymbols) {
  DimTrace trace;
  const DimTrace::Scope scope(&trace);
  Shape s{2, 5, 3};
  s.set(1, trace.symbol(5));
  EXPECT_EQ(s.strides().dim(0).value(), 15);
  EXPECT_EQ(*values(trace, {s.strides().dim(0), s.dim_elements()}, {7}), (std::vector<int64_t>{21, 42}));
  EXPECT_TRUE(s == s.sub(0, 3));
  EXPECT_EQ(s[0], 2);  // no symbol
  EXPECT_TRUE(values(trace, {s.dim(1)}, {7}));
  EXPECT_EQ(s[1], 5);  // pinned
  EXPECT_FALSE(values(trace, {s.dim(1)}, {7}));
  EXPECT_FALSE(s.pinned().symbolic());
}

}  // namespace
}  // namespace walle::tensor
