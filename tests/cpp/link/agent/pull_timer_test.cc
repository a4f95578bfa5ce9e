#include "link/agent/pull_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace walle::link {
namespace {

constexpr int64_t kSecond = 1'000'000, kHour = 3600 * kSecond;

TEST(PullTimer, PullsAtTheStart) { EXPECT_EQ(PullTimer(1, {}, 77).due_us(), 77); }

TEST(PullTimer, ComesBackWithinSixToEighteenHours) {
  std::set<int64_t> dues;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    PullTimer timer(seed, {}, 0);
    timer.pulled(PullEnd::settled, 5, 0);
    EXPECT_GE(timer.due_us(), 6 * kHour);
    EXPECT_LE(timer.due_us(), 18 * kHour);
    dues.insert(timer.due_us() / kHour);
  }
  EXPECT_GE(dues.size(), 11u) << "they spread";
}

TEST(PullTimer, ANewerEpochPullsAndAnOlderOneDoesNot) {
  PullTimer timer(1, {}, 0);
  timer.pulled(PullEnd::settled, 5, 0);
  const int64_t due = timer.due_us();
  timer.heard(5, kSecond);
  timer.heard(4, kSecond);
  EXPECT_EQ(timer.due_us(), due);
  timer.heard(6, kSecond);
  EXPECT_EQ(timer.due_us(), kSecond);
}

TEST(PullTimer, AMessageSaysOverWhichTimeDevicesSpread) {
  int64_t latest = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    PullTimer timer(seed, {}, 0);
    timer.pulled(PullEnd::settled, 5, 0);
    timer.heard(6, kSecond, 5);
    EXPECT_GE(timer.due_us(), kSecond);
    EXPECT_LE(timer.due_us(), 6 * kSecond);
    latest = std::max(latest, timer.due_us());
    timer.heard(7, kSecond, 0);  // a kill
    EXPECT_EQ(timer.due_us(), kSecond);
  }
  EXPECT_GT(latest, 4 * kSecond);
}

TEST(PullTimer, AnEpochThatIsNotThereCostsFewerAndFewerPulls) {
  PullTimer timer(1, {}, 0);
  int64_t now = 0;
  int pulls = 0;
  timer.pulled(PullEnd::settled, 5, now);
  // Every tenth of a second for an hour, a reply says so.
  for (; now < kHour; now += kSecond / 10) {
    timer.heard(1'000'000, now);
    if (timer.due_us() > now) continue;
    timer.begins();
    timer.pulled(PullEnd::settled, 5, now);
    ++pulls;
  }
  EXPECT_LE(pulls, 14);
  EXPECT_GE(pulls, 8);
  // A true one still counts, within the time that is left.
  timer.heard(6, now);
  EXPECT_LE(timer.due_us(), now + 600 * kSecond);
}

TEST(PullTimer, WhatIsHeardWhileAPullIsUnderWayIsPulledForBehindIt) {
  PullTimer timer(1, {}, 0);
  timer.heard(6, kSecond);
  timer.begins();
  timer.heard(7, 2 * kSecond);  // told once
  timer.pulled(PullEnd::settled, 6, 3 * kSecond);
  EXPECT_EQ(timer.due_us(), 3 * kSecond);
  timer.begins();
  timer.pulled(PullEnd::settled, 7, 4 * kSecond);
  EXPECT_GE(timer.due_us(), 6 * kHour);
}

TEST(PullTimer, WhoAsksWhileAPullIsUnderWayGetsAnother) {
  PullTimer timer(1, {}, 0);
  for (const PullEnd end : {PullEnd::settled, PullEnd::waits, PullEnd::failed}) {
    timer.begins();
    timer.ask(kSecond);
    timer.pulled(end, 5, 2 * kSecond);
    EXPECT_EQ(timer.due_us(), 2 * kSecond);
    timer.begins();
    timer.pulled(end, 5, 3 * kSecond);
    EXPECT_GT(timer.due_us(), 3 * kSecond);
  }
}

TEST(PullTimer, ALieHeardWhileAPullIsUnderWayCostsOneMore) {
  PullTimer timer(1, {}, 0);
  timer.begins();
  timer.heard(1'000'000, kSecond);
  timer.pulled(PullEnd::settled, 5, kSecond);
  EXPECT_EQ(timer.due_us(), kSecond);
  timer.begins();
  timer.heard(1'000'000, 2 * kSecond);
  timer.pulled(PullEnd::settled, 5, 2 * kSecond);
  EXPECT_GE(timer.due_us(), 6 * kHour);
}

TEST(PullTimer, FailuresComeBackLaterAndLater) {
  PullTimer timer(3, {}, 0);
  int64_t now = 0;
  for (int i = 0; i < 200; ++i) {
    timer.pulled(PullEnd::failed, 0, now);
    const int64_t wait = timer.due_us() - now;
    EXPECT_GE(wait, 5 * kSecond);
    EXPECT_LE(wait, kHour);
    now = timer.due_us();
  }
  EXPECT_GT(now, 24 * kHour) << "200 failures at 5 s each would be 17 minutes";
  timer.pulled(PullEnd::settled, 1, now);
  timer.pulled(PullEnd::failed, 1, now);
  EXPECT_LE(timer.due_us() - now, 15 * kSecond) << "from the beginning again";
}

TEST(PullTimer, APlaceInAReleaseIsAskedForAtASteadyPace) {
  PullTimer timer(3, {}, 0);
  for (int i = 0; i < 100; ++i) {
    timer.pulled(PullEnd::waits, 5, 0);
    EXPECT_GE(timer.due_us(), 5 * kSecond);
    EXPECT_LE(timer.due_us(), 10 * kSecond);
  }
}

}  // namespace
}  // namespace walle::link
