#include "base/loop_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "waits.h"

namespace walle::base {
namespace {

constexpr int64_t kLongUs = int64_t{3600} * 1'000'000;

TEST(LoopThread, StepsAtOnceWhenPokedAndElseWhenItsTimeIsOver) {
  std::atomic<int> steps = 0, told = 0, heard = 0;
  LoopThread loop({.name = "test", .step = [&] {
                     heard = told.load();
                     ++steps;
                     return steps < 3 ? int64_t{1} : kLongUs;
                   }});
  ASSERT_TRUE(loop.start());
  EXPECT_FALSE(loop.start());
  ASSERT_TRUE(until([&] { return steps >= 3; }));
  for (int i = 1; i <= 100; ++i) {
    told = i;
    loop.poke();
    ASSERT_TRUE(until([&] { return heard == i; })) << i;
  }
  EXPECT_FALSE(loop.stopping());
  EXPECT_TRUE(loop.stop());
  EXPECT_FALSE(loop.stop());
  EXPECT_FALSE(loop.start());
}

TEST(LoopThread, WaitsForTheStepUnderWayAndEndsInItsThread) {
  std::atomic<bool> began = false, done = false;
  std::thread::id stepped, ended;
  auto loop = std::make_unique<LoopThread>(
      LoopThread::Work{.name = "test",
                       .step =
                           [&] {
                             stepped = std::this_thread::get_id();
                             began = true;
                             std::this_thread::sleep_for(std::chrono::milliseconds(20));
                             done = true;
                             return kLongUs;
                           },
                       .end = [&] { ended = std::this_thread::get_id(); }});
  ASSERT_TRUE(loop->start());
  ASSERT_TRUE(until([&] { return began.load(); }));
  loop.reset();
  EXPECT_TRUE(done);
  EXPECT_EQ(stepped, ended);
  EXPECT_NE(ended, std::this_thread::get_id());
}

TEST(LoopThread, EndsBehindAStepThatStopsIt) {
  std::atomic<int> steps = 0;
  LoopThread* self = nullptr;
  LoopThread loop({.name = "test", .step = [&] {
                     ++steps;
                     EXPECT_FALSE(self->stop());
                     return int64_t{0};
                   }});
  self = &loop;
  ASSERT_TRUE(loop.start());
  ASSERT_TRUE(until([&] { return steps > 0; }));
  EXPECT_TRUE(loop.stop());
  EXPECT_EQ(steps, 1);
}

TEST(LoopThread, CutsShortTheStepUnderWay) {
  std::atomic<bool> began = false, cut = false, saw_stopping = false;
  LoopThread* self = nullptr;
  LoopThread loop({.name = "test",
                   .step =
                       [&] {
                         began = true;
                         until([&] { return cut.load(); });
                         saw_stopping = self->stopping();
                         return kLongUs;
                       },
                   .cut = [&] { cut = true; }});
  self = &loop;
  ASSERT_TRUE(loop.start());
  ASSERT_TRUE(until([&] { return began.load(); }));
  EXPECT_TRUE(loop.stop());
  EXPECT_TRUE(cut && saw_stopping);
}

TEST(LoopThread, SleepsAsItIsTold) {
  std::mutex lock;
  std::condition_variable changed;
  bool woken = false;
  std::atomic<int> steps = 0;
  LoopThread loop({.name = "test",
                   .step =
                       [&] {
                         ++steps;
                         return kLongUs;
                       },
                   .sleep =
                       [&](int64_t us) {
                         EXPECT_EQ(us, kLongUs);
                         std::unique_lock held(lock);
                         changed.wait(held, [&] { return woken; });
                         woken = false;
                       },
                   .wake =
                       [&] {
                         const std::lock_guard held(lock);
                         woken = true;
                         changed.notify_all();
                       }});
  ASSERT_TRUE(loop.start());
  ASSERT_TRUE(until([&] { return steps == 1; }));
  loop.poke();
  ASSERT_TRUE(until([&] { return steps == 2; }));
}

TEST(LoopThread, BelongsToTheProcessThatMadeIt) {
  std::atomic<int> steps = 0;
  auto loop = std::make_unique<LoopThread>(LoopThread::Work{.name = "test", .step = [&] {
                                                              ++steps;
                                                              return kLongUs;
                                                            }});
  ASSERT_TRUE(loop->start());
  ASSERT_TRUE(until([&] { return steps == 1; }));
  // By now it sleeps, and a condition that is destroyed waits for its sleepers.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    loop->stop();
    loop.reset();
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  EXPECT_TRUE(loop->stop());
}

}  // namespace
}  // namespace walle::base
