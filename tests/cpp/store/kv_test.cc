#include "store/kv.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fault_env.h"

namespace walle::store {
namespace {

using base::FaultEnv;
constexpr size_t kQuota = 4096;

std::shared_ptr<KeyValue> opened(Env& env) {
  Result<std::shared_ptr<KeyValue>> kv = KeyValue::open(env, "/state");
  EXPECT_TRUE(kv.ok()) << kv.error().message();
  return kv.ok() ? *kv : nullptr;
}

TEST(KeyValue, KeepsWhatWasPut) {
  FaultEnv env;
  auto kv = opened(env);
  ASSERT_TRUE(kv->put("b/2", std::string("\0x", 2), kQuota).ok());
  ASSERT_TRUE(kv->put("b/1", "old", kQuota).ok());
  ASSERT_TRUE(kv->put("b/1", "new", kQuota).ok());
  ASSERT_TRUE(kv->put("a", "", kQuota).ok());
  EXPECT_TRUE(*kv->erase("a"));
  EXPECT_FALSE(*kv->erase("a"));
  env.lose_power();
  kv = opened(env);
  EXPECT_EQ(kv->keys(""), (std::vector<std::string>{"b/1", "b/2"}));
  EXPECT_EQ(kv->keys("b/2"), std::vector<std::string>{"b/2"});
  EXPECT_EQ(kv->get("b/1"), "new");
  EXPECT_EQ(kv->get("b/2"), std::string("\0x", 2));
  EXPECT_EQ(kv->get("a"), std::nullopt);
  EXPECT_EQ(kv->bytes(), env.file("/state").size());
}

TEST(KeyValue, TheQuotaCountsTheWholeFile) {
  FaultEnv env;
  auto kv = opened(env);
  const size_t overhead = 16 + 8 + 1;
  EXPECT_FALSE(kv->put("k", std::string(kQuota - overhead + 1, 'x'), kQuota).ok());
  EXPECT_EQ(kv->get("k"), std::nullopt);
  EXPECT_TRUE(kv->put("k", std::string(kQuota - overhead, 'x'), kQuota).ok());
  EXPECT_TRUE(kv->put("k", std::string(kQuota - overhead, 'y'), kQuota).ok());
  EXPECT_FALSE(kv->put("l", "", kQuota).ok());
  EXPECT_TRUE(*kv->erase("k"));
  EXPECT_TRUE(kv->put("l", "", kQuota).ok());
}

// Whatever operation fails, the map in memory, the file and what the caller was told agree.
TEST(KeyValue, EveryFailureLeavesTheOldStateOrTheNewOne) {
  std::mt19937_64 random(7);
  FaultEnv env;
  std::map<std::string, std::string> accepted;
  int failures = 0;
  auto kv = opened(env);
  for (int round = 0; round < 400; ++round) {
    const std::string key = "k" + std::to_string(random() % 5), value = std::to_string(random());
    env.fail_at(random() % 3 == 0 ? 0 : -1);
    if (random() % 4 == 0) {
      if (kv->erase(key).ok())
        accepted.erase(key);
      else
        ++failures;
    } else if (kv->put(key, value, kQuota).ok()) {
      accepted[key] = value;
    } else {
      ++failures;
    }
    env.fail_at(-1);
    if (round % 10 == 0) {
      kv.reset();
      env.lose_power(round);
      kv = opened(env);
    }
    ASSERT_EQ(kv->keys("").size(), accepted.size());
    for (const auto& [k, v] : accepted) ASSERT_EQ(kv->get(k), v);
  }
  EXPECT_GT(failures, 50);
}

TEST(KeyValue, FullAndReadOnlyDisksAreErrors) {
  FaultEnv env;
  auto kv = opened(env);
  ASSERT_TRUE(kv->put("k", "v", kQuota).ok());
  env.set_read_only(true);
  EXPECT_FALSE(kv->put("k", "w", kQuota).ok());
  env.set_read_only(false);
  env.limit_disk(0);
  EXPECT_FALSE(kv->put("k", "w", kQuota).ok());
  EXPECT_EQ(kv->get("k"), "v");
}

TEST(KeyValue, RefusesEveryDamagedFile) {
  FaultEnv env;
  auto kv = opened(env);
  ASSERT_TRUE(kv->put("key", "value", kQuota).ok());
  const std::string good = env.file("/state");
  for (size_t size = 0; size < good.size(); ++size) {
    env.file("/state") = good.substr(0, size);
    EXPECT_FALSE(KeyValue::open(env, "/state").ok()) << "cut to " << size;
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    env.file("/state") = bad;
    EXPECT_FALSE(KeyValue::open(env, "/state").ok()) << "bit " << bit;
  }
  env.file("/state") = good + "x";
  EXPECT_FALSE(KeyValue::open(env, "/state").ok());
}

TEST(KeyValue, WithoutAPathItLivesInMemory) {
  FaultEnv env;
  auto kv = *KeyValue::open(env, "");
  EXPECT_TRUE(kv->put("k", "v", kQuota).ok());
  EXPECT_EQ(kv->get("k"), "v");
  EXPECT_EQ(env.operations(), 0);
}

}  // namespace
}  // namespace walle::store
