#include "stream/event/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/fault_env.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

Catalog shop() {
  Catalog c;
  const auto declare = [&](const char* name, EventKind kind, std::vector<FieldDecl> fields) {
    if (!c.declare({name, kind, std::move(fields)}).ok()) std::abort();
  };
  declare("click", EventKind::click,
          {{"item", ColumnType::integer, Sensitivity::personal, 0},
           {"price", ColumnType::real, Sensitivity::open, 0},
           {"what", ColumnType::text, Sensitivity::secret, 0},
           {"sale", ColumnType::boolean, Sensitivity::open, 0}});
  if (!c.page("home").ok() || !c.page("item").ok() || !c.state("wifi").ok()) std::abort();
  return c;
}

struct Made {
  Event event;
  std::vector<Value> values;
  std::string text;
};

// The n-th event of a fixed random stream.
void make(uint64_t n, const Catalog& c, int64_t now, Made& out) {
  std::mt19937_64 r(n);
  static constexpr const char* names[] = {"page_enter", "page_scroll", "exposure", "click", "page_exit"};
  out.event = {};
  out.event.event = *c.find_event(names[r() % 5]);
  out.event.page = static_cast<uint16_t>(1 + r() % 2);
  out.event.ts = now + static_cast<int64_t>(n) * 1000;
  out.values.clear();
  if (c.events()[out.event.event].name == "click") {
    out.text = std::string(r() % 40, static_cast<char>('a' + r() % 26));
    out.values = {Value::of(static_cast<int64_t>(r())), Value::of(static_cast<double>(r() % 1000) / 8),
                  Value::of(std::string_view(out.text)), Value::of(r() % 2 == 0)};
    if (r() % 4 == 0) out.values[r() % 4] = Value();
  }
  out.event.contents = out.values;
}

// The log must hold exactly the events first..last of the stream, each as it was made.
void check(EventLog& log, uint64_t first, uint64_t last, int64_t now) {
  uint64_t next = first;
  const Status s = log.read(0, [&](const Event& e) {
    Made m;
    make(e.seq, log.catalog(), now, m);
    EXPECT_EQ(e.seq, next++);
    EXPECT_EQ(e.event, m.event.event);
    EXPECT_EQ(e.page, m.event.page);
    EXPECT_EQ(e.ts, m.event.ts);
    for (size_t i = 0; i < m.values.size(); ++i) {
      EXPECT_EQ(e.contents[i].present, m.values[i].present);
      if (!m.values[i].present) continue;
      EXPECT_EQ(e.contents[i].type, m.values[i].type);
      EXPECT_EQ(e.contents[i].text, m.values[i].text);
      if (m.values[i].type == ColumnType::boolean) {
        EXPECT_EQ(e.contents[i].i, m.values[i].i);
      } else {
        EXPECT_EQ(e.contents[i].i, m.values[i].i);
      }
    }
    return !::testing::Test::HasFailure();
  });
  EXPECT_TRUE(s.ok()) << s.error().message();
  EXPECT_EQ(next, last + 1);
}

TEST(EventLog, KeepsEveryEventThroughCompactionAndReopening) {
  FaultEnv env;
  const int64_t now = env.wall_us();
  uint64_t n = 0;
  for (int round = 0; round < 8; ++round) {
    auto log = EventLog::open(env, "/log", shop(), {32768, 1 << 30, INT64_MAX / 4, 128, 1'000'000});
    ASSERT_TRUE(log.ok()) << log.error().message();
    for (int i = 0; i < 300; ++i) {
      Made m;
      make(n + 1, (*log)->catalog(), now, m);
      auto e = (*log)->append(m.event);
      ASSERT_TRUE(e.ok()) << e.error().message();
      ASSERT_EQ(e->seq, ++n);
      if (i % 50 == 0) {
        ASSERT_TRUE((*log)->maintain().ok());
      }
    }
    check(**log, 1, n, now);
  }
}

TEST(EventLog, EveryFailingOperationLosesAndDoublesNothing) {
  for (int64_t k = 0; k < 120; ++k) {
    FaultEnv env;
    const int64_t now = env.wall_us();
    uint64_t n = 0;
    env.fail_at(k);
    for (int round = 0; round < 3; ++round) {
      auto log = EventLog::open(env, "/log", shop(), {8192, 1 << 30, INT64_MAX / 4, 16, 1'000'000});
      if (!log.ok()) continue;
      for (int i = 0; i < 120; ++i) {
        Made m;
        make(n + 1, (*log)->catalog(), now, m);
        if ((*log)->append(m.event).ok()) ++n;
        if (i % 10 == 0) (void)(*log)->maintain().ok();
      }
    }
    env.fail_at(-1);
    auto log = EventLog::open(env, "/log", shop(), {8192, 1 << 30, INT64_MAX / 4, 16, 1'000'000});
    ASSERT_TRUE(log.ok()) << k << ": " << log.error().message();
    check(**log, 1, n, now);
  }
}

TEST(EventLog, PowerLossLosesAtMost256Events) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    FaultEnv env;
    const int64_t now = env.wall_us();
    uint64_t n = 0;
    {
      auto log = EventLog::open(env, "/log", shop(), {32768, 1 << 30, INT64_MAX / 4, 128, 1'000'000});
      ASSERT_TRUE(log.ok());
      for (uint64_t i = 0, count = 500 + seed * 13; i < count; ++i) {
        Made m;
        make(n + 1, (*log)->catalog(), now, m);
        ASSERT_TRUE((*log)->append(m.event).ok());
        ++n;
        if (i % 16 == 0) {
          ASSERT_TRUE((*log)->maintain().ok());
        }
      }
    }
    env.lose_power(seed, seed % 2 ? 0.5 : 0.0);
    auto log = EventLog::open(env, "/log", shop(), {32768, 1 << 30, INT64_MAX / 4, 128, 1'000'000});
    ASSERT_TRUE(log.ok()) << log.error().message();
    uint64_t last = 0;
    ASSERT_TRUE((*log)
                    ->read(0,
                           [&](const Event& e) {
                             last = e.seq;
                             return true;
                           })
                    .ok());
    ASSERT_GE(last + 256, n);
    check(**log, 1, last, now);
  }
}

// Appends until the first refusal; returns its message.
std::string fill(EventLog& log, int64_t now, uint64_t& n) {
  for (;;) {
    Made m;
    make(n + 1, log.catalog(), now, m);
    auto e = log.append(m.event);
    if (!e.ok()) return e.error().message();
    ++n;
  }
}

TEST(EventLog, FullAndReadOnlyDisksRefuseAppendsAndLoseNothing) {
  for (const bool full : {true, false}) {
    FaultEnv env;
    const int64_t now = env.wall_us();
    uint64_t n = 0;
    auto log = EventLog::open(env, "/log", shop(), {16384, 1 << 30, INT64_MAX / 4, 128, 1'000'000});
    ASSERT_TRUE(log.ok());
    full ? env.limit_disk(16384 + 4096 + 1000) : env.set_read_only(true);
    const std::string message = fill(**log, now, n);
    EXPECT_GT(n, 50u) << "the journal itself needs no new space";
    EXPECT_NE(message.find(full ? "free space" : "writable file system"), std::string::npos) << message;
    EXPECT_EQ(fill(**log, now, n), message) << "and again";
    EXPECT_FALSE((*log)->maintain().ok());
    check(**log, 1, n, now);
    full ? env.limit_disk(-1) : env.set_read_only(false);
    for (const uint64_t end = n + 200; n < end; ++n) {
      Made m;
      make(n + 1, (*log)->catalog(), now, m);
      ASSERT_TRUE((*log)->append(m.event).ok());
    }
    log = std::unique_ptr<EventLog>();
    log = EventLog::open(env, "/log", shop(), {16384, 1 << 30, INT64_MAX / 4, 128, 1'000'000});
    ASSERT_TRUE(log.ok());
    EXPECT_EQ((*log)->report().journal.lost, 0u);
    check(**log, 1, n, now);
  }
}

TEST(EventLog, ClockJumpsKeepTheOrderAndLaterTimesAreRefusedByTheClockAsItIs) {
  FaultEnv env;
  auto log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  constexpr int64_t kDay = 86'400'000'000;
  const int64_t now = env.wall_us();
  const auto put = [&](int64_t ts) {
    Event e;
    e.event = *(*log)->catalog().find_event("click"), e.page = 1, e.ts = ts;
    return (*log)->append(e);
  };
  ASSERT_TRUE(put(now).ok());
  env.set_wall_us(now - 3650 * kDay);  // back by ten years: the order stays, the repair is counted
  const auto back = put(now - 3650 * kDay);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->ts, now);
  EXPECT_EQ((*log)->stats().repaired_times, 1u);
  ASSERT_TRUE((*log)->maintain().ok());  // from here on the clock of today counts
  EXPECT_FALSE(put(now).ok());
  env.set_wall_us(now + 3650 * kDay);  // ahead: such times are no longer refused
  ASSERT_TRUE(put(now + 3650 * kDay).ok());
  EXPECT_FALSE(put(now + 3660 * kDay).ok());
  EXPECT_EQ((*log)->last_seq(), 3u);
}

TEST(EventLog, KeepsStatesBeyondTheNumberOfPages) {
  FaultEnv env;
  Catalog c;
  for (const char* state : {"wifi", "charging", "idle"}) ASSERT_TRUE(c.state(state).ok());
  auto log = EventLog::open(env, "/log", c, {});
  ASSERT_TRUE(log.ok());
  for (const bool compacted : {false, true}) {
    Event e;
    e.event = *(*log)->catalog().find_event("app_state"), e.page = 2, e.ts = env.wall_us(),
    e.flags = kStateOn;
    ASSERT_TRUE((*log)->append(e).ok());
    if (compacted) {
      ASSERT_TRUE((*log)->compact().ok());
    }
    int seen = 0;
    const Status s = (*log)->read(0, [&](const Event& r) {
      EXPECT_EQ(r.page, 2);
      return ++seen > 0;
    });
    ASSERT_TRUE(s.ok()) << s.error().message();
    EXPECT_EQ(seen, compacted ? 2 : 1);
  }
}

TEST(EventLog, RefusesWhatIsNotAnEvent) {
  FaultEnv env;
  auto log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  const auto refused = [&](Event e, const char* part) {
    auto r = (*log)->append(e);
    ASSERT_FALSE(r.ok());
    EXPECT_NE(r.error().message().find(part), std::string::npos) << r.error().message();
  };
  Event e;
  e.ts = env.wall_us();
  e.event = 999;
  refused(e, "event id 999");
  e.event = *(*log)->catalog().find_event("click");
  e.page = 99;
  refused(e, "page or state id 99");
  e.page = 1;
  const std::vector<Value> wrong{Value::of(1.5)};
  e.contents = wrong;
  refused(e, "type float for field 'item'");
  const std::string big(kMaxTextBytes + 1, 'x');
  const std::vector<Value> large{Value(), Value(), Value::of(std::string_view(big))};
  e.contents = large;
  refused(e, "at most 16384 bytes");
  const std::vector<Value> many(5);
  e.contents = many;
  refused(e, "4 declared fields");
  e.contents = {};
  e.ts = env.wall_us() + int64_t{10} * 365 * 86'400'000'000;
  refused(e, "ahead of the device's clock");
  EXPECT_EQ((*log)->last_seq(), 0u);
}

TEST(Sequencer, RepairsTimePairsPagesAndSplitsSessions) {
  FaultEnv env;
  auto log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  const int64_t t0 = env.wall_us();
  const auto put = [&](const char* name, uint16_t page, int64_t ts) {
    Event e;
    e.event = *(*log)->catalog().find_event(name), e.page = page, e.ts = ts;
    return *(*log)->append(e);
  };
  const Event outer = put("page_enter", 1, t0);
  const Event inner = put("page_enter", 2, t0 + 10);
  EXPECT_EQ(put("click", 1, t0 + 20).page_instance, outer.seq);
  EXPECT_EQ(put("click", 2, t0 + 20).page_instance, inner.seq);
  const Event back = put("click", 2, t0 - 5);
  EXPECT_EQ(back.ts, t0 + 20);
  EXPECT_TRUE(back.flags & kTimeRepaired);
  EXPECT_TRUE(put("page_exit", 1, t0 + 30).flags & kPageClosedInner);
  EXPECT_TRUE(put("page_exit", 2, t0 + 31).flags & kPageUnpaired);
  EXPECT_EQ(put("click", 2, t0 + 40).page_instance, 0u);
  const Event later = put("click", 1, t0 + 40 + kSessionGapUs);
  EXPECT_EQ(later.session, outer.session);  // exactly 30 minutes is still the same session
  const Event next = put("click", 1, later.ts + kSessionGapUs + 1);
  EXPECT_EQ(next.session, next.seq);
  log = std::unique_ptr<EventLog>();
  log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(put("click", 1, next.ts + 5).session, next.seq);  // the session outlives the process
}

TEST(Sequencer, KeepsSixteenNestedPagesAndGivesUpTheOutermost) {
  FaultEnv env;
  auto log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  const auto put = [&](const char* name) {
    Event e;
    e.event = *(*log)->catalog().find_event(name), e.page = 1, e.ts = env.wall_us();
    return *(*log)->append(e);
  };
  std::vector<uint64_t> open;
  for (size_t i = 0; i <= kMaxOpenPages; ++i) open.push_back(put("page_enter").seq);
  EXPECT_EQ((*log)->stats().overflowed_pages, 1u);
  for (size_t i = kMaxOpenPages; i > 0; --i) EXPECT_EQ(put("page_exit").page_instance, open[i]);
  EXPECT_TRUE(put("page_exit").flags & kPageUnpaired);
}

TEST(EventLog, QuotaRemovesTheOldestSegments) {
  FaultEnv env;
  auto log = EventLog::open(env, "/log", shop(), {8192, 6000, INT64_MAX / 4, 16, 1'000'000});
  ASSERT_TRUE(log.ok());
  const int64_t now = env.wall_us();
  for (uint64_t n = 1; n < 2000; ++n) {
    Made m;
    make(n, (*log)->catalog(), now, m);
    ASSERT_TRUE((*log)->append(m.event).ok());
    ASSERT_TRUE((*log)->maintain().ok());
  }
  EXPECT_LE((*log)->segment_bytes(), 6000 + 4096);
  uint64_t first = 0;
  ASSERT_TRUE((*log)
                  ->read(0,
                         [&](const Event& e) {
                           first = e.seq;
                           return false;
                         })
                  .ok());
  check(**log, first, 1999, now);
}

// Segments are read as a whole, so a large journal becomes several.
TEST(EventLog, LargeJournalsBecomeSeveralSegments) {
  FaultEnv env;
  Catalog c;
  ASSERT_TRUE(
      c.declare({"note", EventKind::custom, {{"text", ColumnType::text, Sensitivity::open, 0}}}).ok());
  auto log = EventLog::open(env, "/log", c, {64 << 20, 1 << 30, INT64_MAX / 4, 1 << 30, 1'000'000});
  ASSERT_TRUE(log.ok()) << log.error().message();
  const std::string text(kMaxTextBytes, 'x');
  const std::vector<Value> values{Value::of(std::string_view(text))};
  constexpr uint64_t kEvents = 3000;  // 49 MB
  for (uint64_t n = 1; n <= kEvents; ++n) {
    Event e;
    e.event = *(*log)->catalog().find_event("note");
    e.ts = env.wall_us() + static_cast<int64_t>(n);
    e.contents = values;
    ASSERT_TRUE((*log)->append(e).ok()) << n;
  }
  ASSERT_TRUE((*log)->compact().ok());
  const auto files = env.list_files("/log");
  EXPECT_EQ(std::ranges::count_if(*files, [](const std::string& f) { return f.ends_with(".wseg"); }), 2);
  uint64_t next = 1;
  ASSERT_TRUE((*log)
                  ->read(0,
                         [&](const Event& e) {
                           EXPECT_EQ(e.seq, next++);
                           EXPECT_EQ(e.contents[0].text.size(), text.size());
                           return true;
                         })
                  .ok());
  EXPECT_EQ(next, kEvents + 1);
}

TEST(Segment, DamageAtEveryByteIsAnErrorAndTheFileIsSetAside) {
  FaultEnv env;
  const int64_t now = env.wall_us();
  std::string path;
  {
    auto log = EventLog::open(env, "/log", shop(), {});
    ASSERT_TRUE(log.ok());
    for (uint64_t n = 1; n <= 40; ++n) {
      Made m;
      make(n, (*log)->catalog(), now, m);
      ASSERT_TRUE((*log)->append(m.event).ok());
    }
    ASSERT_TRUE((*log)->compact().ok());
    const auto files = env.list_files("/log");
    for (const auto& f : *files)
      if (f.ends_with(".wseg")) path = "/log/" + f;
  }
  const std::string good = env.file(path);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    ASSERT_FALSE(store::decode_segment(bad).ok()) << at;
    ASSERT_FALSE(store::decode_segment(good.substr(0, at)).ok()) << at;
  }
  env.file(path)[100] ^= 1;
  auto log = EventLog::open(env, "/log", shop(), {});
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->report().damaged_segments, 1u);
  EXPECT_EQ((*log)->last_seq(), 40u);  // lost numbers are not given out again
}

}  // namespace
}  // namespace walle::stream
