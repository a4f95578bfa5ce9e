#include "stream/egress/outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/fault_env.h"
#include "seed.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

constexpr const char* kPath = "/outbox.wals";
constexpr uint64_t kReserve = 100;

std::unique_ptr<Outbox> opened(Env& env, OutboxOptions options = {},
                               Outbox::Access access = Outbox::Access::create) {
  auto outbox = Outbox::open(env, kPath, options, access);
  EXPECT_TRUE(outbox.ok()) << outbox.error().message();
  return outbox.ok() ? std::move(*outbox) : nullptr;
}

OutboxRecord record(uint64_t seq, uint8_t priority = 5, size_t bytes = 10) {
  return {.seq = seq,
          .ts = static_cast<int64_t>(1000 + seq),
          .priority = priority,
          .task = "t",
          .feature = "f",
          .bytes = std::string(bytes, static_cast<char>(seq))};
}

std::vector<uint64_t> numbers(const std::vector<OutboxRecord>& records) {
  std::vector<uint64_t> out;
  for (const OutboxRecord& r : records) out.push_back(r.seq);
  return out;
}

void save(Outbox& outbox, uint64_t number) {
  ASSERT_TRUE(outbox.checkpoint(outbox.begin_checkpoint(number, kReserve)).ok());
}

OutboxStream info(const Outbox& outbox, const std::string& name) {
  for (OutboxStream& s : outbox.streams())
    if (s.name == name) return s;
  return {};
}

TEST(Outbox, RecordsAreNumberedPerStreamAndGoWhenAcknowledged) {
  FaultEnv env;
  auto outbox = opened(env);
  uint64_t frame = 0;
  for (int i = 0; i < 5; ++i) {
    outbox->add(++frame, "a", record(outbox->next("a")));
    if (i < 2) outbox->add(++frame, "b", record(outbox->next("b")));
  }
  EXPECT_EQ(outbox->next("a"), 6u);
  EXPECT_EQ(outbox->next("none"), 1u);
  EXPECT_EQ(numbers(outbox->read("a", 3)), (std::vector<uint64_t>{3, 4, 5}));
  EXPECT_EQ(numbers(outbox->read("a", 0, 2)), (std::vector<uint64_t>{1, 2}));
  outbox->acknowledge(++frame, "a", 3);
  outbox->acknowledge(++frame, "b", 99);  // beyond the newest: all of it
  EXPECT_EQ(numbers(outbox->read("a")), (std::vector<uint64_t>{4, 5}));
  save(*outbox, frame);
  outbox->add(++frame, "a", record(outbox->next("a")));
  outbox = opened(env, {}, Outbox::Access::existing);
  EXPECT_EQ(outbox->applied(), frame - 1);
  EXPECT_EQ(outbox->next("a"), 6u);
  outbox->add(frame - 1, "a", record(6));  // in the file: a replay of it does nothing
  EXPECT_EQ(outbox->next("a"), 6u);
  outbox->add(frame, "a", record(6));
  EXPECT_EQ(numbers(outbox->read("a")), (std::vector<uint64_t>{4, 5, 6}));
  EXPECT_EQ(outbox->read("a")[0].bytes, std::string(10, '\4'));
  EXPECT_EQ(outbox->next("b"), 3u);
  EXPECT_EQ(info(*outbox, "b").waiting, 0u);
  EXPECT_EQ(info(*outbox, "b").acknowledged, 2u);
}

// Against a list that does the same slowly: by priority, then by time.
TEST(Outbox, WhatIsLowestAndOldestLeavesAFullOutboxAndIsCounted) {
  std::mt19937_64 random(test_seed());
  FaultEnv env;
  auto outbox = opened(env, {.max_bytes = 1 << 20, .max_records = 20});
  struct Kept {
    uint8_t priority;
    int64_t ts;
    std::string stream;
    uint64_t seq;
  };
  std::vector<Kept> kept;
  std::map<std::string, uint64_t> dropped;
  for (int i = 0; i < 500; ++i) {
    const std::string stream = random() % 2 ? "a" : "b";
    OutboxRecord r = record(outbox->next(stream), static_cast<uint8_t>(random() % 4));
    r.ts = i;
    const Kept now{r.priority, r.ts, stream, r.seq};
    outbox->add(i + 1, stream, r);
    if (kept.size() == 20) {
      const auto least =
          std::ranges::min_element(kept, {}, [](const Kept& k) { return std::pair(k.priority, k.ts); });
      if (least->priority > now.priority) {
        ++dropped[stream];
        continue;
      }
      ++dropped[least->stream];
      kept.erase(least);
    }
    kept.push_back(now);
  }
  for (const char* stream : {"a", "b"}) {
    std::vector<uint64_t> expected;
    for (const Kept& k : kept)
      if (k.stream == stream) expected.push_back(k.seq);
    EXPECT_EQ(numbers(outbox->read(stream)), expected);
    EXPECT_EQ(info(*outbox, stream).dropped, dropped[stream]);
    EXPECT_EQ(info(*outbox, stream).dropped_bytes, 10 * dropped[stream]);
    EXPECT_EQ(info(*outbox, stream).newest, outbox->next(stream) - 1);
  }
  save(*outbox, 500);
  outbox = opened(env);
  EXPECT_EQ(info(*outbox, "a").dropped, dropped["a"]);
}

TEST(Outbox, BytesAreBoundedToo) {
  FaultEnv env;
  auto outbox = opened(env, {.max_bytes = 2000, .max_records = 1000});
  for (uint64_t n = 1; n <= 10; ++n) outbox->add(n, "a", record(n, 5, 300));
  EXPECT_EQ(numbers(outbox->read("a")), (std::vector<uint64_t>{6, 7, 8, 9, 10}));
  outbox->add(11, "a", record(11, 9, 3000));  // larger than all: it is the one that goes
  EXPECT_EQ(numbers(outbox->read("a")), (std::vector<uint64_t>{6, 7, 8, 9, 10}));
  EXPECT_EQ(info(*outbox, "a").dropped, 6u);
  EXPECT_EQ(outbox->next("a"), 12u);
}

TEST(Outbox, AFailedCheckpointKeepsEverything) {
  for (int fail = 0; fail < 3; ++fail) {
    FaultEnv env;
    auto outbox = opened(env);
    outbox->add(1, "a", record(1));
    env.fail_at(fail);
    const bool saved = outbox->checkpoint(outbox->begin_checkpoint(1, kReserve)).ok();
    EXPECT_EQ(saved, fail == 2);
    env.fail_at(-1);
    const auto killed = env.copy();
    auto again = opened(*killed, {}, Outbox::Access::existing);
    again->add(1, "a", record(1));
    EXPECT_EQ(numbers(again->read("a")), (std::vector<uint64_t>{1}));
    save(*outbox, 1);
    EXPECT_EQ(numbers(opened(env)->read("a")), (std::vector<uint64_t>{1}));
  }
}

TEST(Outbox, LostFramesAndLostFilesAreToldOfAndNumbersGoOn) {
  FaultEnv env;
  auto outbox = opened(env);
  for (uint64_t n = 1; n <= 3; ++n) outbox->add(n, "a", record(n));
  save(*outbox, 3);
  ASSERT_TRUE(outbox->lose_newest(kReserve).ok());
  outbox->add(4, "a", record(4));  // one that is left
  outbox->settle();
  EXPECT_EQ(outbox->next("a"), 3 + kReserve + 1);
  EXPECT_EQ(info(*outbox, "a").lost, kReserve - 1);
  EXPECT_EQ(outbox->next("another"), kReserve + 1);
  outbox = opened(env);
  EXPECT_TRUE(outbox->lost());
  outbox->settle();
  EXPECT_EQ(outbox->next("a"), 3 + kReserve + 1);
  outbox->acknowledge_loss();
  save(*outbox, 5);
  EXPECT_FALSE(opened(env)->lost());
  env.file(kPath)[20] ^= 1;
  env.file(std::string(kPath) + ".mirror").clear();
  for (int open = 0; open < 2; ++open) {
    outbox = opened(env, {}, Outbox::Access::existing);
    EXPECT_TRUE(outbox->lost());
    outbox->not_before("a", 300);
    EXPECT_EQ(outbox->next("a"), 301u);
  }
  ASSERT_TRUE(env.remove_file(kPath).ok());
  ASSERT_TRUE(env.remove_file(std::string(kPath) + ".mirror").ok());
  EXPECT_TRUE(opened(env, {}, Outbox::Access::existing)->lost());
}

TEST(Outbox, OneFlippedBitTakesNothing) {
  FaultEnv whole;
  auto outbox = opened(whole);
  for (uint64_t n = 1; n <= 3; ++n) outbox->add(n, "a", record(n));
  save(*outbox, 3);
  const std::string good = whole.file(kPath);
  for (size_t bit = 0; bit < 8 * good.size(); bit += 3) {
    whole.file(kPath) = good;
    whole.file(kPath)[bit / 8] = static_cast<char>(good[bit / 8] ^ 1 << bit % 8);
    auto again = opened(whole, {}, Outbox::Access::existing);
    ASSERT_EQ(numbers(again->read("a")), (std::vector<uint64_t>{1, 2, 3})) << bit;
    ASSERT_FALSE(again->lost());
  }
}

TEST(Outbox, LimitsThatNoFileHoldsAreRefused) {
  FaultEnv env;
  for (const OutboxOptions& bad :
       {OutboxOptions{.max_bytes = 0}, OutboxOptions{.max_records = 0}, OutboxOptions{.max_bytes = 16 << 20},
        OutboxOptions{.max_records = 1 << 20}})
    EXPECT_FALSE(Outbox::open(env, kPath, bad).ok());
}

}  // namespace
}  // namespace walle::stream
