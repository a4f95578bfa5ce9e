#include "stream/match/matcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/hash.h"
#include "stream/matcher_case.h"

namespace walle::stream {
namespace {

using testing::BruteForce;
using testing::Case;
using testing::counts_from;
using testing::Fired;
using testing::RandomCase;
using testing::Recorded;
using testing::run_matcher;

int64_t case_count() {
  const char* n = std::getenv("WALLE_STREAM_CASES");
  return n ? std::atoll(n) : 20'000;
}

CompiledTrigger compiled(const std::string& text, const Catalog& catalog) {
  auto spec = parse_trigger(text);
  EXPECT_TRUE(spec.ok()) << spec.error().message();
  auto out = compile_trigger(*spec, catalog, text);
  EXPECT_TRUE(out.ok()) << out.error().message();
  return *out;
}

Case make_case(const Catalog& catalog, uint64_t seed) {
  RandomCase r(catalog, seed);
  Case c;
  const int length = 4 + r.below(14);
  for (int n = 1 + r.below(3); static_cast<int>(c.triggers.size()) < n;) {
    const TriggerSpec spec = r.trigger();
    auto t = compile_trigger(spec, catalog);
    if (!t.ok()) continue;  // the linter refuses triggers that cannot fire
    c.specs.push_back(spec);
    // Of two with one text each has state of its own.
    t->fingerprint = base::mix(t->fingerprint, c.triggers.size());
    c.triggers.push_back(*t);
    c.add_at.push_back(r.chance(80) ? 0 : static_cast<size_t>(r.below(length)));
    c.remove_at.push_back(r.chance(90) ? static_cast<size_t>(length) : static_cast<size_t>(r.below(length)));
  }
  c.events = r.stream(length);
  c.end = c.events.back().event.ts + 5 * r.unit();
  c.cut = r.chance(50) ? static_cast<size_t>(r.below(length)) : SIZE_MAX;
  for (size_t t = 0; t < c.triggers.size(); ++t) c.past.push_back(r.chance(50));
  return c;
}

TEST(Matcher, AgreesWithEnumerationOnRandomCases) {
  const Catalog catalog = testing::small_world();
  const auto only = std::getenv("WALLE_STREAM_SEED");
  const int64_t n = case_count(), from = only ? std::atoll(only) : 0;
  int64_t fired = 0;
  for (int64_t seed = from; seed < (only ? from + 1 : n); ++seed) {
    const Case c = make_case(catalog, static_cast<uint64_t>(seed));
    const int64_t end = c.end;
    const auto got = run_matcher(c, catalog, end);
    for (size_t t = 0; t < c.triggers.size(); ++t) {
      if (c.remove_at[t] < c.events.size()) {
        if (c.add_at[t] >= c.remove_at[t]) continue;
        // Up to its removal: what it fired must be a prefix of what it would have fired.
        const auto whole =
            BruteForce(c.specs[t], catalog, c.events, counts_from(c, t)).run(c.events.size(), end);
        ASSERT_LE(got[t].size(), whole.size()) << "WALLE_STREAM_SEED=" << seed << ": " << c.triggers[t].text;
        ASSERT_TRUE(std::equal(got[t].begin(), got[t].end(), whole.begin()))
            << "WALLE_STREAM_SEED=" << seed << ": " << c.triggers[t].text;
        continue;
      }
      const auto want =
          BruteForce(c.specs[t], catalog, c.events, counts_from(c, t)).run(c.events.size(), end);
      fired += static_cast<int64_t>(want.size());
      ASSERT_EQ(got[t].size(), want.size())
          << "WALLE_STREAM_SEED=" << seed << " trigger " << t << ": " << c.triggers[t].text;
      ASSERT_TRUE(got[t] == want) << "WALLE_STREAM_SEED=" << seed << " trigger " << t << ": "
                                  << c.triggers[t].text;
    }
  }
  if (!only) {
    EXPECT_GT(fired, n / 2) << "the cases must be dense enough to mean something";
  }
  std::printf("%lld cases, %lld firings\n", static_cast<long long>(n), static_cast<long long>(fired));
}

TEST(Trigger, CanonicalTextParsesToTheSameTree) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomCase r(catalog, seed);
    const TriggerSpec spec = r.trigger();
    const std::string text = format_trigger(spec);
    const auto again = parse_trigger(text);
    ASSERT_TRUE(again.ok()) << text << "\n" << again.error().message();
    ASSERT_EQ(format_trigger(*again), text);
    ASSERT_TRUE(*again == spec) << text;
  }
}

// Hundreds at one event, of several scopes, while triggers come and go: each time in the order of adding, and
// of one trigger's keys by start.
TEST(Matcher, WhatEndsTogetherFiresInTheOrderOfAdding) {
  const Catalog catalog = testing::small_world();
  constexpr uint64_t kSeed = 23;
  std::mt19937_64 random(kSeed);
  RecordProperty("seed", static_cast<int>(kSeed));
  const char* texts[] = {"a ~ b",        "b",         "* ~ b scope by(who)", "a ~ b scope by(who, page)",
                         "count(b) > 1", "a b?  ~ b", "a ~ b scope session"};
  Matcher m(catalog, {.queue_capacity = 4096});
  struct Added {
    uint16_t id;
    uint64_t order;
    CompiledTrigger compiled;
  };
  std::vector<Added> added;
  uint64_t next = 0, fired = 0, most = 0;
  for (uint64_t seq = 1; seq <= 600; ++seq) {
    for (int i = 0; i < 12; ++i) {
      if (random() % 5 < 2 && !added.empty()) {
        const size_t at = random() % added.size();
        m.remove(added[at].id, added[at].compiled);
        added.erase(added.begin() + static_cast<ptrdiff_t>(at));
      } else if (added.size() < 300) {
        const char* text = texts[random() % std::size(texts)];
        if (!parse_trigger(text).ok()) continue;
        CompiledTrigger t = compiled(text, catalog);
        t.fingerprint = base::mix(t.fingerprint, next);
        const auto id = m.add(t);
        ASSERT_TRUE(id.ok());
        added.push_back({*id, next++, std::move(t)});
      }
    }
    const std::vector<Value> contents{Value::of(int64_t{1}),
                                      Value::of(std::string_view(seq % 3 ? "u" : "v"))};
    Event e;
    e.seq = seq;
    e.ts = static_cast<int64_t>(seq);
    e.event = *catalog.find_event(seq % 2 ? "a" : "b");
    e.page = 1;
    e.page_instance = 1 + seq / 50;
    e.session = 1;
    if (seq % 7) e.contents = contents;
    m.step(e);
    std::vector<std::pair<uint64_t, int64_t>> given;
    for (Firing f; m.queue().pop(f);)
      for (const Added& t : added)
        if (t.id == f.trigger) given.emplace_back(t.order, f.start_ts);
    ASSERT_TRUE(std::is_sorted(given.begin(), given.end())) << seq;
    fired += given.size();
    most = std::max<uint64_t>(most, given.size());
  }
  EXPECT_GT(fired, 10'000u);
  EXPECT_GT(most, 50u);
}

TEST(Matcher, IrrelevantEventsAndUnrelatedTasksChangeNothing) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Case c = make_case(catalog, seed);
    c.cut = SIZE_MAX;
    std::fill(c.add_at.begin(), c.add_at.end(), 0);
    std::fill(c.remove_at.begin(), c.remove_at.end(), c.events.size());
    const int64_t end = c.end;
    const auto together = run_matcher(c, catalog, end);
    for (size_t t = 0; t < c.triggers.size(); ++t) {  // the task set split into single tasks
      Case alone = c;
      alone.specs = {c.specs[t]}, alone.triggers = {c.triggers[t]}, alone.add_at = {0},
      alone.remove_at = {c.events.size()};
      ASSERT_TRUE(run_matcher(alone, catalog, end)[0] == together[t])
          << "seed " << seed << ": " << c.triggers[t].text;
      // A timer event is no pattern's business: putting one before every event changes only nothing.
      std::vector<Recorded> with_ticks;
      for (const Recorded& e : c.events) {
        Recorded tick;
        tick.event = e.event;
        tick.event.event = *catalog.find_event("timer");
        tick.event.contents = {};
        with_ticks.push_back(tick);
        with_ticks.push_back(e);
        with_ticks.back().event.contents =
            with_ticks.back().values.empty() ? std::span<const Value>() : e.event.contents;
      }
      Case ticking = alone;
      ticking.events = with_ticks;
      ticking.remove_at = {with_ticks.size()};
      ASSERT_TRUE(run_matcher(ticking, catalog, end)[0] == together[t])
          << "seed " << seed << ": " << c.triggers[t].text;
    }
  }
}

TEST(Matcher, TasksThatComeAndGoLeaveNoMemoryBehind) {
  const Catalog catalog = testing::small_world();
  Matcher m(catalog);
  size_t after_first = 0;
  for (uint64_t round = 0; round < 30; ++round) {
    std::vector<std::pair<uint16_t, CompiledTrigger>> live;
    for (uint64_t i = 0; i < 50; ++i) {  // always other windows and gaps, each round the same patterns
      RandomCase r(catalog, i);
      TriggerSpec spec = r.trigger();
      if (spec.timer == TimerKind::none) spec.within_us = static_cast<int64_t>(round * 50 + i + 1) * 1000;
      auto t = compile_trigger(spec, catalog);
      if (t.ok()) live.emplace_back(*m.add(*t), *t);
    }
    for (const auto& [id, t] : live) m.remove(id, t);
    if (round == 0) after_first = m.memory_bytes();
  }
  EXPECT_EQ(m.node_count(), 0u);
  EXPECT_LE(m.memory_bytes(), after_first + after_first / 8);
}

TEST(Matcher, MoreEndsThanNumbersIsAnErrorAndNothingChanges) {
  const Catalog catalog = testing::small_world();
  Matcher m(catalog);
  // Sixteen variants each, all sharing their nodes: the ends of chains run out first.
  const CompiledTrigger t = compiled("a? ~ b? ~ c? ~ a? ~ b", catalog);
  Result<uint16_t> last = uint16_t{0};
  size_t added = 0;
  for (; added < 65'535 && last.ok(); ++added) last = m.add(t);
  ASSERT_FALSE(last.ok());
  EXPECT_NE(last.error().message().find("65535"), std::string::npos) << last.error().message();
  const size_t nodes = m.node_count(), triggers = m.trigger_count();
  EXPECT_FALSE(m.add(t).ok());
  EXPECT_EQ(m.node_count(), nodes);
  EXPECT_EQ(m.trigger_count(), triggers);
}

Event at(uint64_t seq, int64_t ts, uint16_t event) {
  Event e;
  e.seq = seq, e.ts = ts, e.event = event;
  return e;
}

std::vector<std::pair<uint16_t, int64_t>> drained(Matcher& m) {
  std::vector<std::pair<uint16_t, int64_t>> out;
  for (Firing f; m.queue().pop(f);) out.emplace_back(f.trigger, f.ts);
  return out;
}

TEST(Matcher, TimersFireOnTheirOwnTime) {
  const Catalog catalog = testing::small_world();
  const uint16_t a = *catalog.find_event("a");
  Matcher m(catalog, {.local = LocalTime(3'600'000'000)});  // one hour east
  const uint16_t every = *m.add(compiled("every 10s", catalog));
  const uint16_t idle = *m.add(compiled("idle 4s", catalog));
  const uint16_t daily = *m.add(compiled("daily 01:00", catalog));
  constexpr int64_t s = 1'000'000;
  m.step(at(1, 5 * s, a));
  m.step(at(2, 9 * s, a));  // exactly the idle time later: not idle
  EXPECT_TRUE(drained(m).empty());
  m.advance(14 * s);
  EXPECT_EQ(drained(m), (std::vector<std::pair<uint16_t, int64_t>>{{every, 10 * s}, {idle, 13 * s}}));
  m.advance(59 * s);  // four periods missed: one firing; idle only once until the next event
  EXPECT_EQ(drained(m), (std::vector<std::pair<uint16_t, int64_t>>{{every, 50 * s}}));
  m.advance(86400 * s + 1);
  const auto out = drained(m);
  EXPECT_TRUE(std::count(out.begin(), out.end(), std::pair(daily, 86400 * s)));  // 01:00 local is 00:00 UTC
}

TEST(Matcher, QueueCoalescesThenDropsOldest) {
  const Catalog catalog = testing::small_world();
  Matcher m(catalog, {.queue_capacity = 2});
  std::vector<uint16_t> ids;
  for (const char* text : {"a", "b", "c"}) ids.push_back(*m.add(compiled(text, catalog)));
  const uint16_t a = *catalog.find_event("a");
  for (uint64_t i = 0; i < 4; ++i)
    m.step(at(i + 1, static_cast<int64_t>(i), static_cast<uint16_t>(a + (i == 3 ? 2 : i == 2 ? 0 : i))));
  EXPECT_EQ(m.queue().coalesced(), 1u);
  EXPECT_EQ(m.queue().dropped(), 1u);
  Firing f;
  ASSERT_TRUE(m.queue().pop(f));
  EXPECT_EQ(f.trigger, ids[1]);
}

TEST(Matcher, RemovingEveryTriggerLeavesNoNodesAndMemoryIsCounted) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomCase r(catalog, seed);
    Matcher m(catalog);
    std::vector<std::pair<uint16_t, CompiledTrigger>> live;
    for (int i = 0; i < 40; ++i) {
      auto t = compile_trigger(r.trigger(), catalog);
      if (!t.ok()) continue;
      live.emplace_back(*m.add(*t), *t);
      if (r.chance(40)) {
        const size_t at_index = static_cast<size_t>(r.below(static_cast<int>(live.size())));
        m.remove(live[at_index].first, live[at_index].second);
        live.erase(live.begin() + static_cast<long>(at_index));
      }
    }
    for (const auto& [id, t] : live) m.remove(id, t);
    ASSERT_EQ(m.node_count(), 0u) << seed;
    ASSERT_EQ(m.edge_count(), 0u) << seed;
    ASSERT_EQ(m.trigger_count(), 0u);
  }
}

}  // namespace
}  // namespace walle::stream
