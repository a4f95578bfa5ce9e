// Arithmetic on untrusted sizes, and the fingerprints made of them.
#include "base/checked.h"

#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "seed.h"

namespace walle::base {
namespace {
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Checked, OverflowIsAnAnswer) {
  EXPECT_EQ(checked_mul(3, -4), -12);
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_FALSE(checked_mul(kMax, 2));
  EXPECT_FALSE(checked_mul(int64_t{1} << 40, int64_t{1} << 40));
  EXPECT_FALSE(checked_mul(kMin, -1));
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_FALSE(checked_add(kMax, 1));
  EXPECT_FALSE(checked_add(kMin, -1));
}

TEST(Checked, AgreesWithWiderArithmetic) {
  const uint32_t seed = test_seed();
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<int64_t>(rng()) >> (rng() % 64),
               b = static_cast<int64_t>(rng()) >> (rng() % 64);
    const __int128 product = static_cast<__int128>(a) * b, sum = static_cast<__int128>(a) + b;
    ASSERT_EQ(checked_mul(a, b).has_value(), product >= kMin && product <= kMax)
        << a << " * " << b << " seed " << seed;
    ASSERT_EQ(checked_add(a, b).has_value(), sum >= kMin && sum <= kMax)
        << a << " + " << b << " seed " << seed;
    if (checked_mul(a, b)) {
      ASSERT_EQ(*checked_mul(a, b), static_cast<int64_t>(product)) << "seed " << seed;
    }
  }
}

TEST(Checked, RoundsUp) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(6, 3), 2);
}

// Plans and packed weights are found by fingerprints: neighbouring inputs must not meet.
TEST(Hash, NeighboursDiffer) {
  std::set<uint64_t> seen;
  for (int64_t i = 0; i < 10000; ++i) seen.insert(Hasher().value(i).finish());
  EXPECT_EQ(seen.size(), 10000u);
  EXPECT_EQ(Hasher().text("abc").finish(), Hasher().text("abc").finish());
  EXPECT_NE(Hasher().text("ab").text("c").finish(), Hasher().text("a").text("bc").finish());
  EXPECT_NE(Hasher().value(int32_t{1}).finish(), Hasher().value(int64_t{1}).finish());
}

}  // namespace
}  // namespace walle::base
