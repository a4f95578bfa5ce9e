// Clocks that were wrong, events that come late, and times that are none.
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

TEST(LogClock, ADayAheadIsOverWithinMinutesOfTheCorrection) {
  FaultEnv env;
  auto log = open_log(env);
  const int64_t real = env.wall_us();
  env.advance_us(23 * kHourUs);
  const Event wrong = *put(*log, env.wall_us());
  // Corrected: an event every ten seconds, by the right clock.
  Event last;
  int64_t stood = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t now = real + i * 10 * kSecondUs;
    env.set_wall_us(now);
    last = *put(*log, now);
    EXPECT_EQ(last.own_ts, now);
    EXPECT_GE(last.ts, wrong.ts);
    if (last.ts == wrong.ts) stood = now - real;
  }
  EXPECT_LE(stood, 2 * kMinuteUs);
  EXPECT_EQ(last.ts - wrong.ts, 590 * kSecondUs) << "no time is lost";
  EXPECT_TRUE(last.flags & kTimeShifted);
  EXPECT_EQ(log->stats().rebased_clocks, 1u);
  EXPECT_EQ(last.session, wrong.session);
  // Sessions end, after a restart too.
  log.reset();
  log = open_log(env);
  env.advance_us(31 * kMinuteUs);
  const Event next = *put(*log, env.wall_us());
  EXPECT_EQ(next.session, next.seq);
}

TEST(LogClock, PausesGiveTheShiftBackAndTimeIsTheClocksAgain) {
  FaultEnv env;
  auto log = open_log(env);
  const int64_t real = env.wall_us();
  ASSERT_TRUE(put(*log, real + 23 * kHourUs).ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(put(*log, real + i * 10 * kSecondUs).ok());
  int64_t now = real + kHourUs;
  Event last;
  for (int night = 0; night < 4; ++night) {
    now += 8 * kHourUs;
    env.set_wall_us(now);
    last = *put(*log, now);
    EXPECT_EQ(last.session, last.seq);
  }
  EXPECT_EQ(last.ts, now);
  EXPECT_FALSE(last.flags & kTimeShifted);
}

TEST(LogClock, OneLateEventKeepsItsOwnTimeAndMovesNothing) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 10);
  const int64_t now = env.wall_us();
  const Event late = *put(*log, now - kHourUs);
  EXPECT_EQ(late.own_ts, now - kHourUs);
  EXPECT_EQ(late.ts, now - kSecondUs);
  EXPECT_TRUE(late.flags & kTimeRepaired);
  EXPECT_TRUE(late.flags & kTimeLate);
  const Event next = *put(*log, now);
  EXPECT_EQ(next.ts, now);
  EXPECT_EQ(next.flags, 0);
  EXPECT_EQ(log->stats().late_events, 1u);
}

// An hour of what a sensor held back, delivered at once, is no correction of the clock.
TEST(LogClock, ABurstOfLateEventsIsNoCorrection) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 3);
  const int64_t now = env.wall_us();
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(put(*log, now - kHourUs + i * kMinuteUs / 2)->flags & kTimeLate);
  EXPECT_EQ(put(*log, now)->ts, now);
  EXPECT_EQ(log->stats().rebased_clocks, 0u);
}

TEST(LogClock, OwnTimesOutliveCompactionAndRestarts) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 5);
  const int64_t now = env.wall_us();
  ASSERT_TRUE(put(*log, now - kHourUs).ok());
  ASSERT_TRUE(put(*log, now).ok());
  const auto own = [&] {
    std::vector<int64_t> out;
    EXPECT_TRUE(log->read(0,
                          [&](const Event& e) {
                            out.push_back(e.own_ts);
                            return true;
                          })
                    .ok());
    return out;
  };
  const auto before = own();
  EXPECT_EQ(before[5], now - kHourUs);
  ASSERT_TRUE(log->compact().ok());
  EXPECT_EQ(own(), before);
  log.reset();
  log = open_log(env);
  EXPECT_EQ(own(), before);
}

TEST(LogClock, ARestartInTheMiddleOfACorrectionChangesNothing) {
  const auto times = [](int restart_at) {
    FaultEnv env;
    auto log = open_log(env);
    const int64_t real = env.wall_us();
    std::vector<int64_t> out{put(*log, real + 5 * kHourUs)->ts};
    for (int i = 0; i < 40; ++i) {
      if (i == restart_at) {
        log.reset();
        log = open_log(env);
      }
      out.push_back(put(*log, real + i * 10 * kSecondUs)->ts);
    }
    return out;
  };
  const auto whole = times(-1);
  for (const int at : {0, 1, 5, 12, 13, 20}) EXPECT_EQ(times(at), whole) << at;
}

TEST(LogClock, SecondsAndMillisecondsAreRefusedWithTheFactor) {
  FaultEnv env;
  auto log = open_log(env);
  const auto message = [&](int64_t ts) {
    const auto r = put(*log, ts);
    return r.ok() ? std::string("accepted") : r.error().message();
  };
  const int64_t now = env.wall_us();
  EXPECT_NE(message(now / 1'000'000).find("multiply it by 1,000,000"), std::string::npos);
  EXPECT_NE(message(now / 1000).find("multiply it by 1,000"), std::string::npos);
  EXPECT_EQ(message(now / 1000).find("1,000,000"), std::string::npos);
  EXPECT_NE(message(0).find("seconds"), std::string::npos);
  EXPECT_EQ(message(kLeastTimeUs), "accepted");
  EXPECT_EQ(log->last_seq(), 1u);
}

}  // namespace
}  // namespace walle::stream
