// A repository, its server and a device, for the tests of Updater.
#pragma once

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fake_repository.h"
#include "link/trust/updater.h"

namespace walle::link {

class UpdaterCase : public testing::Test {
 protected:
  void SetUp() override {
    if (!SigningKey::can_make()) GTEST_SKIP() << "no libcrypto is installed";
    repository = std::make_unique<FakeRepository>(server);
    first_root = repository->current["root"];
    // 1 January 2029, a year before everything expires.
    env.set_wall_us(1'861'920'000'000'000);
  }

  std::unique_ptr<Updater> opened() {
    auto updater = Updater::open(env, server, options());
    EXPECT_TRUE(updater.ok()) << updater.error().message();
    return std::move(*updater);
  }
  UpdaterOptions options() const { return {"/tuf", kMetadataUrl, kTargetUrl, first_root}; }

  // A refresh by a process of its own: what it knows comes from the disk.
  Status refreshed() { return opened()->refresh(); }
  void expect_refreshed() {
    const Status done = refreshed();
    EXPECT_TRUE(done.ok()) << done.error().message();
  }
  // Refused for a reason that names `part`.
  void expect_refused(const std::string& part) {
    const Status done = refreshed();
    ASSERT_FALSE(done.ok()) << "nobody spoke of " << part;
    EXPECT_NE(done.error().message().find(part), std::string::npos) << done.error().message();
  }

  std::string kept(const std::string& role) {
    const std::string path = "/tuf/" + role + ".json";
    return env.file_size(path) < 0 ? std::string() : *env.read_file(path);
  }

  void add_target(const std::string& role, const std::string& path, const std::string& content) {
    repository->roles[role].targets[path] = content;
  }

  base::FaultEnv env;
  FakeServer server;
  std::unique_ptr<FakeRepository> repository;
  std::string first_root;
};

}  // namespace walle::link
