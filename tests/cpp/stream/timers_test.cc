#include <gtest/gtest.h>

#include "stream/match/idle_timers.h"
#include "stream/match/partition.h"
#include "stream/match/period.h"
#include "stream/match/timer_heap.h"

namespace walle::stream {
namespace {

Timer timer(int64_t deadline, uint32_t order, uint16_t trigger) {
  return {.deadline = deadline, .order = order, .tie = 0, .partition = kNoPartition, .trigger = trigger};
}

TEST(TimerHeap, GivesTheEarliestAndOfEqualOnesTheFirstAdded) {
  TimerHeap heap;
  heap.push(timer(30, 0, 0));
  heap.push(timer(10, 2, 2));
  heap.push(timer(10, 1, 1));
  heap.push(timer(20, 3, 3));
  std::vector<uint16_t> order;
  while (!heap.empty()) order.push_back(heap.pop().trigger);
  EXPECT_EQ(order, (std::vector<uint16_t>{1, 2, 3, 0}));
}

TEST(TimerHeap, StaysInOrderWhenATriggerGoesAndPlacesChange) {
  TimerHeap heap;
  for (uint16_t i = 0; i < 8; ++i) heap.push(timer(10 + i % 2, 10u * i, i));
  heap.drop(4);
  heap.renumber([](uint16_t trigger) { return trigger; });
  std::vector<uint16_t> order;
  while (!heap.empty()) order.push_back(heap.pop().trigger);
  EXPECT_EQ(order, (std::vector<uint16_t>{0, 2, 6, 1, 3, 5, 7}));
}

TEST(TimerHeap, AllocatesNothingWithinWhatWasReserved) {
  TimerHeap heap;
  heap.reserve(5);
  const size_t bytes = heap.memory_bytes();
  EXPECT_EQ(heap.memory_bytes_at_most(5), bytes);
  for (uint16_t i = 0; i < 5; ++i) heap.push(timer(i, i, i));
  EXPECT_EQ(heap.memory_bytes(), bytes);
}

TEST(IdleTimers, FallDueInOrderUntilAnEventComes) {
  IdleTimers idle;
  idle.add(50, 1);
  idle.add(20, 2);
  ASSERT_TRUE(idle.any_left());
  EXPECT_EQ(idle.next_us(), 20);
  EXPECT_EQ(idle.take_next(), 2);
  // One that would have been due already is not due any more.
  idle.add(10, 3);
  EXPECT_EQ(idle.take_next(), 1);
  EXPECT_FALSE(idle.any_left());
  idle.rewind();
  EXPECT_EQ(idle.take_next(), 3);
  idle.drop(2);
  idle.rewind_to(11);
  EXPECT_EQ(idle.take_next(), 1);
}

TEST(Period, CountsFromThenOnAndBefore) {
  const LocalTime utc(0);
  EXPECT_EQ(next_due(TimerKind::every, 10, 20, utc), 30);
  EXPECT_EQ(last_due(TimerKind::every, 10, 20, utc), 10);
  EXPECT_EQ(next_due(TimerKind::every, 10, -1, utc), 0);
  EXPECT_EQ(last_due(TimerKind::every, 10, -1, utc), -10);
  const LocalTime ahead(3600 * int64_t{1'000'000});
  const int64_t three = 3 * ahead.of(0);
  EXPECT_EQ(next_due(TimerKind::daily, three, 0, ahead), 2 * ahead.of(0));
  EXPECT_EQ(last_due(TimerKind::daily, three, 2 * ahead.of(0), ahead), 2 * ahead.of(0) - kDayUs);
}

}  // namespace
}  // namespace walle::stream
