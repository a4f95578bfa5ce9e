// Scopes with keys: thousands of them agree with enumeration, those that give way are chosen and counted as
// said.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "stream/brute_force.h"

namespace walle::stream::testing {
namespace {

struct Kept : FiringSink {
  std::vector<Firing> all;
  void fired(const Firing& f, const MatchPlace&) override { all.push_back(f); }
};

CompiledTrigger compiled(const std::string& text, const Catalog& catalog) {
  return *compile_trigger(*parse_trigger(text), catalog, text);
}

// Events of many persons, some of whom come back after thousands of others.
class Crowd {
 public:
  Crowd(const Catalog& catalog, uint64_t seed, size_t persons, size_t events)
      : catalog_(catalog), random_(seed), events_(events), of_(events) {
    for (size_t i = 0; i < persons; ++i) names_.push_back("person " + std::to_string(i));
    int64_t ts = 1000;
    for (size_t i = 0; i < events; ++i) {
      ts += static_cast<int64_t>(random_() % 3);
      of_[i] = random_() % persons;
      Event& e = events_[i].event;
      e.seq = i + 1;
      e.ts = ts;
      e.session = 1;
      e.event = *catalog_.find_event(std::string(1, static_cast<char>('a' + random_() % 3)));
      events_[i].values = {Value::of(static_cast<int64_t>(random_() % 3)),
                           Value::of(std::string_view(names_[of_[i]]))};
      e.contents = events_[i].values;
    }
  }

  const std::vector<Recorded>& events() const { return events_; }
  int64_t end() const { return events_.back().event.ts + 10'000; }

  // What enumeration says, person by person: nobody's events are another's business.
  std::vector<int64_t> expected(const TriggerSpec& spec) const {
    std::vector<std::vector<Recorded>> by_person(names_.size());
    for (size_t i = 0; i < events_.size(); ++i) {
      by_person[of_[i]].push_back(events_[i]);
      Recorded& kept = by_person[of_[i]].back();
      kept.event.contents = events_[i].event.contents;
    }
    std::vector<int64_t> out;
    for (const auto& own : by_person) {
      if (own.empty()) continue;
      BruteForce oracle(spec, catalog_, own, 0);
      for (const Fired& f : oracle.run(own.size(), end())) out.push_back(f.ts);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  const Catalog& catalog_;
  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::vector<Recorded> events_;
  std::vector<size_t> of_;
};

TriggerSpec keyed_trigger(const Catalog& catalog, uint64_t seed) {
  for (RandomCase r(catalog, seed);;) {
    TriggerSpec spec = r.trigger();
    spec.scope = Scope::by;
    spec.by = {.fields = {"who"}};
    // Limits count over all keys, which enumeration person by person does not see.
    spec.once = false;
    spec.cooldown_us = spec.rate_us = 0;
    spec.rate = 0;
    spec.when.clear();
    // Persons come seldom: microseconds between their events become thousands.
    if (spec.within_us) *spec.within_us *= 500;
    if (spec.gap_us) *spec.gap_us *= 500;
    for (Step& s : spec.steps)
      if (s.gap_us) *s.gap_us *= 500;
    spec.absent_us *= 500;
    if (compile_trigger(spec, catalog).ok()) return spec;
  }
}

TEST(Keys, ThousandsAgreeWithEnumeration) {
  const Catalog catalog = small_world();
  constexpr size_t kPersons = 4000;
  size_t fired = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Crowd crowd(catalog, seed, kPersons, 12'000);
    const TriggerSpec spec = keyed_trigger(catalog, seed);
    const CompiledTrigger trigger = *compile_trigger(spec, catalog);
    auto m = std::make_unique<Matcher>(catalog);
    ASSERT_TRUE(m->add(trigger).ok());
    Kept got;
    for (size_t i = 0; i < crowd.events().size(); ++i) {
      if (i == 7000) {  // another matcher goes on
        auto next = std::make_unique<Matcher>(catalog);
        ASSERT_TRUE(next->add(trigger).ok());
        ASSERT_EQ(next->restore(m->snapshot()).value(), 0u);
        m = std::move(next);
      }
      m->step(crowd.events()[i].event, got);
    }
    m->advance(crowd.end(), got);
    std::vector<int64_t> times;
    for (const Firing& f : got.all) times.push_back(f.ts);
    std::sort(times.begin(), times.end());
    ASSERT_EQ(times, crowd.expected(spec)) << "seed " << seed << ": " << trigger.text;
    ASSERT_EQ(m->stats().evicted_keys, 0u);
    fired += times.size();
  }
  EXPECT_GT(fired, 20'000u) << "the cases must be dense enough to mean something";
}

class GivingWay : public ::testing::Test {
 protected:
  void start(MatcherOptions options, const std::vector<std::string>& texts) {
    m_ = std::make_unique<Matcher>(catalog_, options);
    for (const std::string& text : texts) ids_.push_back(*m_->add(compiled(text, catalog_)));
  }
  // How often the trigger fired.
  size_t step(const char* event, int64_t who, uint64_t page = 0) {
    const Value contents[] = {Value::of(who)};
    Event e;
    e.seq = ++seq_;
    e.ts = static_cast<int64_t>(seq_);
    e.session = 1;
    e.page_instance = page;
    e.event = *catalog_.find_event(event);
    if (page) e.page = 1;
    e.contents = contents;
    Kept got;
    m_->step(e, got);
    return got.all.size();
  }

  const Catalog catalog_ = small_world();
  std::unique_ptr<Matcher> m_;
  std::vector<uint16_t> ids_;
  uint64_t seq_ = 0;
};

TEST_F(GivingWay, TheLeastRecentlyUsedKeyGoesAndIsCountedForEachTriggerThatLosesSomething) {
  start({.keys = 64}, {"a ~ b scope by(x)", "c ~ a scope by(x)"});
  for (int64_t key = 0; key < 64; ++key) EXPECT_EQ(step("a", key), 0u);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  EXPECT_EQ(step("a", 64), 0u);  // key 0 gives way
  EXPECT_EQ(m_->stats().evicted_keys, 1u);
  EXPECT_EQ(step("b", 0), 0u);  // it is forgotten, and takes the place of key 1
  EXPECT_EQ(m_->stats().evicted_keys, 2u);
  EXPECT_EQ(step("b", 64), 1u);
  EXPECT_EQ(step("b", 2), 1u);
  EXPECT_EQ(m_->stats_of(ids_[0]).evicted, 2u);
  EXPECT_EQ(m_->stats_of(ids_[1]).evicted, 0u);
  EXPECT_EQ(m_->stats_of(ids_[0]).fired, 2u);
  EXPECT_EQ(m_->stats_of(ids_[0]).last_ts, static_cast<int64_t>(seq_));
}

TEST_F(GivingWay, NothingIsCountedWhereNothingWasUnderWay) {
  start({.keys = 4}, {"a ~ b within 3us scope by(x)"});
  for (int64_t key = 0; key < 4; ++key) step("b", key);  // begins nothing
  for (int64_t key = 10; key < 14; ++key) step("c", key);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  step("a", 20);
  EXPECT_EQ(step("b", 20), 1u);  // complete: skip_past has used it up
  for (int64_t key = 30; key < 34; ++key) step("a", key);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  for (int64_t key = 40; key < 44; ++key) step("a", key);  // the window of two of the four is over by then
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  step("a", 50);  // 3 us after key 41's
}

TEST_F(GivingWay, KeysWithWaitingAbsencesStayBeforeIdleOnes) {
  start({.keys = 8}, {"a !~ b for 1s scope by(x)"});
  for (int64_t key = 0; key < 4; ++key) step("a", key);  // wait
  for (int64_t key = 100; key < 200; ++key) step("c", key);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  Kept got;
  m_->advance(10'000'000, got);
  EXPECT_EQ(got.all.size(), 4u);
  EXPECT_EQ(m_->stats_of(ids_[0]).evicted, 0u);
}

TEST_F(GivingWay, WhereAllWaitOneWhoseAbsenceIsBrokenGoesFirst) {
  start({.keys = 4}, {"a !~ b for 1s scope by(x)"});
  for (int64_t key = 0; key < 4; ++key) step("a", key);
  step("b", 2);
  step("a", 9);  // in the place of key 2
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
  step("a", 10);  // in the place of key 0
  EXPECT_EQ(m_->stats_of(ids_[0]).evicted, 1u);
  Kept got;
  m_->advance(10'000'000, got);
  EXPECT_EQ(got.all.size(), 4u);  // 1, 3, 9 and 10
}

TEST_F(GivingWay, PagesWaitLongerThanTheyLast) {
  start({}, {"a !~ b for 1s scope page"});
  for (uint64_t page = 1; page <= 200; ++page) {
    step("a", 1, page);
    step("page_exit", 1, page);
  }
  Kept got;
  m_->advance(10'000'000, got);
  EXPECT_EQ(got.all.size(), 200u);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
}

TEST_F(GivingWay, PagesThatHaveEndedMakeRoomForOthers) {
  start({}, {"a ~ b scope page"});
  const size_t before = m_->memory_bytes();
  for (uint64_t page = 1; page <= 5000; ++page) {
    step("a", 1, page);
    if (page % 2) {
      EXPECT_EQ(step("b", 1, page), 1u);
    }
    step("page_exit", 1, page);
  }
  EXPECT_EQ(m_->stats().row_pages, 1u);
  EXPECT_LT(m_->memory_bytes(), before + 2000);
  EXPECT_EQ(m_->stats().evicted_keys, 0u);
}

TEST_F(GivingWay, RowsGoWithTheLastTriggerOfTheirScope) {
  start({}, {"a ~ b scope by(x)"});
  const size_t before = m_->memory_bytes();
  for (int64_t key = 0; key < 1000; ++key) step("a", key);
  m_->remove(ids_[0], compiled("a ~ b scope by(x)", catalog_));
  EXPECT_LE(m_->memory_bytes(), before + 100);  // lists of free numbers
  EXPECT_EQ(step("b", 1), 0u);
  ids_[0] = *m_->add(compiled("a ~ c scope by(x)", catalog_));
  step("a", 1);
  EXPECT_EQ(step("c", 1), 1u);
}

TEST(Keys, DefaultsAreFourThousandKeysWithinAMegabyte) {
  const Catalog catalog = small_world();
  Matcher m(catalog);
  ASSERT_TRUE(m.add(compiled("a ~ b ~ c within 1h scope by(who)", catalog)).ok());
  ASSERT_TRUE(m.add(compiled("a !c ~ b !~ c for 10m scope by(who)", catalog)).ok());
  const std::vector<KeyPrice> prices = m.key_prices();
  ASSERT_EQ(prices.size(), 1u);
  EXPECT_EQ(prices[0].by, "who");
  EXPECT_GE(prices[0].keys, 4096u);
  EXPECT_LE(prices[0].bytes, size_t{1} << 20);
}

TEST(Keys, WhatWouldTakeTooMuchIsRefusedAndLeavesNothing) {
  const Catalog catalog = small_world();
  Matcher m(catalog, {.key_bytes = 800'000});
  ASSERT_TRUE(m.add(compiled("a ~ b scope by(who)", catalog)).ok());
  const size_t price = m.memory_bytes_at_most();
  const auto refused = m.add(compiled("a > b > c ~ a ~ b ~ c{3} ~ a ~ b !~ c for 1s scope by(who)", catalog));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("800000"), std::string::npos) << refused.error().message();
  EXPECT_EQ(m.trigger_count(), 1u);
  EXPECT_LE(m.memory_bytes_at_most(), price + price / 10);
  EXPECT_TRUE(m.add(compiled("b scope by(who)", catalog)).ok());
  EXPECT_FALSE(check_options({.keys = 0}).ok());
  EXPECT_FALSE(check_options({.keys_of = {{"who", kMostKeys + 1}}}).ok());
}

TEST(Keys, AStepGivesEveryFiringToItsSink) {
  const Catalog catalog = small_world();
  Matcher m(catalog, {.queue_capacity = 1});
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(m.add(compiled("a", catalog)).ok());
  Event e;
  e.seq = 1;
  e.ts = 1;
  e.event = *catalog.find_event("a");
  Kept got;
  m.step(e, got);
  EXPECT_EQ(got.all.size(), 300u);
  EXPECT_EQ(m.queue().dropped(), 0u);
}

TEST(Keys, ASnapshotKeepsTheOrderInWhichKeysGo) {
  const Catalog catalog = small_world();
  const CompiledTrigger trigger = compiled("a ~ b scope by(x)", catalog);
  const auto made = [&](size_t keys) {
    auto m = std::make_unique<Matcher>(catalog, MatcherOptions{.keys = keys});
    EXPECT_TRUE(m->add(trigger).ok());
    return m;
  };
  uint64_t seq = 0;
  const auto step = [&](Matcher& m, const char* event, int64_t who) {
    const Value contents[] = {Value::of(who)};
    Event e;
    e.seq = ++seq;
    e.ts = static_cast<int64_t>(seq);
    e.event = *catalog.find_event(event);
    e.contents = contents;
    Kept got;
    m.step(e, got);
    return got.all.size();
  };
  auto first = made(100);
  for (const int64_t who : {1, 2, 3, 4, 1, 2}) step(*first, "a", who);
  auto smaller = made(2);
  EXPECT_EQ(smaller->restore(first->snapshot()).value(), 0u);
  EXPECT_EQ(smaller->stats_of(0).evicted, 2u);
  EXPECT_EQ(step(*smaller, "b", 1), 1u);
  EXPECT_EQ(step(*smaller, "b", 2), 1u);
  EXPECT_EQ(step(*smaller, "b", 3), 0u);
}

}  // namespace
}  // namespace walle::stream::testing
