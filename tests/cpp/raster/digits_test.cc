// Destination views as number systems: every written address gives its index back by division, addresses
// between them do not, and views that write an element twice are refused.
#include "raster/digits.h"

#include <gtest/gtest.h>

#include <map>

#include "random_moves.h"

namespace walle::raster {
namespace {

using namespace testing;  // NOLINT: the helpers are this test's vocabulary

// The source of an address by the digits alone; nullopt when it is none of the region's.
std::optional<int64_t> source_by_division(const Digits& digits, int64_t address) {
  int64_t rest = address - digits.dst;
  int64_t src = digits.src;
  if (rest < 0) return std::nullopt;
  for (const Digit& d : digits.list) {
    if (rest / d.unit >= d.size) return std::nullopt;
    src += rest / d.unit * d.src;
    rest %= d.unit;
  }
  EXPECT_EQ(rest, 0) << "the last unit is 1";
  return src;
}

TEST(Digits, DivisionFindsTheSourceOfEveryWrittenAddressAndOfNoOther) {
  const std::vector<int64_t> size{3, 1, 2, 4};
  const std::vector<int64_t> ss{8, 5, 4, 1};
  for (const std::vector<int64_t>& ds :
       {std::vector<int64_t>{40, 7, 20, 3}, {-40, 7, 20, -3}, {1, 7, 3, 6}}) {
    const Region r = strided_region(0, size, 0, ss, 200, ds);
    const auto digits = digits_of(r);
    ASSERT_TRUE(digits) << ds[0];
    std::map<int64_t, int64_t> pairs;
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 4; ++k)
          pairs[200 + i * ds[0] + j * ds[2] + k * ds[3]] = i * ss[0] + j * ss[2] + k * ss[3];
    ASSERT_EQ(pairs.size(), 24u);
    EXPECT_EQ(digits->dst, pairs.begin()->first);
    EXPECT_EQ(digits->dst + digits->reach(), pairs.rbegin()->first);
    for (int64_t address = 0; address < 400; ++address) {
      const auto found = source_by_division(*digits, address);
      const auto pair = pairs.find(address);
      ASSERT_EQ(found.has_value(), pair != pairs.end()) << address;
      if (!found) continue;
      ASSERT_EQ(*found, pair->second) << address;
    }
  }
}

TEST(Digits, RefusesWhatWritesTwiceAndWhatInterleaves) {
  const auto made = [](std::vector<int64_t> size, std::vector<int64_t> ds) {
    return digits_of(strided_region(0, size, 0, ds, 0, ds)).has_value();
  };
  EXPECT_FALSE(made({2}, {0})) << "a sum";
  EXPECT_FALSE(made({2, 3}, {2, 1})) << "sliding windows";
  EXPECT_FALSE(made({2, 3}, {3, 2})) << "six addresses, but no system: the condition is only sufficient";
  EXPECT_TRUE(made({2, 3}, {3, 1}));
  EXPECT_TRUE(made({1, 3}, {0, 1})) << "an axis of one step says nothing";
}

}  // namespace
}  // namespace walle::raster
