#include "store/state_map.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "store/state_file.h"

namespace walle::store {
namespace {

using base::FaultEnv;

std::string value(int64_t expiry, std::string_view text) { return put_number(expiry) + std::string(text); }

struct MapsTest : testing::Test {
  void reopen() { maps = std::make_unique<StateMaps>(env, "/maps"); }
  std::shared_ptr<StateMap> open(std::string_view name = "t") {
    auto map = maps->open(name);
    EXPECT_TRUE(map.ok()) << map.error().message();
    return map.ok() ? *map : nullptr;
  }
  void set(uint64_t number, std::string_view key, const std::optional<std::string>& to) {
    StateChange c{.map = "t", .key = key, .value = std::nullopt};
    if (to) c.value = *to;
    ASSERT_TRUE(maps->redo(number, std::span(&c, 1)).ok());
  }
  void SetUp() override {
    ASSERT_TRUE(env.make_dirs("/maps").ok());
    reopen();
  }

  FaultEnv env;
  std::unique_ptr<StateMaps> maps;
};

TEST_F(MapsTest, AFileThatWasRemovedIsKnownFromItsName) {
  set(1, "a", value(0, "one"));
  EXPECT_TRUE(maps->written().empty());
  ASSERT_TRUE(maps->checkpoint(maps->begin_checkpoint(1, 100)).ok());
  EXPECT_TRUE(maps->written().contains("t"));
  for (const char* copy : {"/maps/t", "/maps/t.mirror"}) ASSERT_TRUE(env.remove_file(copy).ok());
  reopen();
  open();
  EXPECT_LT(env.file_size("/maps/t.damaged"), 0);  // nobody has said that it was there
  reopen();
  maps->expect("t");
  EXPECT_EQ(open("t")->size(), 0u);
  EXPECT_EQ(env.file_size("/maps/t.damaged"), 0);
  EXPECT_LT(env.file_size("/maps/u.damaged"), 0);
}

TEST_F(MapsTest, FramesThatAFileHasArePassedOver) {
  set(1, "a", value(0, "one"));
  set(2, "b", value(0, "two"));
  ASSERT_TRUE(maps->checkpoint(maps->begin_checkpoint(2, 100)).ok());
  set(3, "a", value(0, "three"));
  reopen();
  set(1, "a", value(0, "one"));  // as a replay of the journal says
  set(2, "b", std::nullopt);
  EXPECT_EQ(open()->get("b"), value(0, "two"));
  set(3, "a", value(0, "three"));
  EXPECT_EQ(open()->get("a"), value(0, "three"));
  EXPECT_EQ(open()->size(), 2u);
  EXPECT_EQ(open()->bytes(), entry_bytes("a", value(0, "three")) + entry_bytes("b", value(0, "two")));
}

TEST_F(MapsTest, WhatHasExpiredIsInNoNewFile) {
  set(1, "early", value(100, "x"));
  set(2, "late", value(101, "x"));
  set(3, "ever", value(0, "x"));
  ASSERT_TRUE(maps->checkpoint(maps->begin_checkpoint(3, 100)).ok());
  EXPECT_EQ(open()->get("early"), std::nullopt);
  EXPECT_EQ(open()->size(), 2u);
  reopen();
  EXPECT_EQ(open()->get("early"), std::nullopt);
  EXPECT_TRUE(open()->get("late") && open()->get("ever"));
}

TEST_F(MapsTest, AMapThatDidNotChangeIsNotWritten) {
  set(1, "a", value(0, "x"));
  EXPECT_EQ(maps->begin_checkpoint(1, 0).size(), 1u);
  EXPECT_EQ(maps->begin_checkpoint(2, 0).size(), 0u);
}

TEST_F(MapsTest, AFullDiskKeepsTheChangeForTheNextCheckpoint) {
  set(1, "a", value(0, "x"));
  env.fail_at(0);
  EXPECT_FALSE(maps->checkpoint(maps->begin_checkpoint(1, 0)).ok());
  ASSERT_TRUE(maps->checkpoint(maps->begin_checkpoint(2, 0)).ok());
  reopen();
  EXPECT_EQ(open()->get("a"), value(0, "x"));
}

TEST_F(MapsTest, OneDamagedCopyCostsNothingAndTwoAreSetAside) {
  set(1, "a", value(0, "x"));
  ASSERT_TRUE(maps->checkpoint(maps->begin_checkpoint(1, 0)).ok());
  for (const char* copy : {"/maps/t", "/maps/t.mirror"}) {
    std::string bytes = env.file(copy);
    bytes.back() ^= 1;
    ASSERT_TRUE(env.replace_file(copy, bytes).ok());
    reopen();
    EXPECT_EQ(open()->size(), 1u) << copy;
  }
  for (const char* copy : {"/maps/t", "/maps/t.mirror"}) {
    std::string bytes = env.file(copy);
    bytes.back() ^= 1;
    ASSERT_TRUE(env.replace_file(copy, bytes).ok());
  }
  reopen();
  EXPECT_EQ(open()->size(), 0u);
  EXPECT_GT(env.file_size("/maps/t.damaged"), 0);
  set(2, "a", value(0, "y"));
  EXPECT_EQ(open()->get("a"), value(0, "y"));
}

}  // namespace
}  // namespace walle::store
