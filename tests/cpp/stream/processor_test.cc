// The processor's promises one by one; processor_kill_test.cc kills it at random.
#include <set>

#include "stream/processor_case.h"

namespace walle::stream::testing {
namespace {

using Numbers = std::vector<uint64_t>;

class ProcessorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    env.set_wall_us(kStart);
    p = open_processor(env);
  }
  void reopen(ProcessorOptions options = small_processor()) {
    kill(env, p);
    p = open_processor(env, std::move(options));
  }
  TaskStats stats(std::string_view name) {
    auto s = p->stats(name);
    EXPECT_TRUE(s.ok());
    return s.ok() ? *s : TaskStats();
  }

  base::FaultEnv env;
  std::unique_ptr<Processor> p;
};

TEST_F(ProcessorTest, AFiringNamesTaskTriggerAndPlace) {
  install(*p, task("one", {"a ~ b scope session", "b"}));
  install(*p, task("two", {"b"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  const auto b = put(*p, "b", kStart + 5);
  ASSERT_TRUE(b.ok());
  TaskFiring f;
  ASSERT_TRUE(p->take("one", f));
  EXPECT_EQ(f.number, 1u);
  EXPECT_EQ(f.trigger, 0u);
  EXPECT_EQ(f.trigger_name, "t0");
  EXPECT_EQ(f.seq, b->seq);
  EXPECT_EQ(f.ts, kStart + 5);
  EXPECT_EQ(f.start_ts, kStart);
  EXPECT_EQ(f.session, b->session);
  TaskFiring second, other;
  ASSERT_TRUE(p->take("one", second));
  EXPECT_EQ(second.number, 2u);
  EXPECT_EQ(second.trigger, 1u);
  ASSERT_TRUE(p->take("two", other));
  EXPECT_EQ(other.number, 1u);
  EXPECT_NE(other.key, second.key) << "equal texts of two tasks";
  EXPECT_FALSE(p->take("one", f));
  EXPECT_FALSE(p->take("nobody", f));
  EXPECT_EQ(stats("one").in_flight, 2u);
  p->settle("one", 2);
  EXPECT_EQ(stats("one").in_flight, 0u);
  EXPECT_EQ(stats("one").triggers[1].stats.fired, 1u);
}

TEST_F(ProcessorTest, NumbersBeyondTheNewestSettleNothingToCome) {
  install(*p, task("one", {"a"}));
  p->settle("one", 1000);
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{1});
}

TEST_F(ProcessorTest, WhatIsNotSettledComesAgain) {
  install(*p, task("one", {"a"}));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(*p, "a", kStart + i).ok());
  TaskFiring f;
  ASSERT_TRUE(p->take("one", f) && p->take("one", f));
  p->settle("one", 1);
  Done done;
  done.settled["one"] = 1;
  reopen(small_processor(&done));
  EXPECT_EQ(p->report().replayed, 5u);
  EXPECT_EQ(p->report().firings, 5u);
  EXPECT_EQ(drain(*p, "one"), (Numbers{2, 3, 4, 5}));
  // Behind a checkpoint nothing is matched again, and what waits is in it.
  ASSERT_TRUE(put(*p, "a", kStart + 9).ok());
  ASSERT_TRUE(p->take("one", f));
  ASSERT_TRUE(p->checkpoint().ok());
  reopen();
  EXPECT_EQ(p->report().replayed, 0u);
  EXPECT_EQ(drain(*p, "one"), Numbers{6});
  EXPECT_EQ(stats("one").triggers[0].stats.fired, 6u);
}

TEST_F(ProcessorTest, FullQueuesDropTheOldestTheNewOrFold) {
  install(*p, task("oldest", {"a", "b"}, 2, WhenFull::drop_oldest));
  install(*p, task("new", {"a", "b"}, 2, WhenFull::drop_new));
  install(*p, task("fold", {"a", "b"}, 2, WhenFull::coalesce));
  for (const char* name : {"a", "b", "a", "a"}) ASSERT_TRUE(put(*p, name, kStart).ok());
  EXPECT_EQ(stats("oldest").dropped, 2u);
  EXPECT_EQ(drain(*p, "oldest"), (Numbers{3, 4}));
  EXPECT_EQ(stats("new").dropped, 2u);
  EXPECT_EQ(drain(*p, "new"), (Numbers{1, 2}));
  EXPECT_EQ(stats("fold").dropped, 0u);
  EXPECT_EQ(stats("fold").coalesced, 2u);
  TaskFiring b, a;
  ASSERT_TRUE(p->take("fold", b) && p->take("fold", a));
  EXPECT_EQ(b.number, 2u);
  EXPECT_EQ(a.number, 4u);
  EXPECT_EQ(a.coalesced, 2u);
  // Numbers went on, whatever was dropped.
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  EXPECT_EQ(drain(*p, "new"), Numbers{5});
}

TEST_F(ProcessorTest, AsManyAsTheQueueHoldsAreInFlight) {
  install(*p, task("one", {"a"}, 1));
  TaskFiring f;
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  ASSERT_TRUE(p->take("one", f));
  ASSERT_TRUE(put(*p, "a", kStart + 1).ok());
  EXPECT_FALSE(p->take("one", f));
  p->settle("one", 1);
  EXPECT_TRUE(p->take("one", f));
}

TEST_F(ProcessorTest, TimeThatPassesIsInTheLog) {
  install(*p, task("one", {"a !~ b for 10s", "every 1m"}));
  EXPECT_FALSE(p->next_deadline().has_value());
  ASSERT_TRUE(p->advance(kStart).ok());  // periods count from here
  ASSERT_TRUE(put(*p, "a", kStart + kSecondUs).ok());
  ASSERT_TRUE(p->next_deadline().has_value());
  const uint64_t before = p->log().last_seq();
  ASSERT_TRUE(p->advance(kStart + 11 * kSecondUs).ok());
  EXPECT_EQ(p->log().last_seq(), before) << "a deadline is strict: nothing is due yet";
  env.advance_us(kMinuteUs);
  ASSERT_TRUE(p->advance(kStart + 11 * kSecondUs + 1).ok());
  EXPECT_EQ(p->log().last_seq(), before + 1);
  TaskFiring f;
  ASSERT_TRUE(p->take("one", f));
  EXPECT_EQ(f.ts, kStart + 11 * kSecondUs);
  reopen();
  EXPECT_EQ(drain(*p, "one"), Numbers{1});
}

TEST_F(ProcessorTest, TimersKeepNoSessionAlive) {
  install(*p, task("one", {"every 10m"}));
  const auto first = put(*p, "a", kStart);
  for (int i = 1; i <= 4; ++i) {
    env.advance_us(10 * kMinuteUs);
    ASSERT_TRUE(p->advance(kStart + i * 10 * kMinuteUs).ok());
  }
  EXPECT_GT(p->log().last_seq(), 3u);
  const auto next = put(*p, "a", kStart + 41 * kMinuteUs);
  ASSERT_TRUE(first.ok() && next.ok());
  EXPECT_EQ(next->session, next->seq) << "41 minutes without an event end a session";
}

TEST_F(ProcessorTest, AReplacedTaskGoesOnWhereTheTextIsTheSame) {
  install(*p, task("one", {"a ~ b", "a ~ c"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  TaskTriggers next = task("one", {"a ~ b", "a ~ c within 1h"});
  install(*p, next);
  ASSERT_TRUE(put(*p, "b", kStart + 1).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{1}) << "begun before";
  ASSERT_TRUE(put(*p, "c", kStart + 2).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{}) << "another text begins anew";
  // What waits stays, and says which trigger it was of.
  ASSERT_TRUE(put(*p, "a", kStart + 3).ok());
  ASSERT_TRUE(put(*p, "c", kStart + 4).ok());
  next.triggers.pop_back();
  install(*p, next);
  TaskFiring f;
  ASSERT_TRUE(p->take("one", f));
  EXPECT_EQ(f.trigger_name, "t1");
  EXPECT_EQ(f.trigger, kNoTrigger);
}

TEST_F(ProcessorTest, ARemovedTaskComesBackWithItsNumbers) {
  install(*p, task("one", {"a"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  ASSERT_TRUE(p->remove("one").ok());
  EXPECT_FALSE(p->remove("one").ok());
  EXPECT_TRUE(p->tasks().empty());
  reopen();
  EXPECT_TRUE(p->tasks().empty());
  install(*p, task("one", {"a"}));
  ASSERT_TRUE(put(*p, "a", kStart + 1).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{2});
}

TEST_F(ProcessorTest, ThePastIsDeliveredOnceOrWarmsOnly) {
  for (const char* name : {"a", "b", "a"}) ASSERT_TRUE(put(*p, name, kStart).ok());
  install(*p, task("late", {"a ~ b"}));
  TaskTriggers delivered = task("delivered", {"a ~ b"});
  delivered.past = Past::delivered;
  install(*p, delivered);
  TaskTriggers warmed = task("warmed", {"a ~ b"});
  warmed.past = Past::warmed;
  install(*p, warmed);
  EXPECT_EQ(drain(*p, "delivered"), Numbers{1});
  EXPECT_EQ(drain(*p, "warmed"), Numbers{});
  install(*p, delivered);  // the same text: its past has been delivered
  ASSERT_TRUE(put(*p, "b", kStart).ok());
  EXPECT_EQ(drain(*p, "delivered"), Numbers{2});
  EXPECT_EQ(drain(*p, "warmed"), Numbers{1});
  EXPECT_EQ(drain(*p, "late"), Numbers{}) << "its matches start behind its adding";
}

TEST_F(ProcessorTest, WhoIsReadyIsTold) {
  std::set<std::string> told;
  install(*p, task("one", {"a"}));
  install(*p, task("two", {"b"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  p->on_ready([&](std::string_view name) { told.insert(std::string(name)); });
  EXPECT_EQ(told, std::set<std::string>{"one"}) << "what waits since before";
  ASSERT_TRUE(put(*p, "b", kStart).ok());
  EXPECT_TRUE(told.contains("two"));
  told.clear();
  install(*p, task("one", {"a", "b"}));
  EXPECT_TRUE(told.contains("one")) << "while it was installed, what waits could not be taken";
  p->on_ready(nullptr);
  ASSERT_TRUE(put(*p, "b", kStart).ok());
}

TEST_F(ProcessorTest, WrongTasksAreRefusedAndNothingChanges) {
  install(*p, task("one", {"a ~ b"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  TaskTriggers twice = task("one", {"a", "b"});
  twice.triggers[1].name = "t0";
  TaskTriggers wide = task("wide", {"a"});
  wide.queue = kMaxQueue + 1;
  TaskTriggers none = task("none", {"a"});
  none.queue = 0;
  for (const TaskTriggers& bad :
       {twice, wide, none, task("", {"a"}), task("x\n", {"a"}), task("one", {"a ~"}), task("one", {"nobody"}),
        task(std::string(300, 'x'), {"a"})}) {
    const Status s = p->install(bad);
    ASSERT_FALSE(s.ok());
    EXPECT_FALSE(s.error().text().next.empty());
  }
  EXPECT_EQ(p->tasks(), std::vector<std::string>{"one"});
  ASSERT_TRUE(put(*p, "b", kStart).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{1});
}

// Every operation of an install, a replacement and a removal fails once: everything is as before, the log
// goes on, and the next open finds a state that was there.
TEST_F(ProcessorTest, AFailedChangeIsUndone) {
  int failed = 0;
  for (int64_t at = 0; at < 40; ++at) {
    base::FaultEnv disk;
    disk.set_wall_us(kStart);
    auto q = open_processor(disk);
    install(*q, task("one", {"a ~ b"}));
    install(*q, task("two", {"b ~ c"}));
    ASSERT_TRUE(put(*q, "a", kStart).ok());
    ASSERT_TRUE(put(*q, "b", kStart).ok());  // one fires, and waits
    ASSERT_TRUE(put(*q, "a", kStart).ok());
    disk.fail_at(at);
    const bool replaced = q->install(task("one", {"c"})).ok();
    const bool removed = q->remove("two").ok();
    disk.fail_at(-1);
    failed += !replaced || !removed;
    ASSERT_TRUE(put(*q, "b", kStart).ok());
    ASSERT_TRUE(put(*q, "c", kStart).ok());
    EXPECT_EQ(drain(*q, "one"), (Numbers{1, 2})) << at;  // b fires the old text, c the new
    if (!removed) {
      EXPECT_EQ(drain(*q, "two"), Numbers{1}) << at;
    }
    EXPECT_EQ(q->tasks().size(), removed ? 1u : 2u);
    ASSERT_TRUE(q->checkpoint().ok());
    kill(disk, q);
    q = open_processor(disk);
    EXPECT_EQ(q->tasks().size(), removed ? 1u : 2u) << at;
    EXPECT_EQ(q->stats("one")->triggers[0].text, replaced ? "c" : "a ~ b") << at;
  }
  EXPECT_GT(failed, 2);
}

TEST_F(ProcessorTest, OneCopyServesAndTheLossOfBothIsTold) {
  install(*p, task("one", {"a"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  kill(env, p);
  const std::string path = std::string(kDevice) + "/processor.wals";
  env.file(path)[40] ^= 1;
  p = open_processor(env);
  EXPECT_TRUE(p->report().mended);
  EXPECT_FALSE(p->report().lost);
  EXPECT_EQ(drain(*p, "one"), Numbers{1});
  EXPECT_FALSE(p->acknowledge_loss().ok());

  kill(env, p);
  env.file(path)[40] ^= 1;
  env.file(path + ".mirror")[41] ^= 1;
  for (int open = 0; open < 2; ++open) {
    p = open_processor(env);
    EXPECT_TRUE(p->report().lost) << open;
    EXPECT_TRUE(p->tasks().empty());
    kill(env, p);
  }
  Done done;
  done.settled["one"] = 1;
  p = open_processor(env, small_processor(&done));
  ASSERT_TRUE(p->acknowledge_loss().ok());
  install(*p, task("one", {"a"}));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{2}) << "a number that was settled is not given out again";
  reopen();
  EXPECT_FALSE(p->report().lost);

  kill(env, p);
  ASSERT_TRUE(env.remove_file(path).ok() && env.remove_file(path + ".mirror").ok());
  p = open_processor(env);
  EXPECT_TRUE(p->report().lost) << "the log remembers that there was one";
}

// Firings that a power loss takes with their events keep their numbers, which the caller has settled.
TEST_F(ProcessorTest, NumbersGoOnBehindWhatIsSettled) {
  install(*p, task("one", {"a"}));
  Done done;
  done.settled["one"] = 7;
  reopen(small_processor(&done));
  ASSERT_TRUE(put(*p, "a", kStart).ok());
  EXPECT_EQ(drain(*p, "one"), Numbers{8});
}

TEST_F(ProcessorTest, MaintainMakesACheckpointWhenItIsTime) {
  ProcessorOptions options = small_processor();
  options.checkpoint_events = 10;
  reopen(options);
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(put(*p, "a", kStart + i).ok());
    ASSERT_TRUE(p->maintain().ok());
  }
  reopen();
  EXPECT_LT(p->report().replayed, 10u);
}

TEST_F(ProcessorTest, WhatTheLogLetGoUnmatchedIsCounted) {
  install(*p, task("one", {"a"}));
  ASSERT_TRUE(p->checkpoint().ok());
  kill(env, p);
  ProcessorOptions options = small_processor();
  options.log.quota_bytes = 1;
  {
    auto log = EventLog::open(env, std::string(kDevice) + "/log", small_world(), options.log);
    ASSERT_TRUE(log.ok());
    const std::string text(1000, 'x');
    for (int i = 0; i < 60; ++i) {
      const std::vector<Value> contents{Value::of(int64_t{1}), Value::of(std::string_view(text))};
      Event e;
      e.event = *(*log)->catalog().find_event("a");
      e.ts = kStart + i;
      e.contents = contents;
      ASSERT_TRUE((*log)->append(e).ok());
      ASSERT_TRUE((*log)->maintain().ok());
    }
  }
  p = open_processor(env);
  EXPECT_GT(p->report().missed, 10u);
  EXPECT_EQ(p->report().missed + p->report().replayed, 60u);
}

// 5,000 persons with 200 partial matches each, of 18 bytes.
TEST(Processor, AStateOfMoreThanSixteenMegabytesIsWrittenAndFoundAgain) {
  constexpr int kPersons = 5000, kTriggers = 200;
  base::FaultEnv env;
  ProcessorOptions options = small_processor();
  options.log.journal_bytes = 4 << 20;
  options.matcher.keys = kPersons;
  auto p = open_processor(env, options);
  std::vector<std::string> texts;
  for (int gap = 1; gap <= kTriggers; ++gap)
    texts.push_back("a ~(" + std::to_string(gap) + "s) b ~ c scope by(who)");
  install(*p, task("many", texts));
  for (int i = 0; i < kPersons; ++i) {
    const std::string who = std::to_string(i);
    ASSERT_TRUE(put(*p, "a", kStart + i, who).ok());
    ASSERT_TRUE(put(*p, "b", kStart + i, who).ok());
  }
  install(*p, task("one-more", {"a"}));
  EXPECT_GT(env.file(std::string(kDevice) + "/processor.wals").size(), size_t{16} << 20);
  kill(env, p);
  p = open_processor(env, options);
  EXPECT_FALSE(p->report().lost);
  ASSERT_TRUE(put(*p, "c", kStart + kPersons, "17").ok());
  EXPECT_EQ(drain(*p, "many").size(), static_cast<size_t>(kTriggers));
}

}  // namespace
}  // namespace walle::stream::testing
