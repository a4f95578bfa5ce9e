#include "raster/compose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "random_moves.h"
#include "raster/simplify.h"
#include "seed.h"

namespace walle::raster {
namespace {

using namespace testing;  // NOLINT: the helpers are this test's vocabulary

// Chains of movement, merged step by step, against the copies one after the other.
TEST(Compose, RandomChainsCopyTheSame) {
  const uint32_t first_seed = test_seed();
  int merges = 0, refused = 0;
  for (uint32_t round = 0; round < 4000; ++round) {
    const uint32_t seed = first_seed + round;
    Rng rng(seed);
    Dims shape = random_shape(rng);
    std::vector<int32_t> truth = numbered(product(shape));
    const std::vector<int32_t> input = truth;
    Raster merged;
    merged.regions.push_back(contiguous_region(0, product(shape)));
    Fill fill;
    fill.bytes[0] = std::byte{9};
    std::vector<int32_t> start = input;
    const int64_t steps = pick(rng, 1, 6);
    for (int64_t step = 0; step < steps; ++step) {
      const Move m = random_move(rng, shape, fill);
      const Dim before = product(shape);
      const int64_t after = product(m.shape);
      ASSERT_TRUE(check(m.raster, std::span(&before, 1), after).ok()) << m.raster.text();
      truth = apply(m.raster, truth, after);
      auto next = compose(m.raster, 0, merged, 0, 400);
      if (next) {
        ++merges;
        // compose() numbers inner's sources from source_base; with 0 both rasters' only source is source 0.
        merged = *next;
        const Dim elements = start.size();
        ASSERT_TRUE(check(merged, std::span(&elements, 1), after).ok())
            << "seed " << seed << " " << merged.text();
        ASSERT_EQ(apply(merged, start, after), truth)
            << "WALLE_TEST_SEED=" << seed << " step " << step << "\n"
            << merged.text();
      } else {
        ++refused;
        start = truth;
        merged = {};
        merged.regions.push_back(contiguous_region(0, after));
      }
      shape = m.shape;
    }
  }
  RecordProperty("seed", static_cast<int>(first_seed));
  std::cout << "seed " << first_seed << ": " << merges << " merges, " << refused << " refused\n";
  EXPECT_LT(refused, merges / 50);
}

TEST(Compose, CancellingTransposesAreOneRun) {
  const Dims a{3, 4}, b{4, 3};
  Raster t1, t2;
  t1.regions.push_back(strided_region(0, b, 0, Dims{1, 4}, 0, strides(b)));
  t2.regions.push_back(strided_region(0, a, 0, Dims{1, 3}, 0, strides(a)));
  const auto both = compose(t2, 0, t1, 0, 16);
  ASSERT_TRUE(both);
  EXPECT_EQ(as_alias(*both, 12), 0) << both->text();
}

TEST(Compose, CropOfPadIsTheTensor) {
  Raster pad, crop;
  pad.regions.push_back(strided_region(0, Dims{4, 4}, 0, Dims{4, 1}, 7, Dims{6, 1}));
  pad.fill = Fill{};
  crop.regions.push_back(strided_region(0, Dims{4, 4}, 7, Dims{6, 1}, 0, Dims{4, 1}));
  const auto both = compose(crop, 0, pad, 0, 16);
  ASSERT_TRUE(both);
  EXPECT_EQ(as_alias(*both, 16), 0) << both->text();
  EXPECT_FALSE(both->fill);
}

TEST(Compose, TwoFillValuesAreNotMerged) {
  Raster inner, outer;
  inner.regions.push_back(contiguous_region(0, 4, 0, 1));
  inner.fill = Fill{};
  inner.fill->bytes[0] = std::byte{1};
  outer.regions.push_back(contiguous_region(0, 6, 0, 1));
  outer.fill = Fill{};
  EXPECT_FALSE(compose(outer, 0, inner, 0, 16));
  inner.fill = Fill{};
  EXPECT_TRUE(compose(outer, 0, inner, 0, 16));
}

TEST(Compose, OverlappingInnerViewIsRefused) {
  Region inner = strided_region(0, Dims{2, 3}, 0, Dims{3, 1}, 0, Dims{2, 1});  // rows overlap by one element
  EXPECT_FALSE(compose(contiguous_region(0, 5), inner, 16));
}

TEST(Compose, DiagonalOfPadIsClipped) {
  Region inner = strided_region(0, Dims{3, 3}, 0, Dims{3, 1}, 6, Dims{5, 1});  // padded by one into 5 x 5
  Region diagonal = strided_region(0, Dims{5}, 0, Dims{6}, 0, Dims{1});
  const auto r = compose(diagonal, inner, 16);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->size(), 1u);
  EXPECT_EQ((*r)[0].size[0], 3);
  EXPECT_EQ((*r)[0].src.stride[0], 4);
  EXPECT_EQ((*r)[0].dst.offset, 1);
}

TEST(Simplify, JoinsPiecesOfOneRun) {
  Raster r;
  r.regions = {contiguous_region(0, 3, 4, 4), contiguous_region(0, 4, 0, 0), contiguous_region(0, 1, 7, 7)};
  simplify(r);
  ASSERT_EQ(r.regions.size(), 1u) << r.text();
  EXPECT_EQ(as_alias(r, 8), 0);
}

TEST(Simplify, ParallelRegionsGetOneMoreAxis) {
  Raster r;
  for (int64_t i = 0; i < 5; ++i) r.regions.push_back(contiguous_region(0, 2, 10 * i, 4 * i));
  simplify(r);
  ASSERT_EQ(r.regions.size(), 1u) << r.text();
  EXPECT_EQ(r.regions[0].rank, 2);
}

TEST(Compose, GivesUpWhenItsStepsAreSpent) {
  Raster outer, inner;
  for (int64_t i = 0; i < 100; ++i) {
    outer.regions.push_back(contiguous_region(0, 1, 99 - i, i));
    inner.regions.push_back(contiguous_region(0, 1, 99 - i, i));
  }
  int64_t steps = 1 << 20;
  const auto merged = compose(outer, 0, inner, 1, 1000, steps);
  ASSERT_TRUE(merged);
  const int64_t used = (1 << 20) - steps;
  EXPECT_GE(used, 100 * 100);
  steps = used - 1;
  EXPECT_FALSE(compose(outer, 0, inner, 1, 1000, steps));
  EXPECT_LE(steps, 0);
}

}  // namespace
}  // namespace walle::raster
