// A processor on a file system of the tests, and what its caller keeps: which firings were handed out, and up
// to which number each task's are done.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "base/fault_env.h"
#include "stream/processor/processor.h"
#include "stream/random_case.h"

namespace walle::stream::testing {

inline constexpr const char* kDevice = "/device";
inline constexpr int64_t kStart = 1'700'000'000'000'000;

// The caller's durable record: a firing is done when its key stands here.
struct Done {
  std::map<std::string, uint64_t, std::less<>> settled;
  std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>> firings;  // number, key
};

inline ProcessorOptions small_processor(const Done* done = nullptr) {
  ProcessorOptions options;
  options.log.journal_bytes = 64 << 10;
  options.log.recorded_times = true;
  options.log.max_age_us = INT64_MAX / 4;
  if (done)
    options.settled = [done](std::string_view task) {
      const auto at = done->settled.find(task);
      return at == done->settled.end() ? 0 : at->second;
    };
  return options;
}

inline std::unique_ptr<Processor> open_processor(base::FaultEnv& env,
                                                 ProcessorOptions options = small_processor()) {
  auto made = Processor::open(env, kDevice, small_world(), std::move(options));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? std::move(*made) : nullptr;
}

// As if the process had been killed: nothing is written down on the way.
inline void kill(base::FaultEnv& env, std::unique_ptr<Processor>& p) {
  env.fail_at(0);
  p.reset();
  env.fail_at(-1);
}

inline Result<Event> put(Processor& p, std::string_view name, int64_t ts, std::string_view who = "u",
                         uint16_t page = 1) {
  const std::vector<Value> contents{Value::of(int64_t{1}), Value::of(who)};
  Event e;
  e.event = *p.catalog().find_event(name);
  e.page = page;
  e.ts = ts;
  e.contents = contents;
  return p.record(e);
}

inline TaskTriggers task(std::string name, std::vector<std::string> texts, uint32_t queue = 1024,
                         WhenFull when_full = WhenFull::coalesce) {
  TaskTriggers out{.task = std::move(name), .triggers = {}, .queue = queue, .when_full = when_full};
  for (size_t i = 0; i < texts.size(); ++i)
    out.triggers.push_back({.name = "t" + std::to_string(i), .text = std::move(texts[i])});
  return out;
}

// Numbers of all that waits, which is settled one by one.
inline std::vector<uint64_t> drain(Processor& p, std::string_view name) {
  std::vector<uint64_t> out;
  for (TaskFiring f; p.take(name, f);) {
    out.push_back(f.number);
    p.settle(name, f.number);
  }
  return out;
}

inline void install(Processor& p, const TaskTriggers& given) {
  const Status s = p.install(given);
  ASSERT_TRUE(s.ok()) << s.error().message();
}

}  // namespace walle::stream::testing
