#include "store/number_series.h"

#include <gtest/gtest.h>

namespace walle::store {
namespace {

std::string stored(const NumberSeries& series) {
  base::ByteWriter out;
  series.put(out);
  return out.take();
}

TEST(NumberSeries, StartsAtOneAndGoesOnBehindTheNewest) {
  NumberSeries series;
  EXPECT_EQ(series.next(), 1u);
  EXPECT_EQ(series.in_doubt(), 0u);
  series.newest = 7;
  EXPECT_EQ(series.next(), 8u);
}

TEST(NumberSeries, NumbersThatMayHaveBeenGivenOutAreNotGivenAgain) {
  NumberSeries series{.newest = 7};
  series.reserve(10);
  EXPECT_EQ(series.reserved, 17u);
  EXPECT_EQ(series.in_doubt(), 10u);
  EXPECT_EQ(series.next(), 8u);  // nothing is lost yet
  series.pass_over_reserved();
  EXPECT_EQ(series.next(), 18u);
  series.newest = 12;  // the replay found these
  EXPECT_EQ(series.in_doubt(), 5u);
  EXPECT_EQ(series.next(), 18u);
  series.newest = 20;
  EXPECT_EQ(series.in_doubt(), 0u);
  EXPECT_EQ(series.next(), 21u);
}

TEST(NumberSeries, AFloorNeverSinks) {
  NumberSeries series{.newest = 3, .reserved = 5, .floor = 40};
  series.pass_over_reserved();
  EXPECT_EQ(series.next(), 41u);
}

TEST(NumberSeries, ASecondLossPassesOverWhatCameBehindTheFirst) {
  NumberSeries series{.newest = 7};
  series.reserve(10);
  series.pass_over_reserved();
  series.reserve_behind(10);
  EXPECT_EQ(series.next(), 18u);  // 18 to 27 may be given out
  series.pass_over_reserved();
  EXPECT_EQ(series.next(), 28u);
}

TEST(NumberSeries, ReadsBackWhatCanBeANumber) {
  const NumberSeries series{.newest = 3, .reserved = kMaxSeq - 1, .floor = 2};
  const std::string bytes = stored(series);
  base::ByteReader in(bytes);
  const NumberSeries back = NumberSeries::get(in);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(stored(back), bytes);
  for (const NumberSeries& wrong : {NumberSeries{.newest = kMaxSeq}, NumberSeries{.reserved = kMaxSeq},
                                    NumberSeries{.floor = ~uint64_t{0}}}) {
    const std::string bad = stored(wrong);
    base::ByteReader refused(bad);
    NumberSeries::get(refused);
    EXPECT_FALSE(refused.ok());
  }
}

}  // namespace
}  // namespace walle::store
