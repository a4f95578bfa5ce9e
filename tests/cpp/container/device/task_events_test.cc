#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "container/device/commit_frame.h"
#include "container/device/commits.h"

namespace walle::container {
namespace {

constexpr const char* kDir = "/device";

// A log that takes events until it is told to fail.
struct Log final : EventRecorder {
  uint64_t newest() const override { return ids.size(); }
  Status append(const PendingEvent& event) override {
    if (left-- <= 0) return resource_error("a full disk", "room", "log", "free some");
    EXPECT_TRUE(ids.empty() || event.id > ids.back());
    ids.push_back(event.id);
    names.push_back(event.event.event);
    return {};
  }
  Status sync() override {
    ++syncs;
    return {};
  }
  std::vector<int64_t> ids;
  std::vector<std::string> names;
  int left = INT32_MAX, syncs = 0;
};

struct TaskEventsTest : testing::Test {
  void open() {
    commits.reset();
    auto opened = Commits::open(env, kDir, {.journal_bytes = 256 << 10});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    commits = *std::move(opened);
  }
  // As a device does: what the log has is known, the rest goes its way.
  void attach() {
    if (!log.ids.empty()) commits->recorded(log.ids.back());
    commits->record_into(&log);
  }
  void commit(uint64_t firing, size_t events) {
    Commit c{.task = "t", .number = firing};
    for (size_t i = 0; i < events; ++i)
      c.events.push_back({.event = std::to_string(firing) + "." + std::to_string(i), .ts = 5, .fields = "x"});
    ASSERT_TRUE(commits->commit(c).ok());
  }

  base::FaultEnv env;
  std::unique_ptr<Commits> commits;
  Log log;
};

TEST_F(TaskEventsTest, WhatTheLogLacksIsRecordedByTheNextOpen) {
  for (int room = 0; room <= 4; ++room) {
    commits.reset();
    env = base::FaultEnv();
    log = Log();
    open();
    attach();
    log.left = room;
    commit(1, 2);
    commit(2, 0);
    commit(3, 2);
    EXPECT_EQ(log.ids.size(), static_cast<size_t>(room));
    open();  // without a checkpoint
    log.left = 100;
    attach();
    ASSERT_TRUE(commits->drain().ok());
    EXPECT_EQ(log.names, (std::vector<std::string>{"1.0", "1.1", "3.0", "3.1"})) << room;
    EXPECT_FALSE(commits->oldest());
    EXPECT_EQ(commits->settled("t"), 3u);
  }
}

TEST_F(TaskEventsTest, FramesStayUntilTheLogHasTheirEvents) {
  open();
  attach();
  log.left = 1;
  commit(1, 2);
  EXPECT_FALSE(commits->checkpoint().ok());
  log.left = 100;
  EXPECT_TRUE(commits->checkpoint().ok());
  EXPECT_EQ(log.ids.size(), 2u);
  EXPECT_EQ(log.syncs, 1);
  open();
  EXPECT_FALSE(commits->oldest()) << "the frame is gone";
}

TEST_F(TaskEventsTest, NoFrameHasMoreThanItsIdsReach) {
  open();
  attach();
  Commit c{.task = "t", .number = 1};
  c.events.resize(kMaxFrameEvents + 1);
  EXPECT_FALSE(commits->commit(c).ok());
  c.events.resize(kMaxFrameEvents);
  EXPECT_TRUE(commits->commit(c).ok());
  EXPECT_EQ(log.ids.size(), kMaxFrameEvents);
}

// A timer that was set anew since it was looked at does not fire.
TEST_F(TaskEventsTest, ACommitMayAskThatNothingHasChanged) {
  open();
  attach();
  ASSERT_TRUE(commits->maps().open("m").ok());
  const std::string one(8, '\0'), two = one + "x";
  Commit set{.state = {{"m", "k", one}}};
  ASSERT_TRUE(commits->commit(set).ok());
  Commit fire{.state = {{"m", "k", std::nullopt}}, .events = {{.event = "due"}}};
  fire.only_if = Commit::Change{"m", "k", two};
  const auto refused = commits->commit(fire);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().group(), base::ErrorGroup::argument);
  EXPECT_TRUE(log.ids.empty());
  fire.only_if->value = one;
  EXPECT_TRUE(commits->commit(fire).ok());
  EXPECT_EQ(log.ids.size(), 1u);
}

}  // namespace
}  // namespace walle::container
