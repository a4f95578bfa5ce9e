// A log of numbered marks on a file system of the tests, opened, filled, damaged and opened again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/fault_env.h"
#include "stream/event/event_log.h"

namespace walle::stream {

inline constexpr const char* kDir = "/log";

inline Catalog marks() {
  Catalog c;
  const auto made = c.declare(
      {.name = "mark",
       .kind = EventKind::custom,
       .fields = {{.name = "n", .type = ColumnType::integer}, {.name = "who", .type = ColumnType::text}}});
  if (!made.ok() || !c.page("home").ok() || !c.page("cart").ok()) std::abort();
  return c;
}

inline EventLogOptions small() {
  return {.journal_bytes = 8192, .quota_bytes = 1 << 30, .max_age_us = INT64_MAX / 4, .sync_events = 16};
}

inline std::unique_ptr<EventLog> open_log(base::FaultEnv& env, EventLogOptions options = small()) {
  auto log = EventLog::open(env, kDir, marks(), options);
  EXPECT_TRUE(log.ok()) << log.error().message();
  return log.ok() ? std::move(*log) : nullptr;
}

inline Result<Event> put(EventLog& log, int64_t ts, std::string_view who = "ann", uint16_t page = 1) {
  const std::vector<Value> contents{Value::of(static_cast<int64_t>(log.last_seq() + 1)), Value::of(who)};
  Event e;
  e.event = *log.catalog().find_event("mark");
  e.page = page;
  e.ts = ts;
  e.contents = contents;
  return log.append(e);
}

// `count` more marks, one a second from the clock's time on.
inline void fill(EventLog& log, base::FaultEnv& env, int count, std::string_view who = "ann") {
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(put(log, env.wall_us(), who).ok());
    env.advance_us(kSecondUs);
  }
}

// Numbers of all events, each of which must hold its own.
inline std::vector<uint64_t> numbers(EventLog& log) {
  std::vector<uint64_t> out;
  const Status s = log.read(0, [&](const Event& e) {
    EXPECT_EQ(e.contents[0].i, static_cast<int64_t>(e.seq));
    out.push_back(e.seq);
    return true;
  });
  EXPECT_TRUE(s.ok()) << s.error().message();
  return out;
}

inline std::vector<std::string> files(base::FaultEnv& env, std::string_view ending) {
  std::vector<std::string> out = *env.list_files(kDir);
  std::erase_if(out, [&](const std::string& f) { return !f.ends_with(ending); });
  for (std::string& f : out) f = std::string(kDir) + "/" + f;
  return out;
}

inline std::vector<Loss> losses(EventLog& log) { return *log.losses(); }

// As if the process had been killed: nothing is written down on the way.
inline void kill(base::FaultEnv& env, std::unique_ptr<EventLog>& log) {
  env.fail_at(0);
  log.reset();
  env.fail_at(-1);
}

}  // namespace walle::stream
