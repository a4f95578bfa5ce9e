#include "base/placement.h"

#if defined(__linux__)

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "waits.h"

namespace walle::base {
namespace {

std::vector<int> processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<size_t>(i), &set)) found.push_back(i);
  return found;
}

void pin(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int each : processors) CPU_SET(static_cast<size_t>(each), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// A thread that parks on `processor`, is woken by this one from the same, and says where it woke and where it
// may run afterwards.
struct Sleeper {
  int processor;
  std::vector<int> allowed;
  std::mutex mutex;
  std::condition_variable ready, go;
  Placement placement;
  bool parked = false, awake = false;
  int woke_on = -1;
  std::vector<int> afterwards;

  void sleep() {
    pin({processor});  // to be there for certain
    std::unique_lock lock(mutex);
    placement.park();
    pin(allowed);
    parked = true;
    ready.notify_one();
    go.wait(lock, [&] { return awake; });
    woke_on = sched_getcpu();
    placement.woken();
    afterwards = processors_of_this_thread();
  }

  void run(int times_woken) {
    std::thread thread([&] { sleep(); });
    pin({processor});
    {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return parked; });
      for (int i = 0; i < times_woken; ++i) placement.wake();
      awake = true;
    }
    go.notify_one();
    thread.join();
  }
};

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = processors_of_this_thread();
    if (before_.size() < 2) GTEST_SKIP() << "this process may use one processor only";
  }
  void TearDown() override { pin(before_); }
  std::vector<int> before_;
};

TEST_F(PlacementTest, AThreadWakesBesideItsWaker) {
  for (int times : {1, 2, 5}) {
    Sleeper sleeper{before_[0], before_};
    sleeper.run(times);
    EXPECT_NE(sleeper.woke_on, before_[0]) << times;
    EXPECT_EQ(sleeper.afterwards, before_) << times;  // woken twice, it still gets back what it had
  }
}

TEST_F(PlacementTest, AThreadWithOneProcessorStaysThere) {
  Sleeper sleeper{before_[0], {before_[0]}};
  sleeper.run(1);
  EXPECT_EQ(sleeper.woke_on, before_[0]);
  EXPECT_EQ(sleeper.afterwards, std::vector<int>{before_[0]});
}

TEST_F(PlacementTest, ThePoolLeavesItsHelpersWhereTheyMayRun) {
  if (available_processors() < 2) GTEST_SKIP() << "a quota leaves this process one processor";
  parallel_for(2, 2, [](int64_t) {});  // helpers start with what their maker may use: all of it
  size_t helped = 0;
  // More rounds where others have the processors, and helpers come too late to help.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (int round = 0; round < 30 || (helped == 0 && std::chrono::steady_clock::now() < end); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // helpers park after some 50 us
    pin({before_[static_cast<size_t>(round) % before_.size()]});
    const auto caller = std::this_thread::get_id();
    std::mutex mutex;
    std::vector<std::vector<int>> seen;
    parallel_for(8, 2, [&](int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (std::this_thread::get_id() == caller) return;
      std::lock_guard lock(mutex);
      seen.push_back(processors_of_this_thread());
    });
    pin(before_);
    for (const auto& each : seen) EXPECT_EQ(each, before_) << round;
    helped += seen.size();
  }
  EXPECT_GT(helped, 0u);
}

}  // namespace
}  // namespace walle::base

#endif
