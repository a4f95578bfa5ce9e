#include "raster/algebra.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_moves.h"
#include "raster/compose.h"
#include "raster/simplify.h"
#include "raster/uncovered.h"

namespace walle::raster {
namespace {

using namespace testing;  // NOLINT: the helpers are this test's vocabulary

// <A x, y> == <x, A^T y> for every movement, in exact integer arithmetic.
TEST(Algebra, AdjointIsTheTransposedMap) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const Dims shape = random_shape(rng);
    const Move m = random_move(rng, shape, Fill{});
    const auto x = numbered(product(shape));
    auto y = numbered(product(m.shape));
    std::shuffle(y.begin(), y.end(), rng);
    const auto ax = apply(m.raster, x, product(m.shape));
    const auto aty = apply(adjoint(m.raster, 0), y, product(shape));
    int64_t left = 0, right = 0;
    for (size_t i = 0; i < y.size(); ++i) left += int64_t{ax[i]} * y[i];
    for (size_t i = 0; i < x.size(); ++i) right += int64_t{x[i]} * aty[i];
    ASSERT_EQ(left, right) << "seed " << seed << " " << m.raster.text();
  }
}

TEST(Algebra, AdjointOfATransposeIsAPlainCopy) {
  Rng rng(1);
  const Move m = transpose(rng, {3, 4, 5});
  EXPECT_FALSE(adjoint(m.raster, 0).accumulate);
  EXPECT_TRUE(adjoint(tile(rng, {3, 4}).raster, 0).accumulate);
}

TEST(Algebra, InverseUndoesPermutations) {
  int inverted = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const Dims shape = random_shape(rng);
    const Move m = random_move(rng, shape, Fill{});
    const auto back = invert(m.raster, product(shape), product(m.shape));
    if (!back) continue;
    ++inverted;
    const auto x = numbered(product(shape));
    ASSERT_EQ(apply(*back, apply(m.raster, x, product(m.shape)), product(shape)), x) << "seed " << seed;
  }
  EXPECT_GT(inverted, 100);
}

TEST(Algebra, NoInverseWhereSomethingIsLostOrRepeated) {
  Raster half, twice;
  half.regions.push_back(contiguous_region(0, 4));
  EXPECT_FALSE(invert(half, 8, 4));
  twice.regions = {contiguous_region(0, 4, 0, 0), contiguous_region(0, 4, 0, 4)};
  EXPECT_FALSE(invert(twice, 8, 8));
}

TEST(Algebra, EqualityIsProvedAcrossCuts) {
  Raster whole, parts, other;
  whole.regions.push_back(strided_region(0, Dims{4, 6}, 0, Dims{1, 4}, 0, Dims{6, 1}));
  parts.regions = {strided_region(0, Dims{6, 3}, 0, Dims{4, 1}, 0, Dims{1, 6}),
                   strided_region(0, Dims{6}, 3, Dims{4}, 18, Dims{1})};
  EXPECT_TRUE(prove_equal(whole, parts));
  EXPECT_TRUE(prove_equal(parts, whole));
  other = parts;
  other.regions[1].src.offset = 2;
  EXPECT_FALSE(prove_equal(whole, other));
}

// Composition is associative up to proof.
TEST(Algebra, ComposingInEitherOrderIsProvedEqual) {
  int proved = 0, tried = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const Dims s0 = random_shape(rng);
    const Move a = random_move(rng, s0, Fill{});
    const Move b = random_move(rng, a.shape, Fill{});
    const Move c = random_move(rng, b.shape, Fill{});
    const auto ba = compose(b.raster, 0, a.raster, 0, 400);
    const auto cb = compose(c.raster, 0, b.raster, 0, 400);
    if (!ba || !cb) continue;
    const auto left = compose(c.raster, 0, *ba, 0, 400);
    const auto right = compose(*cb, 0, a.raster, 0, 400);
    if (!left || !right) continue;
    ++tried;
    proved += prove_equal(*left, *right);
    ASSERT_EQ(left->fill.has_value(), right->fill.has_value()) << "seed " << seed;
  }
  EXPECT_GT(tried, 300);
  EXPECT_EQ(proved, tried);
}

TEST(Algebra, UncoveredIsWhatNobodyWrites) {
  int tried = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    Rng rng(seed);
    const Dims shape = random_shape(rng);
    Fill fill;
    fill.bytes[0] = std::byte{9};
    const Move m = pad(rng, shape, fill);
    const Move n = pad(rng, m.shape, fill);
    auto both = compose(n.raster, 0, m.raster, 0, 100);
    ASSERT_TRUE(both);
    const int64_t elements = product(n.shape);
    if (seed % 2) {  // a second region somewhere in the uncovered part
      both->regions.push_back(contiguous_region(0, 1, 0, pick(rng, 0, elements - 1)));
      if (!disjoint_destinations(*both)) continue;
    }
    const auto holes = uncovered(*both, elements, 1000);
    ASSERT_TRUE(holes) << both->text();
    ++tried;
    std::vector<int32_t> truth = apply(*both, numbered(product(shape)), elements);
    Raster fill_only;
    fill_only.regions = *holes;
    const std::vector<int32_t> nines(static_cast<size_t>(elements), 9);
    std::vector<int32_t> filled = apply(fill_only, nines, elements);
    Raster copies = *both;
    copies.fill.reset();
    const std::vector<int32_t> copied = apply(copies, numbered(product(shape)), elements);
    for (size_t i = 0; i < truth.size(); ++i) {
      ASSERT_TRUE((filled[i] == -7) != (copied[i] == -7)) << "seed " << seed << " element " << i;
      ASSERT_EQ(truth[i], copied[i] == -7 ? filled[i] : copied[i]);
    }
  }
  EXPECT_GT(tried, 300);
}

TEST(Algebra, OverlapsAreSeen) {
  Raster r;
  r.regions = {contiguous_region(0, 4, 0, 0), contiguous_region(0, 4, 0, 4)};
  EXPECT_TRUE(disjoint_destinations(r));
  r.regions[1].dst.offset = 3;
  EXPECT_FALSE(disjoint_destinations(r));
}

}  // namespace
}  // namespace walle::raster
