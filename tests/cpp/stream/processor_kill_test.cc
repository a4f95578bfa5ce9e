// A processor that is killed at random beside one that never is: the same firings under the same numbers and
// keys, each done exactly once, whatever was in flight, installed or checkpointed when it died.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "stream/processor_case.h"

namespace walle::stream::testing {
namespace {

struct Step {  // what the device does next
  enum Kind { record, advance, install, remove, checkpoint, work, die } kind = record;
  size_t event = 0;
  int64_t time = 0;
  TaskTriggers task;
  int amount = 0;
};

class Script {
 public:
  explicit Script(uint64_t seed) : world_(small_world()), random_(world_, seed) {
    events_ = random_.stream(40 + random_.below(40));
    for (Recorded& e : events_) e.event.ts += kStart;
    for (size_t i = 0; i < events_.size(); ++i) {
      while (random_.chance(35)) add_other(events_[i].event.ts);
      steps_.push_back({.kind = Step::record, .event = i, .task = {}});
    }
    steps_.push_back(
        {.kind = Step::advance, .time = events_.back().event.ts + 5 * random_.unit(), .task = {}});
  }

  const std::vector<Step>& steps() const { return steps_; }
  const Event& event(size_t i) const { return events_[i].event; }

 private:
  void add_other(int64_t now) {
    const int what = random_.below(100);
    Step s{.time = now, .task = {}, .amount = 1 + random_.below(4)};
    if (what < 25) {
      s.kind = Step::die;
    } else if (what < 50) {
      s.kind = Step::work;
    } else if (what < 65) {
      s.kind = Step::advance;
      s.time += random_.below(2) * random_.unit();
    } else if (what < 75) {
      s.kind = Step::checkpoint;
    } else if (what < 95) {
      s.kind = Step::install;
      s.task = random_task();
    } else {
      s.kind = Step::remove;
      s.task.task = task_name();
    }
    steps_.push_back(s);
  }

  std::string task_name() { return std::string("task") + static_cast<char>('0' + random_.below(3)); }

  TaskTriggers random_task() {
    TaskTriggers out{.task = task_name(), .triggers = {}, .queue = kMaxQueue};
    out.past = static_cast<Past>(random_.below(3));
    for (int n = 1 + random_.below(3); static_cast<int>(out.triggers.size()) < n;) {
      // A few texts come again and again, in one task and in several: some replacements keep triggers.
      std::string text = random_.chance(40) && !texts_.empty()
                             ? texts_[static_cast<size_t>(random_.below(static_cast<int>(texts_.size())))]
                             : format_trigger(random_.trigger());
      const auto spec = parse_trigger(text);
      if (!spec.ok() || !compile_trigger(*spec, world_, text).ok()) continue;
      texts_.push_back(text);
      out.triggers.push_back({.name = "t" + std::to_string(out.triggers.size()), .text = std::move(text)});
    }
    return out;
  }

  Catalog world_;
  RandomCase random_;
  std::vector<Recorded> events_;
  std::vector<Step> steps_;
  std::vector<std::string> texts_;
};

// Takes up to `amount` firings of every task, and settles them but for the last, which stays in flight now
// and then.
void work(Processor& p, Done& done, int amount, bool all) {
  for (const std::string& name : p.tasks()) {
    TaskFiring f;
    for (int i = 0; (all || i < amount) && p.take(name, f); ++i) {
      if (!all && i + 1 == amount && amount > 2) break;  // taken, and never done
      done.firings[name].emplace_back(f.number, f.key);
      done.settled[name] = f.number;
      p.settle(name, f.number);
    }
  }
}

Done run(const Script& script, bool with_deaths) {
  base::FaultEnv env;
  env.set_wall_us(kStart + 400 * kDayUs);
  Done done;
  auto p = open_processor(env, small_processor(&done));
  for (const Step& s : script.steps()) {
    if (s.kind == Step::record) {
      EXPECT_TRUE(p->record(script.event(s.event)).ok());
    } else if (s.kind == Step::advance) {
      EXPECT_TRUE(p->advance(s.time).ok());
    } else if (s.kind == Step::install) {
      // What waits belongs to nobody's version: in both runs the queue is empty when tasks change.
      work(*p, done, 0, true);
      const Status installed = p->install(s.task);
      EXPECT_TRUE(installed.ok()) << installed.error().message();
    } else if (s.kind == Step::remove) {
      work(*p, done, 0, true);
      (void)p->remove(s.task.task).ok();
    } else if (!with_deaths) {
      continue;
    } else if (s.kind == Step::checkpoint) {
      EXPECT_TRUE(p->checkpoint().ok());
    } else if (s.kind == Step::work) {
      work(*p, done, s.amount, false);
    } else {
      kill(env, p);
      p = open_processor(env, small_processor(&done));
      EXPECT_FALSE(p->report().lost);
      EXPECT_EQ(p->report().missed, 0u);
    }
  }
  if (with_deaths) {  // what was taken and not done comes again
    kill(env, p);
    p = open_processor(env, small_processor(&done));
  }
  work(*p, done, 0, true);
  return done;
}

TEST(ProcessorKill, EveryFiringIsDoneOnceUnderItsNumber) {
  const char* only = std::getenv("WALLE_STREAM_SEED");
  const uint64_t from = only ? std::strtoull(only, nullptr, 10) : 0;
  constexpr uint64_t kCases = 1500;
  size_t fired = 0;
  for (uint64_t seed = from; seed < (only ? from + 1 : kCases); ++seed) {
    const Script script(seed);
    const Done want = run(script, false);
    const Done got = run(script, true);
    for (const auto& [name, firings] : want.firings) {
      fired += firings.size();
      const auto at = got.firings.find(name);
      ASSERT_TRUE(at != got.firings.end()) << "seed " << seed << " task " << name;
      ASSERT_EQ(at->second, firings) << "seed " << seed << " task " << name;
    }
    ASSERT_EQ(want.firings.size(), got.firings.size()) << "seed " << seed;
  }
  if (!only) {
    EXPECT_GT(fired, kCases) << "the cases must be dense enough to mean something";
  }
}

// One thread records, one takes and settles, one makes checkpoints and one replaces a task: nothing is lost
// or comes twice.
TEST(ProcessorKill, ThreadsShareOne) {
  // Files of the machine: the file system of the tests has no lock.
  const std::string dir = ::testing::TempDir() + "processor" + std::to_string(::getpid());
  auto opened = Processor::open(Env::system(), dir, small_world(), small_processor());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const std::unique_ptr<Processor> p = std::move(*opened);
  install(*p, task("one", {"a"}, kMaxQueue));
  constexpr uint64_t kEvents = 3000;
  std::atomic<bool> recorded{false};
  std::thread recorder([&] {
    for (uint64_t i = 0; i < kEvents; ++i) EXPECT_TRUE(put(*p, "a", kStart + static_cast<int64_t>(i)).ok());
    recorded = true;
  });
  std::thread writer([&] {
    for (int i = 0; i < 30; ++i) {
      EXPECT_TRUE(p->checkpoint().ok());
      EXPECT_TRUE(p->install(task("other", {i % 2 ? "b" : "c"})).ok());
    }
  });
  std::vector<uint64_t> numbers;
  while (!recorded || p->stats("one")->waiting)
    for (const uint64_t n : drain(*p, "one")) numbers.push_back(n);
  recorder.join();
  writer.join();
  ASSERT_EQ(numbers.size(), kEvents);
  for (uint64_t i = 0; i < kEvents; ++i) ASSERT_EQ(numbers[i], i + 1);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace walle::stream::testing
