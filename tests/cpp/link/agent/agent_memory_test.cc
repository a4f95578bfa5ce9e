#include "link/agent/agent_memory.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"

namespace walle::link {
namespace {

AgentMemory some_memory() {
  AgentMemory out;
  out.epoch = 7;
  out.plan_time_s = 1'861'920'000;
  out.carried_out = 99;
  ManagedTask task;
  task.scenario = "shop";
  task.active = {std::string(64, 'a'), "1.0.0", "r1", ""};
  task.last_good = {std::string(64, 'b'), "0.9.0", "r0", std::string("\x00m", 2)};
  task.coming = {std::string(64, 'c'), "1.1.0", "r2", "eager"};
  task.stage = Stage::trying;
  task.tries = 2;
  task.trial = "r2";
  task.cohort = Cohort::control;
  task.reported = Reported::fails;
  out.tasks["rank"] = task;
  out.tasks["cart"] = {};
  out.refuse("rank", {std::string(64, 'd'), "1.1.0", "r2", ""});
  out.take_back({"r3", "shop", "cart", "2.0.0", TakenWhy::guard});
  out.whole = true;
  out.reports = {"one", "two"};
  out.report_seq = 12;
  out.lost_reports = 1;
  return out;
}

TEST(AgentMemory, ComesBackAsItWas) {
  AgentMemory read;
  ASSERT_TRUE(decode_memory(encode_memory(some_memory()), read));
  EXPECT_EQ(read, some_memory());
  ASSERT_TRUE(decode_memory(encode_memory({}), read));
  EXPECT_EQ(read, AgentMemory());
}

TEST(AgentMemory, ReadsNothingThatItDoesNotWrite) {
  const std::string bytes = encode_memory(some_memory());
  AgentMemory read;
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_memory(std::string_view(bytes).substr(0, size), read)) << size;
  EXPECT_FALSE(decode_memory(bytes + "x", read));
  EXPECT_EQ(read, AgentMemory()) << "untouched";
  // Whatever is read is what was written: one content, one form.
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const char flip : {'\x01', '\x40', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] ^= flip;
      if (decode_memory(damaged, read)) {
        EXPECT_EQ(encode_memory(read), damaged) << at;
      }
    }
  }
}

TEST(AgentMemory, KeepsSoManyRefusalsTheNewest) {
  AgentMemory memory;
  for (size_t i = 0; i <= kMostRefusals; ++i) {
    const std::string number = std::to_string(i);
    memory.refuse("task" + number, {"d", "1.0.0", "r" + number, ""});
  }
  EXPECT_EQ(memory.refusals.size(), kMostRefusals);
  EXPECT_EQ(memory.taken_back.size(), kMostRefusals);
  EXPECT_EQ(memory.taken_back.front().task, "task1");
  EXPECT_FALSE(memory.refused("r0", "d"));
  EXPECT_TRUE(memory.refused("r1", "d"));
  EXPECT_FALSE(memory.refused("r1", "e")) << "both count";
}

TEST(AgentMemory, OneDamagedCopyTakesNothingAway) {
  base::FaultEnv env;
  {
    auto file = AgentMemoryFile::open(env, "/agent.wals");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->found(), AgentMemoryFile::Found::nothing);
    ASSERT_TRUE(file->save(some_memory()).ok());
  }
  env.file("/agent.wals")[30] ^= 1;
  auto file = AgentMemoryFile::open(env, "/agent.wals");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->now(), some_memory());
  env.file("/agent.wals")[30] ^= 1;
  env.file("/agent.wals.mirror")[30] ^= 1;
  auto lost = AgentMemoryFile::open(env, "/agent.wals");
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->found(), AgentMemoryFile::Found::lost);
  EXPECT_EQ(lost->now(), AgentMemory());
  EXPECT_GE(env.file_size("/agent.wals.damaged"), 0);
}

TEST(AgentMemory, WhatASaveThatFailedLeftIsWrittenOver) {
  base::FaultEnv env;
  auto file = AgentMemoryFile::open(env, "/agent.wals");
  ASSERT_TRUE(file->save({}).ok());
  env.fail_at(1);  // the second copy
  ASSERT_FALSE(file->save(some_memory()).ok());
  EXPECT_EQ(file->now(), AgentMemory());
  ASSERT_TRUE(file->save({}).ok());
  EXPECT_EQ(AgentMemoryFile::open(env, "/agent.wals")->now(), AgentMemory());
}

}  // namespace
}  // namespace walle::link
