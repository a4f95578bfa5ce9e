#include "stream/event/log_state.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "stream/event/event_log.h"
#include "stream/operators/privacy.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

constexpr const char* kState = "/log/state.wals";
constexpr const char* kMirror = "/log/state.wals.mirror";
constexpr double kSpent = 0.9;
constexpr double kLimit = 1.0;

std::unique_ptr<EventLog> opened(FaultEnv& env) {
  auto log = EventLog::open(env, "/log", Catalog(), {.journal_bytes = 8192});
  EXPECT_TRUE(log.ok()) << log.error().message();
  return log.ok() ? std::move(*log) : nullptr;
}

void used(FaultEnv& env) {
  const auto log = opened(env);
  ASSERT_TRUE(PrivacyAccount(log->log_state(), "clicks", kLimit).spend(kSpent).ok());
  ASSERT_TRUE(log->log_state().set_cursor("reader", 5).ok());
  Event e;
  e.event = *log->catalog().find_event("click");
  e.ts = env.wall_us();
  ASSERT_TRUE(log->append(e).ok());
}

TEST(LogState, DamageToOneCopyForgetsNothingAndIsReported) {
  for (const char* damaged : {kState, kMirror}) {
    FaultEnv env;
    used(env);
    const std::string good = env.file(damaged);
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      env.file(damaged)[bit / 8] = static_cast<char>(good[bit / 8] ^ (1 << bit % 8));
      const auto log = opened(env);
      EXPECT_EQ(log->report().mended_copies, 1u) << bit;
      EXPECT_FALSE(log->report().state_lost);
      PrivacyAccount account(log->log_state(), "clicks", kLimit);
      ASSERT_EQ(*account.spent(), kSpent) << bit;
      ASSERT_FALSE(account.spend(0.2).ok());
      ASSERT_EQ(*log->log_state().cursor("reader"), 5u) << bit;
      ASSERT_EQ(env.file(damaged), good) << bit;
    }
    for (size_t size = 0; size <= good.size(); ++size) {
      if (size == good.size())
        ASSERT_TRUE(env.remove_file(damaged).ok());
      else
        env.file(damaged).resize(size);
      ASSERT_EQ(*opened(env)->log_state().spent("clicks"), kSpent) << size;
    }
  }
}

void check_closed(EventLog& log) {
  EXPECT_TRUE(log.report().state_lost);
  PrivacyAccount account(log.log_state(), "clicks", kLimit);
  const Status refused = account.spend(0.01);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("acknowledge"), std::string::npos);
  EXPECT_FALSE(account.spent().ok());
  EXPECT_FALSE(log.log_state().cursor("reader").ok());
}

// Until somebody says what is known, at every open.
TEST(LogState, LosingBothCopiesClosesAccounts) {
  for (const bool removed : {false, true}) {
    FaultEnv env;
    used(env);
    for (const char* path : {kState, kMirror})
      if (removed)
        ASSERT_TRUE(env.remove_file(path).ok());
      else
        env.file(path)[30] ^= 1;
    check_closed(*opened(env));
    check_closed(*opened(env));
    auto log = opened(env);
    ASSERT_TRUE(log->log_state().set_cursor("other", 3).ok());
    EXPECT_EQ(*log->log_state().cursor("other"), 3u);
    EXPECT_FALSE(log->acknowledge_state_loss({{"clicks", -1.0}}).ok());
    ASSERT_TRUE(log->acknowledge_state_loss({{"clicks", 0.5}}).ok());
    EXPECT_FALSE(log->acknowledge_state_loss({}).ok());
    log = nullptr;
    log = opened(env);
    EXPECT_FALSE(log->report().state_lost);
    PrivacyAccount account(log->log_state(), "clicks", kLimit);
    EXPECT_EQ(*account.spent(), 0.5);
    EXPECT_FALSE(account.spend(0.6).ok());
    EXPECT_TRUE(account.spend(0.5).ok());
    EXPECT_EQ(*log->log_state().cursor("reader"), 0u);
  }
}

TEST(LogState, LosingAllButTheEventsIsNoticed) {
  FaultEnv env;
  used(env);
  for (const char* path : {kState, kMirror}) ASSERT_TRUE(env.remove_file(path).ok());
  for (const char* path : {"/log/catalog.walc", "/log/catalog.walc.mirror"})
    ASSERT_TRUE(env.remove_file(path).ok());
  const auto log = EventLog::open(env, "/log", Catalog(), {.journal_bytes = 8192});
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message().find("catalog.walc.mirror"), std::string::npos);
}

// Whatever fails while spending: what was not refused is spent, also after a power loss.
TEST(LogState, EveryFailingOperationKeepsWhatWasSpent) {
  for (int64_t k = 0; k < 60; ++k) {
    FaultEnv env;
    {
      (void)opened(env);
    }
    double allowed = 0;
    env.fail_at(k);
    for (int i = 0; i < 4; ++i) {
      auto log = EventLog::open(env, "/log", Catalog(), {.journal_bytes = 8192});
      if (!log.ok()) continue;
      for (int n = 0; n < 2; ++n)
        if (PrivacyAccount((*log)->log_state(), "clicks", 100).spend(1).ok()) ++allowed;
    }
    env.fail_at(-1);
    env.lose_power(k, 0.5);
    EXPECT_GE(*opened(env)->log_state().spent("clicks"), allowed) << k;
  }
}

TEST(LogState, AKillWhileALogIsMadeIsNoLoss) {
  for (int64_t k = 0; k < 30; ++k) {
    FaultEnv env;
    env.fail_at(k);
    {
      (void)EventLog::open(env, "/log", Catalog(), {.journal_bytes = 8192}).ok();
    }
    env.fail_at(-1);
    EXPECT_FALSE(opened(env)->report().state_lost) << k;
  }
}

TEST(LogState, ALimitThatIsNoNumberAllowsNothing) {
  FaultEnv env;
  const auto log = opened(env);
  EXPECT_FALSE(PrivacyAccount(log->log_state(), "x", std::numeric_limits<double>::quiet_NaN()).spend(1).ok());
}

}  // namespace
}  // namespace walle::stream
