// What happens when a key is stolen or a server is somebody else's: each drill ends with the old state in
// place.
#include "link/limits.h"
#include "updater_case.h"

namespace walle::link {
namespace {

using Drills = UpdaterCase;

constexpr int64_t kUsPerSecond = 1'000'000;

// Whoever has the timestamp key alone can name a snapshot and cannot make one.
TEST_F(Drills, AStolenTimestampKeyChangesNoContent) {
  add_target("targets", "t", "good");
  repository->publish({"targets", "snapshot", "timestamp"});
  expect_refreshed();
  const std::string good = kept("targets");
  // The attacker signs new targets and a new snapshot with the timestamp key.
  const auto stolen = repository->roles["timestamp"].keys;
  for (const char* role : {"targets", "snapshot"}) repository->roles[role].signers = stolen;
  repository->roles["targets"].targets["t"] = "evil";
  repository->publish({"targets", "snapshot", "timestamp"});
  expect_refused("0 good signatures");
  EXPECT_EQ(kept("targets"), good);
}

// The same thief may freeze devices at a version far ahead; a new key ends that.
TEST_F(Drills, RotationEndsAFastForward) {
  repository->roles["timestamp"].version = 1'000'000'000;
  repository->publish({"timestamp"});
  expect_refreshed();
  repository->roles["timestamp"].version = 1;
  repository->publish({"timestamp"});
  expect_refused("which this device has seen");
  repository->new_keys("timestamp");
  repository->publish({"root"});
  repository->sign("timestamp");
  expect_refreshed();
  EXPECT_EQ(kept("timestamp"), repository->current["timestamp"]);
}

// Timestamp and snapshot key together: old content may come back under new numbers only where no device has
// seen newer.
TEST_F(Drills, NothingOlderIsTaken) {
  add_target("targets", "t", "one");
  repository->publish({"targets", "snapshot", "timestamp"});
  const auto old = server.files;
  add_target("targets", "t", "two");
  repository->publish({"targets", "snapshot", "timestamp"});
  expect_refreshed();
  const auto now = server.files;
  const std::string good = kept("targets");

  server.files = old;
  expect_refused("timestamp version 2");
  // Signed anew with both online keys, pointing at the old targets.
  server.files = now;
  repository->roles["targets"].version = 2;
  repository->publish({"snapshot", "timestamp"});
  expect_refused("which this device has seen");
  EXPECT_EQ(kept("targets"), good);
  EXPECT_EQ(opened()->find("t").ok(), false);
}

TEST_F(Drills, ASnapshotMayNotForgetARole) {
  repository->delegate({.from = "targets", .to = "shop", .paths = {"shop/*"}});
  repository->publish({"shop", "targets", "snapshot", "timestamp"});
  expect_refreshed();
  repository->roles["shop"].type = "forgotten";
  repository->publish({"snapshot", "timestamp"});
  expect_refused("shop.json");
}

// Files of two releases, each well signed, do not make a third.
TEST_F(Drills, FilesOfDifferentReleasesDoNotMix) {
  for (const bool with_hashes : {true, false}) {
    repository->with_hashes = with_hashes;
    repository->publish({"targets", "snapshot", "timestamp"});
    expect_refreshed();
    const std::string older = repository->current["targets"];
    repository->publish({"targets", "snapshot", "timestamp"});
    server.files[FakeRepository::url("targets", repository->roles["targets"].version)] = older;
    expect_refused(with_hashes ? "digest" : "version");
    repository->sign("targets");
    expect_refreshed();
  }
}

// Who repeats the last timestamp for ever keeps a device back until it expires, to the second.
TEST_F(Drills, AFrozenRepositoryIsNoticedWhenItExpires) {
  repository->roles["timestamp"].expires = "2029-01-08T00:00:00Z";
  repository->publish({"timestamp"});
  expect_refreshed();
  constexpr int64_t expiry = 1'862'524'800;  // 8 January 2029
  env.set_wall_us((expiry - 1) * kUsPerSecond);
  expect_refreshed();
  env.set_wall_us(expiry * kUsPerSecond);
  expect_refused("expired");
  // The clock goes back: valid again, but nothing older is.
  env.set_wall_us((expiry - 1) * kUsPerSecond);
  expect_refreshed();
  repository->roles["timestamp"].version = 1;
  repository->sign("timestamp");
  env.set_wall_us(0);
  expect_refused("which this device has seen");
}

TEST_F(Drills, NothingExpiredIsTaken) {
  for (const char* role : {"targets", "snapshot", "timestamp"}) {
    expect_refreshed();
    const std::string good = kept(role);
    const std::string expires = repository->roles[role].expires;
    repository->roles[role].expires = "2029-01-01T00:00:00Z";  // this very second
    repository->publish({"targets", "snapshot", "timestamp"});
    expect_refused("expired");
    EXPECT_EQ(kept(role), good) << role;
    repository->roles[role].expires = expires;
    repository->publish({"targets", "snapshot", "timestamp"});
  }
  // An expired root is kept, as the way to the next one, and nothing else is asked for.
  repository->roles["root"].expires = "2028-12-31T23:59:59Z";
  repository->publish({"root"});
  server.asked.clear();
  expect_refused("expired");
  EXPECT_EQ(server.asked.size(), 2u);
  EXPECT_EQ(kept("root"), repository->current["root"]);
  repository->roles["root"].expires = "2030-01-01T00:00:00Z";
  repository->publish({"root"});
  expect_refreshed();
}

TEST_F(Drills, EndlessFilesEndAtTheirLimit) {
  const uint64_t piece = 4096;
  const auto costs = [&](const std::string& url, uint64_t limit) {
    server.endless = url;
    server.sent = 0;
    expect_refused("more than " + std::to_string(limit) + " bytes");
    EXPECT_LE(server.sent, limit + 200'000 + piece) << url;
    server.endless.clear();
  };
  repository->with_hashes = false;
  repository->publish({"targets", "snapshot", "timestamp"});
  costs(FakeRepository::url("root", 2), kMostRootBytes);
  costs(FakeRepository::url("timestamp", 0), kMostTimestampBytes);
  costs(FakeRepository::url("snapshot", 2), kMostSnapshotBytes);
  costs(FakeRepository::url("targets", 2), kMostTargetsBytes);
  // Where the file before it says a length, that is the limit.
  repository->with_hashes = true;
  repository->publish({"targets", "snapshot", "timestamp"});
  costs(FakeRepository::url("targets", 3), repository->current["targets"].size());
  add_target("targets", "t", "four");
  repository->publish({"targets", "snapshot", "timestamp"});
  const auto updater = opened();
  const auto found = updater->find("t");
  ASSERT_TRUE(found.ok() && *found);
  server.endless = repository->target_url("t");
  server.sent = 0;
  EXPECT_FALSE(updater->download(**found, "/t").ok());
  EXPECT_LE(server.sent, piece);
  EXPECT_LT(env.file_size("/t"), 0);
}

TEST_F(Drills, AThresholdCountsKeysAndNotSignatures) {
  repository->new_keys("targets", 3);
  repository->roles["targets"].threshold = 2;
  repository->publish({"root"});
  const auto keys = repository->roles["targets"].keys;
  const auto with = [&](std::vector<std::shared_ptr<SigningKey>> signers) {
    repository->roles["targets"].signers = std::move(signers);
    repository->publish({"targets", "snapshot", "timestamp"});
  };
  with({keys[0]});
  expect_refused("1 good signatures");
  with({keys[0], keys[0]});
  expect_refused("two signatures");
  with({keys[0], std::make_shared<SigningKey>()});
  expect_refused("1 good signatures");
  with({keys[2], std::make_shared<SigningKey>(), keys[1]});
  expect_refreshed();
}

// A scenario's key speaks for its own folder and for no other.
TEST_F(Drills, AStolenScenarioKeyReachesItsScenarioAlone) {
  repository->delegate({.from = "targets", .to = "shop", .paths = {"shop/*"}});
  repository->delegate({.from = "targets", .to = "live", .paths = {"live/*"}});
  add_target("live", "live/t", "good");
  add_target("shop", "live/t", "evil");
  add_target("shop", "shop/t", "shop");
  repository->publish({"shop", "live", "targets", "snapshot", "timestamp"});
  const auto updater = opened();
  const auto found = updater->find("live/t");
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->target.hashes.sha256, FakeRepository::sha256("good"));
  // Nor can it sign the other role.
  repository->roles["live"].signers = repository->roles["shop"].keys;
  repository->publish({"live", "snapshot", "timestamp"});
  EXPECT_FALSE(opened()->find("live/t").ok());
}

// One role under two delegators with different keys is verified for each of them.
TEST_F(Drills, ARoleIsBelievedForTheDelegatorThatVouchesForIt) {
  repository->delegate({.from = "targets", .to = "a", .paths = {"a/*"}});
  repository->delegate({.from = "targets", .to = "b", .paths = {"b/*"}});
  repository->delegate({.from = "a", .to = "both", .paths = {"a/*"}});
  add_target("both", "a/t", "good");
  add_target("both", "b/t", "evil");
  repository->publish({"both", "a", "targets"});
  const auto signers = repository->roles["both"].signers;
  repository->delegations.push_back({.from = "b", .to = "both", .paths = {"b/*"}});
  repository->new_keys("both");  // b names another key
  repository->publish({"b"});
  repository->roles["both"].signers = signers;
  repository->publish({"snapshot", "timestamp"});
  const auto updater = opened();
  const auto good = updater->find("a/t");
  ASSERT_TRUE(good.ok()) << good.error().message();
  EXPECT_TRUE(good->has_value());
  EXPECT_FALSE(updater->find("b/t").ok());
}

TEST_F(Drills, ATopLevelNameCannotBeDelegated) {
  repository->delegate({.from = "targets", .to = "snapshot", .paths = {"*"}});
  repository->publish({"targets", "snapshot", "timestamp"});
  expect_refused("delegated role 'snapshot'");
}

// One bit anywhere in what a server sends, or its end anywhere: refused, and what was kept stays.
TEST_F(Drills, DamageIsNeverBelieved) {
  expect_refreshed();
  repository->publish({"targets", "snapshot", "timestamp"});
  const std::string url = FakeRepository::url("timestamp", 0);
  const std::string whole = server.files[url];
  const std::string before = kept("timestamp");
  const size_t signed_part = whole.find("\"signed\"");
  for (size_t i = 0; i < whole.size(); i += 3) {
    server.files[url] = whole.substr(0, i);
    EXPECT_FALSE(refreshed().ok()) << "cut at " << i;
    if (i < signed_part) continue;
    server.files[url] = whole;
    server.files[url][i] = static_cast<char>(whole[i] ^ 2);
    EXPECT_FALSE(refreshed().ok()) << "byte " << i;
  }
  EXPECT_EQ(kept("timestamp"), before);
}

TEST_F(Drills, AConnectionThatBreaksAnywhereIsTriedAgain) {
  repository->publish({"root", "targets", "snapshot", "timestamp"});
  for (const std::string& url : {FakeRepository::url("root", 2), FakeRepository::url("timestamp", 0),
                                 FakeRepository::url("snapshot", 2), FakeRepository::url("targets", 2)}) {
    server.broken = url;
    expect_refused("no connection");
  }
  server.broken.clear();
  expect_refreshed();
}

}  // namespace
}  // namespace walle::link
