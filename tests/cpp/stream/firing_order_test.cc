#include "stream/match/firing_order.h"

#include <gtest/gtest.h>

#include <numeric>

namespace walle::stream {
namespace {

// Triggers are added in the order of falling numbers.
std::vector<std::pair<uint16_t, uint32_t>> given(FiringOrder& order, uint16_t triggers) {
  std::vector<std::pair<uint16_t, uint32_t>> out;
  order.give_all([&](uint16_t trigger) { return static_cast<uint16_t>(triggers - 1 - trigger); },
                 [](const EndedMatch& m) { return uint64_t{100} - m.partition; },
                 [&](const EndedMatch& m) { out.emplace_back(m.trigger, m.partition); });
  EXPECT_TRUE(order.empty());
  return out;
}

TEST(FiringOrder, IsThatOfAddingHoweverManyEnd) {
  constexpr uint16_t kTriggers = 5000;  // more words of bits than one word of words tells of
  for (const uint16_t count : {1, 2, 3, 4, 70, 5000}) {
    FiringOrder order;
    for (uint16_t t = 0; t < kTriggers; ++t) EXPECT_EQ(order.take_place(), t);
    for (uint16_t i = 0; i < count; ++i)
      order.put({.start = 1, .partition = 0, .trigger = static_cast<uint16_t>(i * 7 % kTriggers)});
    const auto all = given(order, kTriggers);
    ASSERT_EQ(all.size(), count);
    EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend())) << count;
  }
}

TEST(FiringOrder, OfSeveralKeysIsByStartAndKey) {
  FiringOrder order;
  for (uint16_t t = 0; t < 2; ++t) order.take_place();
  order.put({.start = 5, .partition = 1, .trigger = 0});
  order.put({.start = 5, .partition = 2, .trigger = 0});
  order.put({.start = 4, .partition = 3, .trigger = 0});
  order.put({.start = 9, .partition = 1, .trigger = 1});
  using Pairs = std::vector<std::pair<uint16_t, uint32_t>>;
  EXPECT_EQ(given(order, 2), (Pairs{{1, 1}, {0, 3}, {0, 2}, {0, 1}}));
}

TEST(FiringOrder, HasPlacesForAWhileAndThenBeginsAnew) {
  FiringOrder order;
  int places = 0;
  while (!order.is_full(10)) places = order.take_place() + 1;
  EXPECT_GT(places, 20);
  order.start_over();
  EXPECT_EQ(order.take_place(), 0);
}

}  // namespace
}  // namespace walle::stream
