// A processor that is killed at random beside one that never is: the same firings under the same numbers and
// keys, each done exactly once, whatever was in flight, installed or checkpointed when it died.
#include <unistd.h>

#include <filesystem>
#include <set>
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

// One run of a script, with what its caller keeps.
class Trial {
 public:
  explicit Trial(bool with_deaths) : with_deaths_(with_deaths) {
    env_.set_wall_us(kStart + 400 * kDayUs);
    p_ = open_processor(env_, small_processor(&done_));
  }

  Done of(const Script& script) {
    for (const Step& s : script.steps()) take(s, script);
    die();  // what was taken and not done comes again
    work(0);
    return done_;
  }

 private:
  void take(const Step& s, const Script& script) {
    switch (s.kind) {
      case Step::record: EXPECT_TRUE(p_->record(script.event(s.event)).ok()); break;
      case Step::advance: EXPECT_TRUE(p_->advance(s.time).ok()); break;
      case Step::install: {
        const Status installed = p_->install(s.task);
        EXPECT_TRUE(installed.ok()) << installed.error().message();
        break;
      }
      case Step::remove:  // takes what waits with it: nothing may
        die();
        work(0);
        (void)p_->remove(s.task.task).ok();
        break;
      case Step::checkpoint:
        if (with_deaths_) {
          EXPECT_TRUE(p_->checkpoint().ok());
        }
        break;
      case Step::work: work(s.amount); break;
      case Step::die: die(); break;
    }
  }

  void die() {
    if (!with_deaths_) return;
    kill(env_, p_);
    p_ = open_processor(env_, small_processor(&done_));
    EXPECT_FALSE(p_->report().lost);
    EXPECT_EQ(p_->report().missed, 0u);
    stuck_.clear();
  }

  // Up to `amount` firings of every task, all for 0. Of some the last is taken and never done: nothing behind
  // it is until the process has died.
  void work(int amount) {
    for (const std::string& name : p_->tasks()) {
      TaskFiring f;
      for (int i = 0; (amount == 0 || i < amount) && !stuck_.contains(name) && p_->take(name, f); ++i) {
        if (with_deaths_ && amount > 2 && i + 1 == amount) {
          stuck_.insert(name);
          break;
        }
        done_.firings[name].emplace_back(f.number, f.key);
        done_.settled[name] = f.number;
        p_->settle(name, f.number);
      }
    }
  }

  bool with_deaths_;
  base::FaultEnv env_;
  Done done_;
  std::unique_ptr<Processor> p_;
  std::set<std::string> stuck_;
};

TEST(ProcessorKill, EveryFiringIsDoneOnceUnderItsNumber) {
  const char* only = std::getenv("WALLE_STREAM_SEED");
  const uint64_t from = only ? std::strtoull(only, nullptr, 10) : 0;
  constexpr uint64_t kCases = 1500;
  size_t fired = 0;
  for (uint64_t seed = from; seed < (only ? from + 1 : kCases); ++seed) {
    const Script script(seed);
    const Done want = Trial(false).of(script);
    const Done got = Trial(true).of(script);
    for (const auto& [name, firings] : want.firings) {
      fired += firings.size();
      const auto at = got.firings.find(name);
      ASSERT_TRUE(at != got.firings.end()) << "WALLE_STREAM_SEED=" << seed << " task " << name;
      ASSERT_EQ(at->second, firings) << "WALLE_STREAM_SEED=" << seed << " task " << name;
    }
    ASSERT_EQ(want.firings.size(), got.firings.size()) << "WALLE_STREAM_SEED=" << seed;
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
