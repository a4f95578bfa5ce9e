// A device as its agent sees it: what it counts is of the version that runs, a task that went away is done,
// and a closed device is an error and no crash.
#include "container/link/device_host.h"

#include "container/host/value_codec.h"
#include "container/link/link_case.h"

namespace walle::container {
namespace {

constexpr const char* kFails = "def main(event):\n    raise KeyError(event['fields']['label'])\n";

class DeviceHostTest : public LinkTest {
 protected:
  void SetUp() override {
    LinkTest::SetUp();
    if (IsSkipped()) return;
    open_device();
    host_ = std::make_unique<DeviceHost>(*env_, *device_, dir_ + "/probation");
  }
  void TearDown() override {
    host_.reset();
    LinkTest::TearDown();
  }
  void install(const std::string& version, const std::string& text) {
    const Status done = host_->install(stage(manifest("rank", version), text));
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  link::HostedTask only_task() {
    const std::vector<link::HostedTask> all = host_->tasks();
    EXPECT_EQ(all.size(), 1u);
    return all.size() == 1 ? all[0] : link::HostedTask{};
  }

  std::unique_ptr<DeviceHost> host_;
};

TEST_F(DeviceHostTest, CountsBeginAnewWithEveryVersion) {
  install("1.0.0", source(1));
  taps(3);
  EXPECT_EQ(only_task().firings, 3u);
  install("2.0.0", kFails);
  EXPECT_EQ(only_task().firings, 0u);
  EXPECT_EQ(only_task().failures, 0u);
  taps(2);
  const link::HostedTask failed = only_task();
  EXPECT_EQ(failed.version, "2.0.0");
  EXPECT_EQ(failed.firings, 2u);
  EXPECT_EQ(failed.failures, 2u);
  EXPECT_EQ(failed.trouble.phase, "main");
  EXPECT_EQ(failed.trouble.type, "KeyError");
  EXPECT_FALSE(failed.stopped);
  // Back to the first one, whose failures there are none of.
  install("1.0.0", source(1));
  EXPECT_EQ(only_task().failures, 0u);
  EXPECT_EQ(only_task().trouble.type, "");
}

TEST_F(DeviceHostTest, ATaskThatIsSetAsideHasStopped) {
  install("1.0.0", kFails);
  taps(5);
  const link::HostedTask task = only_task();
  EXPECT_TRUE(task.stopped);
  EXPECT_EQ(task.failures, 5u);
  EXPECT_EQ(task.trouble.type, "KeyError");
}

TEST_F(DeviceHostTest, AnInstallThatFailsLeavesTheVersionThatRuns) {
  install("1.0.0", source(1));
  taps(2);
  link::StagedPackage next = stage(manifest("rank", "2.0.0"), source(2));
  fs::remove_all(next.blobs);
  EXPECT_FALSE(host_->install(next).ok());
  EXPECT_EQ(only_task().version, "1.0.0");
  EXPECT_EQ(only_task().firings, 2u);
}

TEST_F(DeviceHostTest, AReleaseSetsParametersBehindTheApps) {
  const auto packed = [](const char* mode) {
    return *encode_value(vm::Value(vm::Map{{"mode", vm::Value(mode)}, {"rate", vm::Value(int64_t{3})}}));
  };
  const auto now = [&](size_t at) { return (*core()->task("rank")->params)[at].second; };
  Manifest m = manifest("rank", "1.0.0");
  m.host_calls.push_back("walle.params");
  m.params = {{.name = "mode", .type = CallType::text, .standard = vm::Value("calm")},
              {.name = "rate", .type = CallType::real, .standard = vm::Value(0.5)}};
  link::StagedPackage staged = stage(m, source(1));
  ASSERT_TRUE(host_->install(staged).ok());
  EXPECT_EQ(only_task().params, "");
  taps(2);
  EXPECT_EQ(only_task().firings, 2u);

  staged.params = packed("eager");
  const Result<link::Probation> held = host_->probation(staged);
  ASSERT_TRUE(held.ok()) << held.error().message();
  ASSERT_TRUE(host_->install(staged).ok());
  EXPECT_EQ(only_task().params, staged.params);
  EXPECT_EQ(only_task().firings, 0u) << "counted anew, as another version's";
  EXPECT_EQ(*now(0).get<std::string>(), "eager");
  EXPECT_EQ(*now(1).get<double>(), 3.0);

  // What the app sets goes before it, over releases, until it lets go.
  ASSERT_TRUE(core()->set_params("rank", {{"mode", vm::Value("mine")}}).ok());
  EXPECT_EQ(*now(0).get<std::string>(), "mine");
  device_.reset();
  open_device();
  host_ = std::make_unique<DeviceHost>(*env_, *device_, dir_ + "/probation");
  EXPECT_EQ(only_task().params, staged.params);
  EXPECT_EQ(*now(0).get<std::string>(), "mine");
  EXPECT_EQ(*now(1).get<double>(), 3.0);
  ASSERT_TRUE(core()->set_params("rank", {{"mode", vm::Value()}}).ok());
  EXPECT_EQ(*now(0).get<std::string>(), "eager");

  // What the task does not let in is an error, and what runs stays.
  for (const std::string& wrong :
       {*encode_value(vm::Value(vm::Map{{"mood", vm::Value("calm")}})),
        *encode_value(vm::Value(vm::Map{{"rate", vm::Value("fast")}})), std::string("no dict")}) {
    link::StagedPackage bad = staged;
    bad.params = wrong;
    EXPECT_FALSE(host_->probation(bad).ok());
    const Status refused = host_->install(bad);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().group(), base::ErrorGroup::argument);
    EXPECT_EQ(only_task().params, staged.params);
    EXPECT_EQ(*now(0).get<std::string>(), "eager");
  }
  staged.params.clear();
  ASSERT_TRUE(host_->install(staged).ok());
  EXPECT_EQ(*now(0).get<std::string>(), "calm");
}

// As an app may: between an agent's look at the tasks and its next step.
TEST_F(DeviceHostTest, ATaskMayGoDuringAPull) {
  install("1.0.0", source(1));
  taps(2);
  const link::StagedPackage next = stage(manifest("rank", "2.0.0"), source(2));
  ASSERT_TRUE(core()->remove("rank").ok());
  EXPECT_TRUE(host_->tasks().empty());
  EXPECT_TRUE(host_->remove("rank").ok()) << "to remove what is gone is done";
  // The pull goes on: tried on the events that are there, and installed as if it were the first.
  const Result<link::Probation> held = host_->probation(next);
  ASSERT_TRUE(held.ok()) << held.error().message();
  EXPECT_FALSE(held->trouble);
  ASSERT_TRUE(host_->install(next).ok());
  EXPECT_EQ(only_task().version, "2.0.0");
  EXPECT_EQ(only_task().firings, 0u);
}

TEST_F(DeviceHostTest, WhatDoesNotSuitIsRefusedBeforeAnythingIsFetched) {
  Packed other = pack(manifest("rank"), source(1));
  EXPECT_TRUE(host_->suits(other.manifest()).ok());
  other.package.vm += "x";
  EXPECT_FALSE(host_->suits(other.manifest()).ok());
  EXPECT_FALSE(host_->suits("no manifest").ok());
}

TEST_F(DeviceHostTest, AfterCancelAProbationIsAnError) {
  taps(1);
  host_->cancel();
  const Result<link::Probation> held = host_->probation(stage(manifest("rank"), source(1)));
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().group(), base::ErrorGroup::cancelled);
}

TEST_F(DeviceHostTest, AClosedDeviceIsAnErrorOfEveryCall) {
  install("1.0.0", source(1));
  const link::StagedPackage next = stage(manifest("rank", "2.0.0"), source(2));
  ASSERT_TRUE(device_->close().ok());
  EXPECT_TRUE(host_->tasks().empty());
  EXPECT_FALSE(host_->suits(next.manifest).ok());
  EXPECT_FALSE(host_->probation(next).ok());
  EXPECT_FALSE(host_->install(next).ok());
  const Status removed = host_->remove("rank");
  ASSERT_FALSE(removed.ok());
  EXPECT_NE(removed.error().message().find("closed"), std::string::npos) << removed.error().message();
}

}  // namespace
}  // namespace walle::container
