#include "container/device/crash_marks.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fault_env.h"
#include "seed.h"

namespace walle::container {
namespace {

using base::FaultEnv;

constexpr const char* kFile = "/d/marks.walm";

struct Life {
  explicit Life(FaultEnv& env) : marks(std::move(CrashMarks::open(env, "/d")).value()) {}
  std::unique_ptr<CrashMarks> marks;
  Deaths deaths;

  Mark claim(const std::string& task = "shop", const std::string& version = "shop-1") {
    return marks->claim(task, version, deaths);
  }
};

TEST(CrashMarks, CountsProcessesThatEndInAPhase) {
  FaultEnv env;
  for (uint32_t life = 0; life < 4; ++life) {
    Life now(env);
    Mark mark = now.claim();
    EXPECT_EQ(now.deaths.count, life);
    EXPECT_EQ(now.deaths.phase, life == 0 ? std::nullopt : std::optional(Phase::execute));
    mark.begin(Phase::preprocess);
    mark.begin(Phase::execute);
  }
}

TEST(CrashMarks, CountsNothingBetweenPhases) {
  FaultEnv env;
  {
    Life now(env);
    Mark mark = now.claim();
    mark.begin(Phase::main);
    mark.rest();
  }
  Life now(env);
  (void)now.claim();
  EXPECT_EQ(now.deaths.count, 0u);
}

TEST(CrashMarks, KeepsTheCountUntilAFiringIsSettled) {
  FaultEnv env;
  {
    Life now(env);
    now.claim().begin(Phase::main);
  }
  {
    Life now(env);
    Mark mark = now.claim();
    EXPECT_EQ(now.deaths.count, 1u);
    mark.begin(Phase::main);
    mark.rest();  // a closed device puts its firing back
  }
  {
    Life now(env);
    Mark mark = now.claim();
    EXPECT_EQ(now.deaths.count, 1u);
    EXPECT_EQ(now.deaths.phase, std::nullopt);
    mark.end();
  }
  Life now(env);
  (void)now.claim();
  EXPECT_EQ(now.deaths.count, 0u);
}

TEST(CrashMarks, AnotherVersionAndAnotherTaskBeginAtZero) {
  FaultEnv env;
  {
    Life now(env);
    now.claim().begin(Phase::main);
  }
  Life now(env);
  (void)now.claim("shop", "shop-2");
  EXPECT_EQ(now.deaths.count, 0u);
  (void)now.claim("shop2", "shop-1");
  EXPECT_EQ(now.deaths.count, 0u);
}

TEST(CrashMarks, WhatIsReleasedOrNotClaimedIsForgotten) {
  FaultEnv env;
  for (const bool released : {true, false}) {
    {
      Life now(env);
      now.claim().begin(Phase::main);
      if (released) now.marks->release("shop");
    }
    {
      Life now(env);
      if (!released) now.marks->sweep();
    }
    Life now(env);
    (void)now.claim();
    EXPECT_EQ(now.deaths.count, 0u) << released;
  }
}

TEST(CrashMarks, AsManyAsADeviceMayHave) {
  FaultEnv env;
  constexpr int kTasks = 4096;
  {
    Life now(env);
    for (int i = 0; i < kTasks; ++i) now.claim("t" + std::to_string(i)).begin(Phase::main);
    // One more has no word, and none is taken away for it.
    now.claim("one more").begin(Phase::main);
  }
  Life now(env);
  for (int i = 0; i < kTasks; ++i) {
    (void)now.claim("t" + std::to_string(i));
    EXPECT_EQ(now.deaths.count, 1u) << i;
  }
}

// The file may hold anything: no phase that is none, and no more than one word is believed of a flipped bit.
TEST(CrashMarks, DamageIsForgotten) {
  std::mt19937 random(test_seed());
  for (int trial = 0; trial < 200; ++trial) {
    FaultEnv env;
    {
      Life now(env);
      now.claim().begin(Phase::execute);
    }
    {
      Result<std::unique_ptr<base::WritableMap>> map = env.map_writable(kFile, 4096 * 8);
      ASSERT_TRUE(map.ok());
      (*map)->bytes()[random() % 8] ^= std::byte(1 << random() % 8);
    }
    Life now(env);
    (void)now.claim();
    EXPECT_EQ(now.deaths.count, 0u);
  }
  FaultEnv env;
  {
    Result<std::unique_ptr<base::WritableMap>> map = env.map_writable(kFile, 4096 * 8);
    ASSERT_TRUE(map.ok());
    for (std::byte& byte : (*map)->bytes()) byte = std::byte(random());
  }
  Life now(env);
  for (int i = 0; i < 100; ++i) {
    Mark mark = now.claim("t" + std::to_string(i));
    if (now.deaths.phase) {
      EXPECT_LE(*now.deaths.phase, Phase::call);
    }
    mark.begin(Phase::main);
    mark.end();
  }
}

}  // namespace
}  // namespace walle::container
