// What is lost is told at every open until somebody has acknowledged it, and no number is given out twice.
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

// Three segments of 20 events and 20 more in the journal.
void four_parts(FaultEnv& env, bool killed = false) {
  auto log = open_log(env);
  for (int part = 0; part < 3; ++part) {
    fill(*log, env, 20);
    ASSERT_TRUE(log->compact().ok());
  }
  fill(*log, env, 20);
  if (killed) kill(env, log);
}

struct Expected {
  LossKind kind;
  uint64_t first, last, events;
};

// Told at two opens, then acknowledged and not told at the third.
void expect_loss(FaultEnv& env, const Expected& expected) {
  for (int open = 0; open < 2; ++open) {
    auto log = open_log(env);
    const std::vector<Loss> found = losses(*log);
    ASSERT_EQ(found.size(), 1u) << open;
    EXPECT_EQ(found[0].kind, expected.kind);
    EXPECT_EQ(found[0].first, expected.first);
    EXPECT_EQ(found[0].last, expected.last);
    EXPECT_EQ(found[0].count, expected.events);
    EXPECT_FALSE(found[0].cause.empty());
    if (open == 0) continue;
    ASSERT_TRUE(log->acknowledge(found).ok());
  }
  auto log = open_log(env);
  EXPECT_TRUE(losses(*log).empty());
}

TEST(LogLosses, ADamagedSegmentIsToldUntilAcknowledged) {
  FaultEnv env;
  four_parts(env);
  env.file(files(env, ".wseg")[1])[100] ^= 1;
  expect_loss(env, {LossKind::damaged_segment, 21, 40, 20});
  EXPECT_EQ(numbers(*open_log(env)).size(), 60u);
}

TEST(LogLosses, ADeletedSegmentIsNoticed) {
  FaultEnv env;
  four_parts(env);
  ASSERT_TRUE(env.remove_file(files(env, ".wseg")[2]).ok());
  expect_loss(env, {LossKind::missing_segment, 41, 60, 20});
}

TEST(LogLosses, AnEmptiedOrDeletedJournalIsNoticedAndItsNumbersAreNotGivenOutAgain) {
  for (const bool deleted : {false, true})
    for (const bool zeroed : {false, true}) {
      FaultEnv env;
      four_parts(env);
      const std::string path = files(env, ".walj")[0];
      if (zeroed) std::ranges::fill(env.file(path), '\0');
      if (!zeroed) env.file(path).clear();
      ASSERT_TRUE(!deleted || env.remove_file(path).ok());
      expect_loss(env, {LossKind::journal, 61, 80, 20});
      auto log = open_log(env);
      const auto next = put(*log, env.wall_us());
      ASSERT_TRUE(next.ok());
      EXPECT_GT(next->seq, 80u);
      EXPECT_EQ(numbers(*log).size(), 61u);
    }
}

TEST(LogLosses, AfterAKillTheBoundOfADeletedJournalIsTold) {
  FaultEnv env;
  four_parts(env, true);
  ASSERT_TRUE(env.remove_file(files(env, ".walj")[0]).ok());
  auto log = open_log(env);
  const std::vector<Loss> found = losses(*log);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, LossKind::journal);
  EXPECT_EQ(found[0].first, 61u);
  EXPECT_GE(found[0].last, 80u);
  EXPECT_FALSE(found[0].exact);
  EXPECT_GT(put(*log, env.wall_us())->seq, found[0].last);
}

TEST(LogLosses, AKilledLogThatIsWholeTellsOfNothing) {
  FaultEnv env;
  four_parts(env, true);
  auto log = open_log(env);
  EXPECT_TRUE(losses(*log).empty());
  EXPECT_EQ(numbers(*log).size(), 80u);
  EXPECT_EQ(put(*log, env.wall_us())->seq, 81u);
}

TEST(LogLosses, AJournalWithoutAHeaderIsFoundByWhatTheManifestKnows) {
  FaultEnv env;
  four_parts(env);
  // Laps: the frames that count do not begin at the ring's start.
  {
    auto log = open_log(env);
    for (int i = 0; i < 200; ++i) {
      fill(*log, env, 1);
      ASSERT_TRUE(log->maintain().ok());
    }
  }
  std::string& journal = env.file(files(env, ".walj")[0]);
  std::fill_n(journal.begin(), store::kJournalHeaderBytes, '\0');
  auto log = open_log(env);
  EXPECT_TRUE(losses(*log).empty());
  EXPECT_EQ(numbers(*log).size(), 280u);
}

TEST(LogLosses, EveryByteOfTheJournalsHeaderCostsNoEventUntold) {
  FaultEnv good;
  four_parts(good);
  const std::string before = good.file("/log/journal.walj");
  for (size_t at = 0; at < 192; ++at) {
    FaultEnv env;
    four_parts(env);
    env.file("/log/journal.walj")[at] = static_cast<char>(before[at] ^ 0x10);
    auto log = open_log(env);
    ASSERT_TRUE(log);
    uint64_t told = 0;
    for (const Loss& loss : losses(*log)) told += loss.count;
    EXPECT_GE(numbers(*log).size() + told, 80u) << at;
    EXPECT_GT(put(*log, env.wall_us())->seq, 80u) << at;
  }
}

TEST(LogLosses, WhatQuotaRemovedUnreadIsCountedPerReader) {
  FaultEnv env;
  EventLogOptions options = small();
  options.quota_bytes = 4000;
  auto log = open_log(env, options);
  fill(*log, env, 10);
  ASSERT_TRUE(log->set_cursor("slow", 5).ok());
  ASSERT_TRUE(log->set_cursor("fast", 5).ok());
  for (int i = 0; i < 1000; ++i) {
    fill(*log, env, 1);
    ASSERT_TRUE(log->set_cursor("fast", log->last_seq()).ok());
    ASSERT_TRUE(log->maintain().ok());
  }
  const uint64_t first = numbers(*log).front();
  const std::vector<Loss> found = losses(*log);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, LossKind::quota);
  EXPECT_EQ(found[0].owner, "slow");
  EXPECT_EQ(found[0].first, 6u);
  EXPECT_EQ(found[0].last, first - 1);
  EXPECT_EQ(found[0].count, first - 6);
  log.reset();
  EXPECT_EQ(losses(*open_log(env)), found);
}

TEST(LogLosses, WhatAgeRemovedUnreadIsCountedToo) {
  FaultEnv env;
  EventLogOptions options = small();
  options.max_age_us = kHourUs;
  auto log = open_log(env, options);
  fill(*log, env, 10);
  ASSERT_TRUE(log->set_cursor("slow", 4).ok());
  ASSERT_TRUE(log->compact().ok());
  env.advance_us(2 * kHourUs);
  for (int i = 0; i < 100; ++i) {
    fill(*log, env, 1);
    ASSERT_TRUE(log->maintain().ok());
  }
  ASSERT_EQ(losses(*log).size(), 1u);
  EXPECT_EQ(losses(*log)[0].kind, LossKind::age);
  EXPECT_EQ(losses(*log)[0].count, 6u);
}

TEST(LogLosses, APlaceBeyondTheEndIsAnError) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 3);
  EXPECT_TRUE(log->set_cursor("r", 3).ok());
  const Status s = log->set_cursor("r", 4);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message().find("at most 3"), std::string::npos) << s.error().message();
  EXPECT_EQ(*log->cursor("r"), 3u);
}

TEST(LogLosses, OneCopyOfTheManifestServesAndNoneIsTold) {
  FaultEnv env;
  four_parts(env);
  env.file("/log/manifest.wals")[40] ^= 1;
  {
    auto log = open_log(env);
    EXPECT_TRUE(losses(*log).empty());
    EXPECT_EQ(log->report().mended_copies, 1u);
  }
  ASSERT_TRUE(env.remove_file("/log/manifest.wals").ok());
  ASSERT_TRUE(env.remove_file("/log/manifest.wals.mirror").ok());
  auto log = open_log(env);
  ASSERT_EQ(losses(*log).size(), 1u);
  EXPECT_EQ(losses(*log)[0].kind, LossKind::manifest);
  EXPECT_EQ(numbers(*log).size(), 80u);
}

TEST(LogManifest, ReadsBackAndRefusesEveryCutAndTail) {
  LogManifest manifest;
  manifest.reserved = 900;
  manifest.newest = 100;
  manifest.compacted = 80;
  manifest.segments.push_back({.first = 1,
                               .last = 80,
                               .rows = 70,
                               .min_ts = kLeastTimeUs,
                               .max_ts = kLeastTimeUs + 9,
                               .bytes = 1234});
  manifest.add({.kind = LossKind::quota, .first = 1, .last = 9, .count = 9, .owner = "r", .cause = "c"});
  manifest.erasing = {5, 6, 70};
  const std::string bytes = manifest.serialize();
  const auto read = LogManifest::parse(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->serialize(), bytes);
  EXPECT_EQ(read->losses, manifest.losses);
  EXPECT_EQ(read->erasing, manifest.erasing);
  EXPECT_EQ(file_of(read->segments[0]), "0000000000000001-0000000000000050.wseg");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(LogManifest::parse(bytes.substr(0, size))) << size;
  EXPECT_FALSE(LogManifest::parse(bytes + '\0'));
}

TEST(LogManifest, NewsOfOneLossIsNotAnother) {
  LogManifest manifest;
  const auto lose = [&](LossKind kind, uint64_t first, uint64_t last, std::string reader = "") {
    manifest.add({.kind = kind,
                  .first = first,
                  .last = last,
                  .count = last - first + 1,
                  .owner = reader,
                  .cause = "c"});
  };
  lose(LossKind::journal, 10, 20);
  lose(LossKind::journal, 10, 20);  // noticed again after a crash
  lose(LossKind::journal, 21, 30);
  lose(LossKind::quota, 1, 5, "a");
  lose(LossKind::quota, 6, 9, "a");
  lose(LossKind::quota, 6, 9, "b");
  ASSERT_EQ(manifest.losses.size(), 4u);
  EXPECT_EQ(manifest.losses[0].count, 11u);
  EXPECT_EQ(manifest.losses[2].count, 9u);
  EXPECT_EQ(manifest.losses[2].last, 9u);
  for (uint64_t n = 0; n < 5000; ++n) lose(LossKind::damaged_segment, 100 + 2 * n, 100 + 2 * n);
  EXPECT_LE(manifest.losses.size(), 1024u);
  uint64_t told = 0;
  for (const Loss& loss : manifest.losses) told += loss.kind == LossKind::damaged_segment ? loss.count : 0;
  EXPECT_EQ(told, 5000u) << "their sum is never cut";
}

TEST(LogLosses, DraftsThatACrashLeftAreRemoved) {
  FaultEnv env;
  four_parts(env);
  ASSERT_TRUE(env.replace_file("/log/0000000000000051-0000000000000060.wseg.new", "half a segment").ok());
  open_log(env);
  EXPECT_TRUE(files(env, ".new").empty());
}

// A failure while opening must not make the next open forget.
TEST(LogLosses, EveryFailingOperationOfAnOpenLeavesTheLossTold) {
  for (int64_t k = 0; k < 60; ++k) {
    FaultEnv env;
    four_parts(env);
    env.file(files(env, ".wseg")[1])[100] ^= 1;
    ASSERT_TRUE(env.remove_file("/log/journal.walj").ok());
    env.fail_at(k);
    (void)EventLog::open(env, kDir, marks(), small()).ok();
    env.fail_at(-1);
    auto log = open_log(env);
    ASSERT_TRUE(log) << k;
    uint64_t told = 0;
    for (const Loss& loss : losses(*log)) told += loss.count;
    EXPECT_GE(told, 40u) << k;
    EXPECT_GT(put(*log, env.wall_us())->seq, 80u) << k;
    EXPECT_EQ(numbers(*log).size(), 41u) << k;
  }
}

TEST(LogLosses, ADurableEventSurvivesThePowerAtOnce) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 7);
  Event e;
  e.event = *log->catalog().find_event("mark");
  e.ts = env.wall_us();
  const std::vector<Value> contents{Value::of(int64_t{8})};
  e.contents = contents;
  const int64_t before = env.operations();
  ASSERT_TRUE(log->append(e, true).ok());
  EXPECT_EQ(env.operations() - before, 1) << "one sync";
  kill(env, log);
  env.lose_power();
  EXPECT_EQ(numbers(*open_log(env)).size(), 8u);
}

}  // namespace
}  // namespace walle::stream
