// One appender, one maintainer, one reader, and a matcher fed by the reader: for the thread sanitizer, and
// for the order readers see.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include "stream/event/event_log.h"
#include "stream/match/matcher.h"

namespace walle::stream {
namespace {

TEST(Threads, AppendMaintainReadAndMatchBesideEachOther) {
  const auto dir = std::filesystem::temp_directory_path() / ("walle-threads-" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  Catalog catalog;
  ASSERT_TRUE(
      catalog.declare({"mark", EventKind::custom, {{"n", ColumnType::integer, Sensitivity::open, 0}}}).ok());
  auto opened =
      EventLog::open(Env::system(), dir.string(), catalog, {65536, 1 << 30, INT64_MAX / 4, 64, 10'000});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EventLog& log = **opened;
  constexpr uint64_t kEvents = 20'000;
  std::atomic<bool> done{false};
  std::thread maintainer([&] {
    while (!done) {
      ASSERT_TRUE(log.maintain().ok());
      std::this_thread::yield();
    }
  });
  uint64_t seen = 0;
  std::thread reader([&] {
    Matcher matcher(catalog);
    ASSERT_TRUE(matcher.add(*compile_trigger(*parse_trigger("mark > mark > mark"), catalog)).ok());
    while (seen < kEvents) {
      ASSERT_TRUE(log.read(seen + 1,
                           [&](const Event& e) {
                             EXPECT_EQ(e.seq, seen + 1);
                             EXPECT_EQ(e.contents[0].i, static_cast<int64_t>(e.seq));
                             seen = e.seq;
                             matcher.step(e);
                             return true;
                           })
                      .ok());
    }
    EXPECT_EQ(matcher.stats().firings, kEvents / 3);
  });
  const uint16_t id = *log.catalog().find_event("mark");
  for (uint64_t n = 1; n <= kEvents; ++n) {
    const Value v = Value::of(static_cast<int64_t>(n));
    Event e;
    e.event = id, e.ts = Env::system().wall_us(), e.contents = {&v, 1};
    auto r = log.append(e);
    ASSERT_TRUE(r.ok()) << r.error().message();
  }
  reader.join();
  done = true;
  maintainer.join();
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace walle::stream
