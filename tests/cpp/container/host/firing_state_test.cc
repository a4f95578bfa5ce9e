#include "container/host/firing_state.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fault_env.h"

namespace walle::container {
namespace {

constexpr int64_t kSecond = 1'000'000;

struct FiringStateTest : testing::Test {
  void SetUp() override {
    ASSERT_TRUE(env.make_dirs("/maps").ok());
    maps = std::make_unique<store::StateMaps>(env, "/maps");
    make({.bytes = 1 << 20, .keys = 1000});
  }
  void make(FiringState::Limits limits) {
    auto map = maps->open("t");
    ASSERT_TRUE(map.ok());
    state = std::make_unique<FiringState>(*map, limits, [this] { return now; });
  }
  void commit() {
    const FiringState::Changes changes = state->take();
    std::vector<store::StateChange> all;
    for (const auto& [key, bytes] : changes) {
      all.push_back({.map = "t", .key = key, .value = std::nullopt});
      if (bytes) all.back().value = *bytes;
    }
    maps->apply(++frame, all);
  }
  int64_t get(const std::string& key) {
    const auto got = state->get(key, vm::Value(int64_t{-1}));
    EXPECT_TRUE(got.ok());
    return *got->get<int64_t>();
  }
  Status put(const std::string& key, int64_t value, std::optional<double> ttl = {}) {
    return state->put(key, vm::Value(value), ttl);
  }

  base::FaultEnv env;
  std::unique_ptr<store::StateMaps> maps;
  std::unique_ptr<FiringState> state;
  uint64_t frame = 0;
  int64_t now = 1000 * kSecond;
};

TEST_F(FiringStateTest, IsTheFiringsOwnUntilItIsCommitted) {
  ASSERT_TRUE(put("a", 1).ok());
  EXPECT_EQ(get("a"), 1);
  state->forget();
  EXPECT_EQ(get("a"), -1);
  ASSERT_TRUE(put("a", 2).ok());
  commit();
  EXPECT_EQ(get("a"), 2);
  EXPECT_TRUE(*state->erase("a"));
  EXPECT_FALSE(*state->erase("a"));
  EXPECT_EQ(get("a"), -1);
  state->forget();
  EXPECT_EQ(get("a"), 2);
}

TEST_F(FiringStateTest, AKeyLivesAsLongAsItsTtl) {
  ASSERT_TRUE(put("a", 1, 10.0).ok());
  commit();
  now += 10 * kSecond - 1;
  EXPECT_EQ(get("a"), 1);
  now += 1;
  EXPECT_EQ(get("a"), -1);
  EXPECT_TRUE(state->keys({})->empty() && state->items({})->empty());
  EXPECT_FALSE(*state->erase("a"));
  for (const double ttl : {0.0, -1.0, 4e9}) EXPECT_FALSE(put("a", 1, ttl).ok()) << ttl;
  ASSERT_TRUE(put("a", 2).ok());  // without one it stays
  now += int64_t{1'000'000'000} * kSecond;
  EXPECT_EQ(get("a"), 2);
}

// A clock that is set back lets a key stay as much longer, but brings none back that was found to be gone.
TEST_F(FiringStateTest, TheClockMayJump) {
  ASSERT_TRUE(put("seen", 1, 10.0).ok());
  ASSERT_TRUE(put("unseen", 1, 10.0).ok());
  commit();
  now += 3600 * kSecond;
  EXPECT_EQ(get("seen"), -1);
  commit();
  now -= 3600 * kSecond;
  EXPECT_EQ(get("seen"), -1);
  EXPECT_EQ(get("unseen"), 1);
  now -= 3600 * kSecond;
  EXPECT_EQ(get("unseen"), 1);
}

TEST_F(FiringStateTest, LimitsAreInclusiveAndMakeRoomOfWhatHasExpired) {
  make({.bytes = 1 << 20, .keys = 3});
  ASSERT_TRUE(put("a", 1, 5.0).ok() && put("b", 1).ok() && put("c", 1).ok());
  const Status fourth = put("d", 1);
  ASSERT_FALSE(fourth.ok());
  EXPECT_NE(fourth.error().message().find("state_keys"), std::string::npos) << fourth.error().message();
  EXPECT_TRUE(put("c", 2).ok());
  commit();
  now += 5 * kSecond;
  EXPECT_TRUE(put("d", 1).ok());
  const size_t entry = 8 + 1 + 8 + 9;
  make({.bytes = 3 * entry, .keys = 10});
  EXPECT_TRUE(put("e", 1).ok()) << "a has expired";
  const Status bytes = put("f", 1);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message().find("state_bytes"), std::string::npos) << bytes.error().message();
  const vm::Value large(std::string(FiringState::kMostBytes, 'x'));
  make({.bytes = 1 << 30, .keys = 10});
  const Status firing = state->put("large", large, {});
  ASSERT_FALSE(firing.ok());
  EXPECT_NE(firing.error().message().find("in one firing"), std::string::npos) << firing.error().message();
}

TEST_F(FiringStateTest, AgreesWithAMap) {
  std::mt19937 random(1);
  std::map<std::string, int64_t> model, committed;
  for (int step = 0; step < 4000; ++step) {
    const std::string key =
        std::string(1, static_cast<char>('a' + random() % 3)) + std::to_string(random() % 9);
    switch (random() % 8) {
      case 0: EXPECT_EQ(*state->erase(key), model.erase(key) == 1); break;
      case 1: commit(), committed = model; break;
      case 2: state->forget(), model = committed; break;
      case 3: {
        const FiringState::Changes kept = state->take();  // waits for facts
        state->resume(kept);
        break;
      }
      default: ASSERT_TRUE(put(key, step).ok()); model[key] = step;
    }
    const std::string prefix(1, static_cast<char>('a' + random() % 3));
    std::vector<std::string> want;
    const size_t limit = random() % 5;
    for (const auto& [k, v] : model)
      if (k.starts_with(prefix) && k > key && want.size() < limit) want.push_back(k);
    ASSERT_EQ(*state->keys({.prefix = prefix, .after = key, .limit = limit}), want);
    ASSERT_EQ(state->items({})->size(), model.size());
  }
}

}  // namespace
}  // namespace walle::container
