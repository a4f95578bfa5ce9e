#include "updater_case.h"

namespace walle::link {
namespace {

using Updates = UpdaterCase;

TEST_F(Updates, FetchesEachRoleOnceAndThenTheTimestampAlone) {
  expect_refreshed();
  EXPECT_EQ(server.asked, (std::vector<std::string>{
                              FakeRepository::url("root", 2), FakeRepository::url("timestamp", 0),
                              FakeRepository::url("snapshot", 1), FakeRepository::url("targets", 1)}));
  for (const char* role : {"timestamp", "snapshot", "targets"})
    EXPECT_EQ(kept(role), repository->current[role]);
  server.asked.clear();
  expect_refreshed();
  EXPECT_EQ(server.asked.size(), 2u) << "root and timestamp";
}

TEST_F(Updates, WorksWithoutConsistentSnapshots) {
  repository->consistent = false;
  repository->publish({"root"});
  repository->publish({"targets", "snapshot", "timestamp"});
  expect_refreshed();
  EXPECT_EQ(kept("targets"), repository->current["targets"]);
}

TEST_F(Updates, AllSchemesMayCarryARole) {
  for (const auto kind : {SigningKey::Kind::p256, SigningKey::Kind::p384, SigningKey::Kind::rsa2048}) {
    repository->new_keys("timestamp", 1, kind);
    repository->publish({"timestamp", "root"});
    expect_refreshed();
    EXPECT_EQ(kept("timestamp"), repository->current["timestamp"]);
  }
}

TEST_F(Updates, FollowsTheChainOfRoots) {
  for (int i = 0; i < 5; ++i) {
    const auto old = repository->roles["root"].signers;
    repository->new_keys("root", 2);
    repository->roles["root"].threshold = 2;
    repository->roles["root"].signers.insert(repository->roles["root"].signers.end(), old.begin(), old.end());
    repository->publish({"root"});
  }
  expect_refreshed();
  EXPECT_EQ(kept("root"), repository->current["root"]);
  EXPECT_EQ(opened()->trusted().root().version, 6);
}

TEST_F(Updates, ARootNeedsTheOldKeysAndTheNew) {
  const auto old = repository->roles["root"].signers;
  repository->new_keys("root");
  repository->publish({"root"});
  expect_refused("0 good signatures");
  EXPECT_EQ(opened()->trusted().root().version, 1);
  repository->roles["root"].signers = old;
  repository->sign("root");
  expect_refused("0 good signatures");
  EXPECT_EQ(opened()->trusted().root().version, 1);
}

TEST_F(Updates, FindsTargetsInTheOrderOfDelegation) {
  repository->delegate({.from = "targets", .to = "shop", .paths = {"shop/*"}});
  repository->delegate({.from = "targets", .to = "late", .paths = {"shop/*", "live/*"}});
  repository->delegate({.from = "targets", .to = "hashed", .paths = {""}, .by_hash = true});
  add_target("shop", "shop/a", "of shop");
  add_target("late", "shop/a", "of late");
  add_target("late", "live/b", "live");
  add_target("hashed", "other", "by digest");
  add_target("shop", "live/b", "not shop's to say");
  repository->publish({"shop", "late", "hashed", "targets", "snapshot", "timestamp"});

  const auto updater = opened();
  const auto length = [&](const std::string& path) {
    const auto found = updater->find(path);
    EXPECT_TRUE(found.ok()) << found.error().message();
    return *found ? static_cast<int>((*found)->target.length) : -1;
  };
  EXPECT_EQ(length("shop/a"), 7);
  EXPECT_EQ(length("live/b"), 4);
  EXPECT_EQ(length("other"), 9);
  EXPECT_EQ(length("shop/none"), -1);
}

TEST_F(Updates, ATerminatingDelegationEndsTheSearch) {
  repository->delegate({.from = "targets", .to = "first", .paths = {"*"}, .terminating = true});
  repository->delegate({.from = "targets", .to = "second", .paths = {"*"}});
  add_target("second", "x", "x");
  repository->publish({"first", "second", "targets", "snapshot", "timestamp"});
  const auto found = opened()->find("x");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  EXPECT_TRUE(kept("second").empty()) << "not even asked for";
}

TEST_F(Updates, TheSearchIsBounded) {
  std::string from = "targets";
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    const std::string to = "r" + std::to_string(i);
    repository->delegate({.from = from, .to = to, .paths = {"*"}});
    names.push_back(to);
    from = to;
  }
  names.insert(names.end(), {"targets", "snapshot", "timestamp"});
  repository->publish(names);
  const auto found = opened()->find("x");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("32"), std::string::npos) << found.error().message();
}

TEST_F(Updates, DownloadsWholeTargetsOrNone) {
  add_target("targets", "models/big one", std::string(100'000, 'm'));
  repository->publish({"targets", "snapshot", "timestamp"});
  const auto updater = opened();
  const auto found = updater->find("models/big one");
  ASSERT_TRUE(found.ok() && *found);
  // The server has it under its encoded name.
  const std::string sent_as =
      kTargetUrl + std::string("models/") + (*found)->target.hashes.sha256 + ".big%20one";
  server.files[sent_as] = std::string(100'000, 'm');
  Status done = updater->download(**found, "/blob");
  EXPECT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(*env.read_file("/blob"), std::string(100'000, 'm'));
  EXPECT_TRUE(*updater->is_cached(**found, "/blob"));

  for (const std::string& wrong :
       {std::string(100'000, 'n'), std::string(99'999, 'm'), std::string(100'001, 'm'), std::string()}) {
    server.files[sent_as] = wrong;
    EXPECT_FALSE(updater->download(**found, "/other").ok());
    EXPECT_LT(env.file_size("/other"), 0) << "a file that was not verified";
    EXPECT_FALSE(updater->download(**found, "/blob").ok());
    EXPECT_TRUE(*updater->is_cached(**found, "/blob")) << "what was there is gone";
  }
  env.file("/blob")[5] = 'x';
  EXPECT_FALSE(*updater->is_cached(**found, "/blob"));
}

TEST_F(Updates, TheFirstRootServesWhereTheKeptOneIsDamaged) {
  repository->publish({"root"});
  expect_refreshed();
  env.file("/tuf/root.json") = "{";
  repository->publish({"root"});
  expect_refreshed();
  EXPECT_EQ(kept("root"), repository->current["root"]);
  first_root.clear();
  env.file("/tuf/root.json") = "{";
  EXPECT_FALSE(Updater::open(env, server, options()).ok());
}

TEST_F(Updates, ARootThatNobodySignedIsNoBeginning) {
  repository->roles["root"].signers = {std::make_shared<SigningKey>()};
  repository->sign("root");
  first_root = repository->current["root"];
  const auto refused = Updater::open(env, server, options());
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(Updater::init(env, "/tuf", first_root).ok());
  EXPECT_TRUE(kept("root").empty());
}

// Every write may fail: what is kept is old or new, never half, and the next refresh ends it.
TEST_F(Updates, ADiskThatFailsAtAnyPointLeavesAWholeStore) {
  expect_refreshed();
  repository->publish({"root", "targets", "snapshot", "timestamp"});
  std::map<std::string, std::string> before;
  const std::vector<std::string> names = *env.list_files("/tuf");
  for (const std::string& name : names) before["/tuf/" + name] = *env.read_file("/tuf/" + name);
  const int64_t start = env.operations();
  expect_refreshed();
  const int64_t steps = env.operations() - start;
  ASSERT_GT(steps, 4);
  int failures = 0;
  for (int64_t k = 0; k < steps; ++k) {
    const std::vector<std::string> left = *env.list_files("/tuf");
    for (const std::string& name : left) ASSERT_TRUE(env.remove_file("/tuf/" + name).ok());
    for (const auto& [path, bytes] : before) ASSERT_TRUE(env.replace_file(path, bytes).ok());
    auto updater = Updater::open(env, server, options());
    ASSERT_TRUE(updater.ok());
    env.fail_at(k);
    failures += !(*updater)->refresh().ok();
    env.fail_at(-1);
    env.lose_power(static_cast<uint64_t>(k));
    for (const char* role : {"timestamp", "snapshot", "targets"})
      EXPECT_TRUE(kept(role).empty() || parse_json(kept(role), role).ok()) << role << " after step " << k;
    expect_refreshed();
    EXPECT_EQ(kept("timestamp"), repository->current["timestamp"]);
  }
  EXPECT_GT(failures, 3);
}

}  // namespace
}  // namespace walle::link
