// Workers and tasks: one worker at a time for each, nothing woken is forgotten, and idle means idle.
#include "container/device/run_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace walle::container {
namespace {

constexpr int64_t kPatienceUs = 60'000'000;

struct Job final : RunQueue::Member, std::enable_shared_from_this<Job> {
  std::shared_ptr<RunQueue::Member> self() override { return shared_from_this(); }
  std::atomic<int> waiting{0}, running{0}, done{0};
};

TEST(RunQueue, EveryWakingIsServedAndNoTaskRunsTwiceAtOnce) {
  constexpr int kJobs = 8, kWakings = 2000;
  RunQueue turns;
  turns.reserve(kJobs);
  std::vector<std::shared_ptr<Job>> jobs(kJobs);
  for (auto& job : jobs) job = std::make_shared<Job>();
  std::atomic<bool> overlapped{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (const std::shared_ptr<RunQueue::Member> member = turns.next()) {
        Job& job = static_cast<Job&>(*member);
        if (job.running.fetch_add(1) != 0) overlapped = true;
        const bool had = job.waiting.load() > 0;
        if (had) {
          job.waiting.fetch_sub(1);
          job.done.fetch_add(1);
        }
        job.running.fetch_sub(1);
        turns.done(job, 1, 0, had);
      }
    });
  }
  std::vector<std::thread> wakers;
  for (int i = 0; i < 2; ++i) {
    wakers.emplace_back([&, i] {
      for (int k = 0; k < kWakings; ++k) {
        Job& job = *jobs[static_cast<size_t>((k + i) % kJobs)];
        job.waiting.fetch_add(1);
        turns.wake(job, 0);
      }
    });
  }
  for (std::thread& thread : wakers) thread.join();
  EXPECT_TRUE(turns.wait_idle(kPatienceUs));
  turns.close();
  for (std::thread& thread : workers) thread.join();
  int done = 0;
  for (const auto& job : jobs) done += job->done;
  EXPECT_EQ(done, 2 * kWakings);
  EXPECT_FALSE(overlapped);
}

TEST(RunQueue, ClaimedIsRunning) {
  RunQueue turns;
  turns.reserve(1);
  const auto job = std::make_shared<Job>();
  ASSERT_TRUE(turns.claim(*job));
  EXPECT_FALSE(turns.claim(*job));
  turns.wake(*job, 0);
  EXPECT_FALSE(turns.wait_idle(0));
  turns.release(*job, 0, false);
  EXPECT_EQ(turns.queued(), 1u);
  EXPECT_FALSE(turns.claim(*job));
  EXPECT_EQ(turns.next(), job);
  turns.done(*job, 0, 0, false);
  EXPECT_TRUE(turns.wait_idle(0));
}

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A turn for a thread of its own needs no worker, and what was waiting goes on behind it.
TEST(RunQueue, ABorrowedTurnPassesTheQueueAndLosesNoWaking) {
  RunQueue turns;
  turns.reserve(2);
  const auto job = std::make_shared<Job>();
  turns.wake(*job, 0);
  ASSERT_TRUE(turns.borrow(*job, std::nullopt));
  EXPECT_EQ(turns.state(*job), RunQueue::State::running_woken);
  turns.wake(*job, 0);
  EXPECT_FALSE(turns.wait_idle(0));
  turns.give_back(*job, 5, 0, false);
  EXPECT_EQ(turns.state(*job), RunQueue::State::queued);
  const std::shared_ptr<RunQueue::Member> next = turns.next();
  EXPECT_EQ(next.get(), job.get());
  turns.done(*job, 1, 0, false);
  EXPECT_EQ(turns.state(*job), RunQueue::State::idle);
  EXPECT_TRUE(turns.wait_idle(0));
}

TEST(RunQueue, BorrowedTurnsAndTheWorkersAlternate) {
  RunQueue turns;
  turns.reserve(1);
  const auto job = std::make_shared<Job>();
  turns.wake(*job, 0);
  ASSERT_TRUE(turns.borrow(*job, std::nullopt));
  EXPECT_FALSE(turns.borrow(*job, microseconds(1000))) << "somebody has it";
  turns.give_back(*job, 1, 0, false);
  EXPECT_FALSE(turns.borrow(*job, microseconds(1000))) << "the worker is next";
  (void)turns.next();
  std::thread other([&] {
    if (turns.borrow(*job, std::nullopt)) turns.give_back(*job, 1, 0, false);
  });
  turns.done(*job, 1, 0, true);
  other.join();
  EXPECT_EQ(turns.state(*job), RunQueue::State::queued);
}

TEST(RunQueue, ClosingEndsBorrowersThatWaitAndWaitsForThoseThatRun) {
  RunQueue turns;
  turns.reserve(1);
  const auto job = std::make_shared<Job>();
  ASSERT_TRUE(turns.borrow(*job, std::nullopt));
  std::atomic<int> refused{0};
  std::thread waits([&] { refused = turns.borrow(*job, std::nullopt) ? 1 : 2; });
  turns.close();
  waits.join();
  EXPECT_EQ(refused, 2);
  EXPECT_FALSE(turns.wait_given_back(milliseconds(1)));
  turns.give_back(*job, 1, 0, false);
  EXPECT_TRUE(turns.wait_given_back(milliseconds(0)));
}

// Workers, wakers and borrowers at once: nobody overlaps, nothing woken is forgotten.
TEST(RunQueue, BorrowersAndWorkersNeverOverlap) {
  constexpr int kWakings = 2000;
  RunQueue turns;
  turns.reserve(1);
  const auto job = std::make_shared<Job>();
  std::atomic<bool> overlapped{false};
  const auto run = [&](bool worker) {
    if (job->running.fetch_add(1) != 0) overlapped = true;
    const bool had = worker && job->waiting.load() > 0;
    if (had) {
      job->waiting.fetch_sub(1);
      job->done.fetch_add(1);
    }
    job->running.fetch_sub(1);
    return job->waiting.load() > 0;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (turns.next() != nullptr) turns.done(*job, 1, 0, run(true));
    });
  std::atomic<bool> stop{false};
  std::atomic<int> borrowed{0};
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop && turns.borrow(*job, std::nullopt)) {
        ++borrowed;
        turns.give_back(*job, 1, 0, run(false));
      }
    });
  for (int k = 0; k < kWakings; ++k) {
    job->waiting.fetch_add(1);
    turns.wake(*job, 0);
  }
  while (job->done != kWakings || borrowed < 100) std::this_thread::yield();
  stop = true;
  turns.close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overlapped);
}

}  // namespace
}  // namespace walle::container
