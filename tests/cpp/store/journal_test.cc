#include "store/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/checked_write.h"
#include "base/fault_env.h"

namespace walle::store {
namespace {

using base::FaultEnv;

std::string payload_of(uint64_t seq, size_t size) {
  std::mt19937_64 random(seq);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

size_t size_of(uint64_t seq) { return 1 + (seq * 2654435761u) % 300; }

Result<uint64_t> append(Journal& j) {
  const uint64_t next = j.last_seq() + 1;
  const std::string p = payload_of(next, size_of(next));
  return j.append(std::as_bytes(std::span(p)));
}

// Every kept frame must be exactly what was accepted; returns how many there are.
size_t check_contents(const Journal& j) {
  size_t n = 0;
  uint64_t previous = 0;
  j.read(0, [&](uint64_t seq, std::span<const std::byte> bytes) {
    EXPECT_GT(seq, previous);
    previous = seq;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              payload_of(seq, size_of(seq)));
    ++n;
    return true;
  });
  return n;
}

// From any number on the same frames, however the ring has been lapped, skipped ahead in and opened anew.
TEST(Journal, ReadingBeginsAnywhere) {
  constexpr uint64_t kSeed = 5;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937_64 random(kSeed);
  FaultEnv env;
  auto j = Journal::open(env, "/j", 64 << 10);
  ASSERT_TRUE(j.ok());
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 40; ++i) {
      if (!append(**j).ok()) {
        ASSERT_TRUE((*j)->release((*j)->first_seq() + random() % 150).ok());
      }
    }
    if (random() % 20 == 0) (*j)->skip_to((*j)->last_seq() + 1 + random() % 1000);
    if (random() % 15 == 0) {
      j->reset();
      j = Journal::open(env, "/j", 64 << 10);
      ASSERT_TRUE(j.ok());
    }
    std::vector<uint64_t> all;
    (*j)->read(0, [&](uint64_t seq, std::span<const std::byte>) {
      all.push_back(seq);
      return true;
    });
    for (int i = 0; i < 10; ++i) {
      const uint64_t from = (*j)->first_seq() + random() % ((*j)->last_seq() - (*j)->first_seq() + 5);
      std::vector<uint64_t> some;
      (*j)->read(from, [&](uint64_t seq, std::span<const std::byte> bytes) {
        EXPECT_EQ(base::as_text(bytes), payload_of(seq, size_of(seq)));
        some.push_back(seq);
        return some.size() < 20;
      });
      std::vector<uint64_t> want(std::lower_bound(all.begin(), all.end(), from), all.end());
      want.resize(std::min<size_t>(want.size(), 20));
      ASSERT_EQ(some, want) << "round " << round << " from " << from;
    }
  }
}

TEST(Crc32c, BothWaysGiveThePublishedValue) {
  EXPECT_EQ(base::crc32c(0, "123456789", 9), 0xe3069283u);
  for (size_t n = 0; n < 1000; ++n) {
    const std::string p = payload_of(n, n);
    EXPECT_EQ(base::crc32c(0, p.data(), n), base::crc32c_portable(0, p.data(), n));
  }
}

TEST(Crc32c, CopyingAndWritingGiveTheBytesAndTheirChecksum) {
  for (size_t n = 0; n < 1000; ++n) {
    const std::string p = payload_of(n, n);
    const auto same = [&](auto&& copy) {
      std::string to(n + 1, '#');
      EXPECT_EQ(copy(to.data()), base::crc32c_portable(7, p.data(), n)) << n;
      EXPECT_EQ(to, p + '#') << n;
    };
    same([&](void* to) { return base::crc32c_copy_portable(7, to, p.data(), n); });
    if (base::has_crc32c_instruction())
      same([&](void* to) { return base::crc32c_copy_instruction(7, to, p.data(), n); });
  }
  const auto fields = [](auto& w) {
    w.put(uint8_t{0x81}), w.put(int64_t{-2}), w.put(uint16_t{0x8001}), w.put(uint32_t{0x80000001}),
        w.copy("text", 4), w.put(1.5);
  };
  std::byte fast[27], slow[27];
  base::Crc32cWriter<false> portable(slow);
  fields(portable);
  EXPECT_EQ(base::checked_write(fast, fields), portable.finish());
  EXPECT_EQ(std::memcmp(fast, slow, 27), 0);
  EXPECT_EQ(portable.finish(), base::crc32c_portable(0, slow, 27));
}

TEST(Journal, KeepsEverythingOverManyLapsAndReopenings) {
  FaultEnv env;
  uint64_t accepted = 0;
  for (int round = 0; round < 50; ++round) {
    auto j = Journal::open(env, "/j", 16384);
    ASSERT_TRUE(j.ok());
    ASSERT_EQ((*j)->last_seq(), accepted);
    ASSERT_EQ((*j)->recovery().lost, 0u);
    for (int i = 0; i < 37; ++i) {
      auto seq = append(**j);
      while (!seq.ok()) {
        ASSERT_TRUE((*j)->release((*j)->first_seq() + 5).ok());
        seq = append(**j);
      }
      ASSERT_EQ(*seq, ++accepted);
    }
    ASSERT_EQ(check_contents(**j), accepted + 1 - (*j)->first_seq());
  }
}

TEST(Journal, FullAndOversizedAreErrorsWithARemedy) {
  FaultEnv env;
  auto j = Journal::open(env, "/j", 8192);
  ASSERT_TRUE(j.ok());
  const std::string big(5000, 'x');
  auto r = (*j)->append(std::as_bytes(std::span(big)));
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message().find("at most 2048 bytes"), std::string::npos);
  while ((r = append(**j)).ok()) {
  }
  EXPECT_NE(r.error().message().find("compact"), std::string::npos);
  EXPECT_FALSE(Journal::open(env, "/j", 8192).ok()) << "two writers";
  EXPECT_FALSE(Journal::open(env, "/k", 1000).ok());
}

TEST(Journal, PowerLossKeepsEverythingSyncedAndCountsTheRest) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    FaultEnv env;
    std::mt19937_64 random(seed);
    uint64_t synced = 0, released = 0, last = 0;
    {
      auto j = Journal::open(env, "/j", 16384);
      ASSERT_TRUE(j.ok());
      for (int i = 0, n = static_cast<int>(random() % 400); i < n; ++i) {
        if (!append(**j).ok()) {
          // What is released was compacted elsewhere first, so it counts as safe.
          ASSERT_TRUE((*j)->release(released = (*j)->first_seq() + random() % 20).ok());
          released = (*j)->first_seq() - 1;
        }
        if (random() % 40 == 0) {
          ASSERT_TRUE((*j)->sync().ok());
          synced = (*j)->last_seq();
        }
      }
      last = (*j)->last_seq();
    }
    env.lose_power(seed, seed % 2 ? 0.5 : 0.0);
    auto j = Journal::open(env, "/j", 16384);
    ASSERT_TRUE(j.ok());
    EXPECT_GE(std::max((*j)->recovery().last_seq, released), synced) << seed;
    EXPECT_LE((*j)->recovery().last_seq + (*j)->recovery().lost, std::max(last, released)) << seed;
    check_contents(**j);
  }
}

// What a killed process appended may lie in the page cache alone: a sync of the next process is for that too.
TEST(Journal, ASyncAfterAKillIsForAllThatWasFound) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FaultEnv env;
    for (const bool killed : {true, false}) {
      auto j = Journal::open(env, "/j", 65536);
      ASSERT_TRUE(j.ok());
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(**j).ok());
      if (!killed) {
        ASSERT_TRUE((*j)->sync().ok());
      }
    }
    env.lose_power(seed, 0.5);
    const auto j = Journal::open(env, "/j", 65536);
    ASSERT_TRUE(j.ok());
    EXPECT_EQ(check_contents(**j), 40u) << seed;
    EXPECT_EQ((*j)->recovery().lost, 0u);
  }
}

TEST(Journal, DamageAtEveryByteKeepsThePrefixAndCountsTheLoss) {
  FaultEnv env;
  {
    auto j = Journal::open(env, "/j", 8192);
    ASSERT_TRUE(j.ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(**j).ok());
    ASSERT_TRUE((*j)->release(4).ok());
    ASSERT_TRUE((*j)->sync().ok());
  }
  const std::string good = env.file("/j");
  for (size_t at = 0; at < good.size(); ++at) {
    if (at >= 256 && at < kJournalHeaderBytes) continue;  // unused header bytes
    env.file("/j") = good;
    env.file("/j")[at] = static_cast<char>(~good[at]);
    uint64_t last, lost;
    {
      auto j = Journal::open(env, "/j", 8192);
      ASSERT_TRUE(j.ok()) << at;
      last = (*j)->recovery().last_seq, lost = (*j)->recovery().lost;
      ASSERT_EQ(last + lost, 20u) << at;
      check_contents(**j);
      ASSERT_EQ((*j)->last_seq(), 20u);  // lost numbers are not reused
      ASSERT_TRUE(append(**j).ok());
    }
    auto again = Journal::open(env, "/j", 8192);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ((*again)->last_seq(), 21u) << "at byte " << at;
    ASSERT_EQ((*again)->recovery().lost, 0u);
  }
}

TEST(Journal, TruncationAtEveryLengthIsRecovered) {
  FaultEnv env;
  {
    auto j = Journal::open(env, "/j", 8192);
    ASSERT_TRUE(j.ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(**j).ok());
  }
  const std::string good = env.file("/j");
  for (size_t size = 0; size < good.size(); ++size) {
    env.file("/j") = good.substr(0, size);
    auto j = Journal::open(env, "/j", 8192);
    ASSERT_TRUE(j.ok()) << size;
    check_contents(**j);
    if (size >= 256) {
      ASSERT_EQ((*j)->recovery().last_seq + (*j)->recovery().lost, 20u) << size;
    }
  }
}

TEST(Journal, EveryFailingOperationIsAnErrorAndNothingIsTorn) {
  for (int64_t k = 0; k < 40; ++k) {
    FaultEnv env;
    uint64_t accepted = 0;
    env.fail_at(k);
    if (auto j = Journal::open(env, "/j", 8192); j.ok()) {
      for (int i = 0; i < 60; ++i) {
        if (append(**j).ok())
          ++accepted;
        else
          (void)(*j)->release((*j)->first_seq() + 3).ok();
        if (i % 9 == 0) (void)(*j)->sync().ok();
      }
    }
    env.fail_at(-1);
    auto j = Journal::open(env, "/j", 8192);
    ASSERT_TRUE(j.ok()) << k;
    ASSERT_EQ((*j)->last_seq(), accepted);
    check_contents(**j);
  }
}

TEST(Journal, FullDiskAndReadOnlyDiskAreErrorsAtOpen) {
  FaultEnv env;
  env.limit_disk(4096);
  auto full = Journal::open(env, "/j", 8192);
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message().find("free space"), std::string::npos);
  env.limit_disk(-1);
  env.set_read_only(true);
  EXPECT_FALSE(Journal::open(env, "/j", 8192).ok());
}

}  // namespace
}  // namespace walle::store
