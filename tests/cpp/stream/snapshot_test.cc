// Snapshots of matching that are damaged or forged: refused, or read without leaving the matcher's bounds.
#include <gtest/gtest.h>

#include <memory>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "stream/random_case.h"

namespace walle::stream::testing {
namespace {

// Two wait for an absence, each the first of its scope: in the device's one partition, and in those of pages.
constexpr const char* kTriggers[] = {
    "a !~ c for 5us",
    "a ~ b",
    "a ~ b !~ c for 3us scope page",
    "a ~ b ~ c scope by(who) every",
    "a !c ~ b within 20us cooldown 4us",
    "b rate 2 per 9us",
    "count(a) > 2 within 40us scope by(who, page)",
    "distinct(x of b) >= 1 once per who keep 3",
    "sum(x) > 3 keep 4 within 30us rate 2 per 9us per (x, session)",
    "a ~>(2us..) b[x >= $a.x] !~ c for 2us cooldown 3us per page",
    "!c ~(3us) a ~ b scope session",
    "every 5us",
    "idle 2us",
};

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    for (const char* text : kTriggers) triggers_.push_back(*compile_trigger(*parse_trigger(text), catalog_));
  }

  std::unique_ptr<Matcher> matcher() const {
    auto m = std::make_unique<Matcher>(catalog_);
    for (const CompiledTrigger& t : triggers_) EXPECT_TRUE(m->add(t).ok());
    return m;
  }

  void run(Matcher& m, uint64_t from, uint64_t count) const {
    const Value contents[] = {Value::of(int64_t{1}), Value::of(std::string_view("me"))};
    for (uint64_t i = from; i < from + count; ++i) {
      Event e;
      e.seq = i + 1;
      e.ts = static_cast<int64_t>(1000 + 2 * i);
      e.session = 1;
      e.page_instance = 1 + i / 4;
      e.event = static_cast<uint16_t>(7 + i % 3);
      e.page = 1;
      e.contents = contents;
      m.step(e);
      for (Firing f; m.queue().pop(f);) EXPECT_LT(f.trigger, triggers_.size());
    }
  }

  std::string snapshot() const {
    const auto m = matcher();
    run(*m, 0, 20);
    return m->snapshot();
  }

  const Catalog catalog_ = small_world();
  std::vector<CompiledTrigger> triggers_;
};

std::string sealed(std::string_view body) {
  base::ByteWriter out;
  out.put_bytes(body);
  out.put_checksum();
  return out.take();
}

TEST_F(SnapshotTest, WhatIsCutOrChangedIsRefused) {
  const std::string good = snapshot();
  const auto m = matcher();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(m->restore(good.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    EXPECT_FALSE(m->restore(bad).ok()) << at;
  }
  const std::string_view body = std::string_view(good).substr(0, good.size() - 4);
  EXPECT_EQ(sealed(body), good);
  EXPECT_FALSE(m->restore(sealed(std::string(body) + "x")).ok());
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_FALSE(m->restore(sealed(body.substr(0, size))).ok()) << size;
  EXPECT_EQ(m->restore(good).value(), 0u);
}

// The fingerprint of one trigger in the place of another: it belongs to a scope with other partitions.
TEST_F(SnapshotTest, AForeignTriggerIsPassedOver) {
  const std::string good = snapshot();
  int forged = 0;
  for (const CompiledTrigger& old : triggers_)
    for (const CompiledTrigger& other : triggers_) {
      std::string name(8, '\0');
      base::store_le(name.data(), old.fingerprint);
      for (size_t at = 0; (at = good.find(name, at)) != std::string::npos; ++at, ++forged) {
        std::string bad = good.substr(0, good.size() - 4);
        base::store_le(bad.data() + at, other.fingerprint);
        const auto m = matcher();
        EXPECT_TRUE(m->restore(sealed(bad)).ok());
        run(*m, 20, 10);
      }
    }
  EXPECT_GT(forged, 100);
}

TEST_F(SnapshotTest, ForgedNumbersStayInside) {
  constexpr uint64_t kSeed = 11;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937_64 random(kSeed);
  const std::string good = snapshot();
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good.substr(0, good.size() - 4);
    for (uint64_t edits = 1 + random() % 3; edits-- > 0;)
      bad[random() % bad.size()] = static_cast<char>(random() % 3 ? random() : random() % 4);
    const auto m = matcher();
    if (!m->restore(sealed(bad)).ok()) continue;
    ++accepted;
    run(*m, 20, 10);
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace walle::stream::testing
