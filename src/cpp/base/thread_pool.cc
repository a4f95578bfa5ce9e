#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/placement.h"

namespace walle::base {

namespace {
constexpr int kMostWorkers = 256;  // whatever a quota says
// Some 20-50 microseconds: longer than the gap between two operators, shorter than a time slice.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// One parallel_for, on its caller's stack. A helper may touch it only between join() and leave().
struct Job {
  Job(int64_t tasks, int most_helpers, TaskRef fn) : tasks(tasks), most_helpers(most_helpers), fn(fn) {}

  bool open() const { return next.load(std::memory_order_relaxed) < tasks; }
  // Runs the next task; false when none is left.
  bool run_one() {
    const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks) return false;
    fn(task);
    return true;
  }

  const int64_t tasks;
  const int most_helpers;
  const TaskRef fn;
  std::atomic<int64_t> next{0};
  std::atomic<int> helpers{0};  // changed under the pool's lock
  int64_t served = 0;           // tasks helpers were sent to do; under the lock
  bool awaited = false;         // the caller sleeps; under the lock
  Job* after = nullptr;         // list of the pool; under the lock
};

// A helper that sleeps until there is work, on its own stack.
struct Parked {
  Placement placement;
  Parked* after = nullptr;  // list of the pool; under the lock
};

// Set while a thread runs a task: a parallel_for inside one
// runs in place, because all threads are busy already.
thread_local bool in_task = false;

// Never destroyed: workers may outlive static destructors.
class Pool {
 public:
  void run(Job& job) {
    {
      std::lock_guard lock(mutex_);
      grow(job.most_helpers);
      // A list through the callers' stacks: a job costs no allocation.
      job.after = jobs_;
      jobs_ = &job;
      job_count_.fetch_add(1, std::memory_order_release);
      for (Parked* each = sleepers_; each; each = each->after) each->placement.wake();
    }
    arrivals_.fetch_add(1, std::memory_order_release);  // the lock is free for whoever spins on this
    // A notification is a system call; helpers that spin see arrivals_ without one.
    if (parked_.load(std::memory_order_acquire) > 0) work_.notify_all();
    in_task = true;
    while (job.run_one()) {
    }
    in_task = false;
    withdraw(job);
  }

 private:
  // Helpers that are inside still finish their task; nobody new comes in.
  void withdraw(Job& job) {
    std::unique_lock lock(mutex_);
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->after;
    *link = job.after;
    job_count_.fetch_sub(1, std::memory_order_release);
    lock.unlock();
    for (int i = 0; i < kSpins; ++i) {
      if (job.helpers.load(std::memory_order_acquire) == 0) return;
      pause();
    }
    lock.lock();
    job.awaited = true;
    done_.wait(lock, [&] { return job.helpers.load(std::memory_order_acquire) == 0; });
  }

  // Under the lock: the open job that helpers have served least.
  Job* pick() {
    Job* best = nullptr;
    for (Job* job = jobs_; job; job = job->after)
      if (job->open() && job->helpers.load(std::memory_order_relaxed) < job->most_helpers &&
          (!best || job->served < best->served))
        best = job;
    return best;
  }

  void leave(Job& job) {
    const bool wake = job.awaited;
    job.helpers.fetch_sub(1, std::memory_order_acq_rel);  // from here on the job may be gone
    if (wake) done_.notify_all();
  }

  void work() {
    in_task = true;
    std::unique_lock lock(mutex_);
    while (true) {
      Job* job = pick();
      if (!job) {
        wait(lock);
        continue;
      }
      job->helpers.fetch_add(1, std::memory_order_relaxed);
      ++job->served;
      lock.unlock();
      bool more = job->run_one();
      while (more && job_count_.load(std::memory_order_relaxed) == 1)
        more = job->run_one();  // nobody else waits for help
      lock.lock();
      leave(*job);
    }
  }

  // Spins on arrivals and not on jobs in the list: a job whose last task is taken stays there until its
  // caller withdraws it, and a helper that took it for work parked a moment before the next one came (two of
  // three parks within a run were such).
  void wait(std::unique_lock<std::mutex>& lock) {
    const uint64_t seen = arrivals_.load(std::memory_order_acquire);
    lock.unlock();
    for (int i = 0; i < kSpins && arrivals_.load(std::memory_order_acquire) == seen; ++i) pause();
    lock.lock();
    // A job that came and went while this thread spun: the next one is likely soon, so it goes on spinning.
    if (pick() || seen != arrivals_.load(std::memory_order_acquire)) return;
    park(lock);
  }

  void park(std::unique_lock<std::mutex>& lock) {
    Parked self;
    self.placement.park();
    self.after = sleepers_;
    sleepers_ = &self;
    parked_.fetch_add(1, std::memory_order_acq_rel);
    work_.wait(lock);
    parked_.fetch_sub(1, std::memory_order_acq_rel);
    Parked** link = &sleepers_;
    while (*link != &self) link = &(*link)->after;
    *link = self.after;
    self.placement.woken();
  }

  // Under the lock.
  void grow(int helpers) {
    if (workers_ >= helpers) return;
    // One fewer than processors: the caller works, too.
    const int want = std::min({helpers, available_processors() - 1, kMostWorkers});
    while (workers_ < want && start_worker()) ++workers_;
  }

  bool start_worker() {
    sigset_t all, before;
    sigfillset(&all);  // signals belong to the program's own threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const auto entry = [](void* pool) -> void* {
      static_cast<Pool*>(pool)->work();
      return nullptr;
    };
    const bool started = pthread_create(&thread, &attributes, entry, this) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  Job* jobs_ = nullptr;
  Parked* sleepers_ = nullptr;
  int workers_ = 0;
  std::atomic<uint64_t> arrivals_{0};
  std::atomic<int> job_count_{0};
  std::atomic<int> parked_{0};
};

std::atomic<Pool*> current{nullptr};

Pool& pool() {
  if (Pool* p = current.load(std::memory_order_acquire)) return *p;
  static std::once_flag watch_forks;
  // A child has none of its parent's workers, and perhaps a
  // lock nobody will release: it starts with a new pool.
  std::call_once(watch_forks, [] {
    pthread_atfork(nullptr, nullptr, [] { current.store(nullptr, std::memory_order_release); });
  });
  auto* fresh = new Pool;
  Pool* expected = nullptr;
  if (current.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *expected;
}
}  // namespace

void parallel_for(int64_t tasks, int threads, TaskRef fn) {
  if (threads <= 1 || tasks <= 1 || in_task) {
    for (int64_t i = 0; i < tasks; ++i) fn(i);
    return;
  }
  Job job(tasks, static_cast<int>(std::min<int64_t>(threads, tasks)) - 1, fn);
  pool().run(job);
}

}  // namespace walle::base
