#include "base/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "emulated.h"
#include "waits.h"

namespace walle::base {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 8})
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
      parallel_for(tasks, threads, [&](int64_t i) { seen[static_cast<size_t>(i)].fetch_add(1); });
      for (const auto& s : seen) EXPECT_EQ(s.load(), 1);
    }
}

TEST(ThreadPool, OneThreadIsTheCallerInOrder) {
  std::vector<int64_t> order;
  const auto caller = std::this_thread::get_id();
  parallel_for(50, 1, [&](int64_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ThreadPool, NeverMoreThreadsThanAskedFor) {
  for (int round = 0; round < 20; ++round) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    parallel_for(64, 2, [&](int64_t) {
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    EXPECT_LE(ids.size(), 2u);
  }
}

TEST(ThreadPool, NestedLoopsRunInPlace) {
  std::atomic<int> count{0};
  parallel_for(8, 4, [&](int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(8, 4, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      count.fetch_add(1);
    });
  });
  EXPECT_EQ(count.load(), 64);
}

// Each caller makes progress on its own: the slowest of three gets
// its share of rounds while the others are at work.
TEST(ThreadPool, ThreeCallersAllAdvance) {
  constexpr int kCallers = 3;
  std::atomic<bool> stop{false};
  std::vector<std::atomic<int64_t>> rounds(kCallers);
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&, c] {
      std::atomic<int64_t> sum{0};
      while (!stop.load()) {
        parallel_for(16, 4, [&](int64_t i) {
          auto x = static_cast<uint64_t>(i);
          for (int k = 0; k < 2000; ++k) x = x * 6364136223846793005U + 1;
          sum.fetch_add(static_cast<int64_t>(x & 1));
        });
        rounds[static_cast<size_t>(c)].fetch_add(1);
      }
    });
  // A share is one of many turns: with more work than cores the system gives them out milliseconds at a time.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  until([&] { return std::ranges::all_of(rounds, [](const auto& each) { return each.load() >= 500; }); });
  stop = true;
  for (auto& t : callers) t.join();
  int64_t most = 0, least = INT64_MAX;
  for (const auto& r : rounds) {
    most = std::max(most, r.load());
    least = std::min(least, r.load());
  }
  EXPECT_GT(least, 0);
  EXPECT_GT(least * 5, most) << "one caller was starved";
}

TEST(ThreadPool, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts threads";
#endif
  // tcg_register_thread: Assertion `n < max_cpus' failed (7.2), where the parent had threads.
  if (emulated()) GTEST_SKIP() << "the emulator ends a forked child that starts threads";
  parallel_for(8, 2, [](int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> count{0};
    for (int i = 0; i < 100; ++i) parallel_for(16, 2, [&](int64_t) { count.fetch_add(1); });
    _exit(count.load() == 1600 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ThreadPool, CountsAtLeastOneProcessor) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace walle::base
