// Events by match, session, page instance and time: against all events looked at one by one, over segments
// and journal, beside an appender, and without opening what cannot hold them.
#include "stream/event/event_query.h"

#include <random>
#include <thread>

#include "stream/event/event_names.h"
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

struct Seen {
  uint64_t seq, session, page_instance;
  int64_t ts;
  EventKind kind;
};

std::vector<Seen> all(EventLog& log) {
  std::vector<Seen> out;
  EXPECT_TRUE(log.read(0,
                       [&](const Event& e) {
                         out.push_back(
                             {e.seq, e.session, e.page_instance, e.ts, log.catalog().events()[e.event].kind});
                         return true;
                       })
                  .ok());
  return out;
}

std::vector<uint64_t> ask(EventLog& log, const EventQuery& query) {
  std::vector<uint64_t> out;
  const Status s = log.read(query, nullptr, [&](const Event& e) {
    out.push_back(e.seq);
    return true;
  });
  EXPECT_TRUE(s.ok()) << s.error().message();
  return out;
}

std::vector<uint64_t> expected(const std::vector<Seen>& events, const EventQuery& q) {
  std::vector<uint64_t> out;
  for (const Seen& e : events)
    if (e.seq >= q.from && e.seq <= q.to && e.ts >= q.from_ts && e.ts <= q.to_ts &&
        (!q.session || e.session == *q.session) && (!q.page_instance || e.page_instance == *q.page_instance))
      out.push_back(e.seq);
  return out;
}

// Page visits with pauses that end sessions, some of it in segments.
std::unique_ptr<EventLog> visits(FaultEnv& env, std::mt19937_64& random, int events, int compactions) {
  auto log = open_log(env, {.journal_bytes = 1 << 20, .quota_bytes = 1 << 30, .max_age_us = INT64_MAX / 4});
  for (int i = 0; i < events; ++i) {
    env.advance_us(random() % 40 == 0 ? kHourUs : static_cast<int64_t>(random() % 3) * kSecondUs);
    constexpr const char* kNames[] = {"page_enter", "mark", "click", "page_exit"};
    const char* page = random() % 2 ? "home" : "cart";
    Event e = *event_by_name(log->catalog(), kNames[random() % 4], page, env.wall_us(), false);
    EXPECT_TRUE(log->append(e).ok());
    if (compactions && i % (events / compactions) == events / compactions / 2) {
      EXPECT_TRUE(log->compact().ok());
    }
  }
  return log;
}

TEST(EventQuery, GivesWhatLookingAtAllEventsGives) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    FaultEnv env;
    const auto log = visits(env, random, 600, static_cast<int>(seed % 4));
    const std::vector<Seen> events = all(*log);
    ASSERT_EQ(events.size(), 600u);
    for (int i = 0; i < 200; ++i) {
      const Seen &a = events[random() % events.size()], &b = events[random() % events.size()];
      for (const EventQuery& q :
           {EventQuery::match(a.ts, b.seq), EventQuery::of_session(a.session),
            EventQuery::of_session(a.session, b.seq), EventQuery::of_page(a.page_instance, b.seq),
            EventQuery{.from_ts = a.ts, .to_ts = b.ts}, EventQuery{.from = a.seq, .to = b.seq},
            EventQuery{.from = a.seq, .to_ts = b.ts, .session = b.session}}) {
        if (q.page_instance == 0u) continue;
        ASSERT_EQ(ask(*log, q), expected(events, q)) << a.seq << " " << b.seq;
      }
    }
  }
}

TEST(EventQuery, OfWhatIsNotThereIsNothing) {
  FaultEnv env;
  std::mt19937_64 random(1);
  const auto log = visits(env, random, 100, 1);
  EXPECT_TRUE(ask(*log, EventQuery::of_session(2)).empty()) << "a number inside a session";
  EXPECT_TRUE(ask(*log, EventQuery::of_page(1'000)).empty());
  EXPECT_TRUE(ask(*log, {.from = 50, .to = 40}).empty());
  EXPECT_TRUE(ask(*log, {.from_ts = INT64_MAX}).empty());
  EXPECT_EQ(ask(*log, {}).size(), 100u);
}

TEST(EventQuery, OpensOnlySegmentsThatCanHoldTheEvents) {
  FaultEnv env;
  std::mt19937_64 random(7);
  const auto log = visits(env, random, 800, 8);
  const std::vector<Seen> events = all(*log);
  const auto segments = files(env, ".wseg");
  ASSERT_EQ(segments.size(), 8u);
  // Without their files, questions that lie elsewhere are answered all the same.
  const Seen& newest = events.back();
  for (const std::string& file : segments) ASSERT_TRUE(env.remove_file(file).ok());
  EXPECT_FALSE(log->read(0, [](const Event&) { return true; }).ok());
  const EventQuery now = EventQuery::match(newest.ts, newest.seq);
  EXPECT_EQ(ask(*log, now), expected(events, now));
  const EventQuery late{.from = 790};
  EXPECT_EQ(ask(*log, late), expected(events, late));
}

TEST(EventQuery, BeginsWithTheCatalogueAndEndsWithItsError) {
  FaultEnv env;
  std::mt19937_64 random(1);
  const auto log = visits(env, random, 10, 0);
  int events = 0;
  const auto count = [&](const Event&) { return ++events > 0; };
  const Status refused =
      log->read({}, [](const Catalog&) -> Status { return argument_error("a", "b", "c", "d"); }, count);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(events, 0);
  EXPECT_TRUE(
      log->read(
             {}, [&](const Catalog& c) { return c.find_event("mark") ? Status() : internal_error("x", "y"); },
             count)
          .ok());
  EXPECT_EQ(events, 10);
}

// The newest events are found from marks in the journal; marks are overwritten while they are read.
TEST(EventQuery, IsRightBesideAnAppender) {
  FaultEnv env;
  auto log = open_log(env, {.journal_bytes = 64 << 10, .quota_bytes = 1 << 30, .max_age_us = INT64_MAX / 4});
  ASSERT_TRUE(put(*log, env.wall_us()).ok());
  std::atomic<bool> done{false};
  std::thread appender([&] {
    for (int i = 0; i < 20'000; ++i) {
      env.advance_us(1000);
      if (!put(*log, env.wall_us()).ok()) break;
    }
    done = true;
  });
  size_t asked = 0;  // some of them beside an appender that is done before a slow machine asks once
  while (!done || asked < 20) {
    const uint64_t last = log->last_seq(), from = last > 100 ? last - 100 : 1;
    const auto got = ask(*log, {.from = from, .to = last});
    ASSERT_EQ(got.size(), last - from + 1);
    ASSERT_EQ(got.front(), from);
    ASSERT_EQ(got.back(), last);
    ++asked;
  }
  appender.join();
}

}  // namespace
}  // namespace walle::stream
