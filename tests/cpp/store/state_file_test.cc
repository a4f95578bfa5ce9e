#include "store/state_file.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"

namespace walle::store {
namespace {

using base::FaultEnv;
using Found = StateFile::Found;

std::unique_ptr<StateFile> opened(Env& env, bool read_only = false) {
  auto state = StateFile::open(env, "/state", read_only);
  EXPECT_TRUE(state.ok()) << state.error().message();
  return state.ok() ? std::move(*state) : nullptr;
}

TEST(StateFile, ChangesAreAllOrNothing) {
  FaultEnv env;
  auto state = opened(env);
  EXPECT_EQ(state->found(), Found::nothing);
  ASSERT_TRUE(state->apply({{"a", "1"}, {"b", put_number(uint64_t{7})}, {"c/x", ""}}).ok());
  ASSERT_TRUE(state->apply({{"a", std::nullopt}, {"c/y", "2"}}).ok());
  env.set_read_only(true);
  EXPECT_FALSE(state->apply({{"c/x", std::nullopt}, {"d", "3"}}).ok());
  EXPECT_EQ(state->get("c/x"), "");
  EXPECT_EQ(state->get("d"), std::nullopt);
  env.set_read_only(false);
  env.lose_power();
  state = opened(env);
  EXPECT_EQ(state->found(), Found::whole);
  EXPECT_EQ(state->get("a"), std::nullopt);
  EXPECT_EQ(state->number<uint64_t>("b"), 7u);
  EXPECT_EQ(state->number<uint32_t>("b"), std::nullopt);
  EXPECT_EQ(state->keys("c/"), (std::vector<std::string>{"c/x", "c/y"}));
}

TEST(StateFile, NothingIsWrittenWhereNothingChanges) {
  FaultEnv env;
  auto state = opened(env);
  ASSERT_TRUE(state->apply({{"a", "1"}}).ok());
  const int64_t before = env.operations();
  ASSERT_TRUE(state->apply({{"a", "1"}, {"b", std::nullopt}}).ok());
  EXPECT_EQ(env.operations(), before);
}

TEST(StateFile, ReadOnlyReadsADamagedCopyAndWritesNothing) {
  FaultEnv env;
  ASSERT_TRUE(opened(env)->apply({{"a", "1"}}).ok());
  env.file("/state")[9] ^= 4;
  const std::string damaged = env.file("/state");
  auto state = opened(env, true);
  EXPECT_EQ(state->found(), Found::mended);
  EXPECT_EQ(state->get("a"), "1");
  EXPECT_FALSE(state->apply({{"a", "2"}}).ok());
  EXPECT_EQ(env.file("/state"), damaged);
  EXPECT_EQ(opened(env)->get("a"), "1");
  EXPECT_NE(env.file("/state"), damaged);
}

TEST(StateFile, BothCopiesDamagedIsALossThatKeepsTheBytes) {
  FaultEnv env;
  ASSERT_TRUE(opened(env)->apply({{"a", "1"}}).ok());
  env.file("/state")[9] ^= 4;
  env.file("/state.mirror").resize(3);
  auto state = opened(env);
  EXPECT_EQ(state->found(), Found::lost);
  EXPECT_EQ(state->get("a"), std::nullopt);
  ASSERT_TRUE(state->apply({{"b", "2"}}).ok());
  EXPECT_EQ(env.file("/state.mirror.damaged").size(), 3u);
  EXPECT_EQ(opened(env)->get("b"), "2");
}

TEST(StateFile, ForgedContentsAreALoss) {
  FaultEnv env;
  auto file = MirroredFile::open(env, "/state", "STAT");
  base::ByteWriter twice;
  twice.put_count(2);
  for (int i = 0; i < 2; ++i) {
    twice.put_count(1);
    twice.put_count(0);
    twice.put_bytes("k");
  }
  for (const std::string& forged : {std::string("\xff\xff\xff\xff", 4), std::string("x"), twice.take()}) {
    ASSERT_TRUE(file->write(forged).ok());
    EXPECT_EQ(opened(env, true)->found(), Found::lost);
  }
}

}  // namespace
}  // namespace walle::store
