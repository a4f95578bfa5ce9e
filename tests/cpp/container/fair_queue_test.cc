// Who is next, and that time is shared by weight.
#include "container/device/fair_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace walle::container {
namespace {

using Member = FairQueue::Member;

TEST(FairQueue, EqualsTakeTurnsInTheOrderTheyCame) {
  FairQueue queue;
  queue.reserve(3);
  std::array<Member, 3> members;
  for (Member& m : members) queue.push(m);
  for (int round = 0; round < 4; ++round) {
    for (Member& m : members) {
      Member* next = queue.pop();
      ASSERT_EQ(next, &m);
      FairQueue::charge(*next, 100);
      queue.push(*next);
    }
  }
}

TEST(FairQueue, TimeIsSharedByWeightHoweverLongFiringsAre) {
  FairQueue queue;
  queue.reserve(3);
  std::array<Member, 3> members;
  std::array<int64_t, 3> used{};
  for (size_t i = 0; i < 3; ++i) {
    members[i].weight = FairQueue::weight_of(static_cast<uint8_t>(i));
    queue.push(members[i]);
  }
  std::mt19937 random(3);
  int64_t total = 0;
  while (total < 7'000'000) {
    Member* next = queue.pop();
    const auto who = static_cast<size_t>(next - members.data());
    // The lightest has the longest firings.
    const int64_t us = static_cast<int64_t>(random() % (who == 0 ? 4000 : 100));
    used[who] += us;
    total += us;
    FairQueue::charge(*next, us);
    queue.push(*next);
  }
  EXPECT_NEAR(static_cast<double>(used[0]), 1e6, 2e4);
  EXPECT_NEAR(static_cast<double>(used[1]), 2e6, 2e4);
  EXPECT_NEAR(static_cast<double>(used[2]), 4e6, 2e4);
}

TEST(FairQueue, WhoWasAwayHasSavedUpNothing) {
  FairQueue queue;
  queue.reserve(2);
  Member busy, away;
  queue.push(busy);
  for (int i = 0; i < 1000; ++i) {
    Member* next = queue.pop();
    FairQueue::charge(*next, 1000);
    queue.push(*next);
  }
  queue.push(away);
  int in_a_row = 0;
  for (; queue.pop() == &away; ++in_a_row) {
    FairQueue::charge(away, 1000);
    queue.push(away);
    ASSERT_LT(in_a_row, 3);
  }
}

TEST(FairQueue, FiringsThatTakeNoTimeLetOthersIn) {
  FairQueue queue;
  queue.reserve(2);
  Member quick, other;
  quick.weight = FairQueue::weight_of(255);
  queue.push(quick);
  queue.push(other);
  bool came = false;
  for (int i = 0; i < 10 && !came; ++i) {
    Member* next = queue.pop();
    came = next == &other;
    FairQueue::charge(*next, 0);
    queue.push(*next);
  }
  EXPECT_TRUE(came);
}

}  // namespace
}  // namespace walle::container
