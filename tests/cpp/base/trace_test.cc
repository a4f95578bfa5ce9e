#include "base/trace.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace walle::base {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The number behind `key` of the first event named `name`.
double number(const std::string& json, const std::string& name, const std::string& key) {
  const size_t event = json.find("\"name\":\"" + name + "\"");
  EXPECT_NE(event, std::string::npos) << name;
  const size_t at = json.find("\"" + key + "\":", event);
  EXPECT_NE(at, std::string::npos) << key;
  return std::stod(json.substr(at + key.size() + 3));
}

TEST(Trace, OffNothingIsKept) {
  {
    TraceSpan span("never");
  }
  trace_counter("never", 1);
  trace_since("never", 5);
  EXPECT_EQ(trace_clock(), 0);
  ASSERT_TRUE(start_trace().ok());
  TraceSummary summary;
  const std::string json = stop_trace(&summary).value();
  EXPECT_EQ(summary.events, 0u);
  EXPECT_EQ(json.find("never"), std::string::npos);
}

TEST(Trace, SpansNestAndCountersHaveTheirValues) {
  ASSERT_TRUE(start_trace().ok());
  name_trace_thread("the \"first\" thread");
  {
    TraceSpan outer("outer", 7);
    {
      TraceSpan inner("inner");
    }
    trace_counter("depth", -3);
  }
  TraceSummary summary;
  const std::string json = stop_trace(&summary).value();
  EXPECT_EQ(summary.events, 3u);
  EXPECT_EQ(summary.threads, 1u);
  EXPECT_NE(json.find(R"(the \"first\" thread)"), std::string::npos) << json;
  EXPECT_LT(json.find("\"outer\""), json.find("\"inner\""));  // by start, although it ended later
  EXPECT_LE(number(json, "outer", "ts"), number(json, "inner", "ts"));
  EXPECT_GE(number(json, "outer", "ts") + number(json, "outer", "dur"),
            number(json, "inner", "ts") + number(json, "inner", "dur"));
  EXPECT_EQ(number(json, "outer", "value"), 7);
  EXPECT_EQ(number(json, "depth", "value"), -3);
  EXPECT_NE(json.find(R"("ph":"C")"), std::string::npos);
}

TEST(Trace, EveryThreadHasItsOwnBufferAndFullOnesCountWhatTheyDrop) {
  ASSERT_TRUE(start_trace({.events_per_thread = 100}).ok());
  EXPECT_FALSE(start_trace().ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      name_trace_thread("worker " + std::to_string(t));
      for (int i = 0; i < 150; ++i) TraceSpan span("work", i);
    });
  for (std::thread& t : threads) t.join();
  TraceSummary summary;
  const std::string json = stop_trace(&summary).value();
  EXPECT_EQ(summary.threads, 4u);
  EXPECT_EQ(summary.events, 400u);
  EXPECT_EQ(summary.dropped, 200u);
  EXPECT_EQ(count(json, R"("name":"work")"), 400u);
  EXPECT_EQ(count(json, "worker "), 4u);
  EXPECT_NE(json.find(R"("dropped":"200")"), std::string::npos);
  EXPECT_FALSE(stop_trace().ok());
}

// Threads write while recordings begin and end: for the thread sanitizer.
TEST(Trace, RecordingsEndBesideWriters) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) {
        TraceSpan span("busy");
        trace_counter("count", 1);
      }
    });
  uint64_t events = 0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(start_trace({.events_per_thread = 1000}).ok());
    std::this_thread::yield();
    TraceSummary summary;
    const std::string json = stop_trace(&summary).value();
    EXPECT_EQ(count(json, R"("ph":"X")") + count(json, R"("ph":"C")"), summary.events);
    events += summary.events;
  }
  done = true;
  for (std::thread& t : threads) t.join();
  SUCCEED() << events;
}

TEST(Trace, ASpanOfBeforeARecordingIsCutAndOneOfAnEarlierRecordingIsNotInALaterOne) {
  const int64_t before = trace_detail::now_ns() - 1'000'000'000;
  ASSERT_TRUE(start_trace().ok());
  trace_since("waited", before, 4);
  const std::string json = stop_trace().value();
  EXPECT_EQ(number(json, "waited", "ts"), 0);
  EXPECT_LT(number(json, "waited", "dur"), 1'000'000);  // us
  {
    ASSERT_TRUE(start_trace().ok());
    TraceSpan across("across");
    ASSERT_TRUE(stop_trace().ok());
  }
  ASSERT_TRUE(start_trace().ok());
  EXPECT_EQ(stop_trace().value().find("across"), std::string::npos);
}

TEST(Trace, AWaitHasATrackOfItsOwn) {
  ASSERT_TRUE(start_trace().ok());
  const int64_t began = trace_detail::now_ns();
  {
    const TraceSpan meanwhile("meanwhile");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  trace_wait("queue wait", began, 7);
  TraceSummary summary;
  const std::string json = stop_trace(&summary).value();
  EXPECT_EQ(summary.events, 2u);
  EXPECT_EQ(count(json, R"("ph":"b")"), 1u);
  EXPECT_EQ(count(json, R"("ph":"e")"), 1u);
  EXPECT_EQ(count(json, R"("ph":"X")"), 1u);
  EXPECT_EQ(count(json, R"("cat":"wait")"), 2u);
  EXPECT_NE(json.find(R"("args":{"value":7})"), std::string::npos);
}

TEST(Trace, NamesThatAreMadeAreKeptAndBounded) {
  const char* name = trace_name(std::string("node ") + "1");
  EXPECT_EQ(name, trace_name("node 1"));
  EXPECT_STREQ(name, "node 1");
  for (int i = 0; i < 5000; ++i) trace_name("name " + std::to_string(i));
  EXPECT_STREQ(trace_name("one more than there is room for"), "(other)");
  EXPECT_STREQ(trace_name("\xff"), "(other)");
  EXPECT_FALSE(start_trace({.events_per_thread = 0}).ok());
}

}  // namespace
}  // namespace walle::base
