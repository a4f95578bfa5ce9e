#include "vm/watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "vm/thread.h"

namespace walle::vm {

namespace {

constexpr int64_t kMillisecond = 1'000'000;
// The watchdog only looks at clocks and sets flags.
constexpr size_t kStack = size_t{256} << 10;
constexpr int64_t kAgain = 2 * kMillisecond;  // a call that was told to stop is told again until it has ended
// Whoever presses Ctrl-C does not notice a tenth of a second, and a nudge that has to wait for Python's lock
// (5 ms where other threads compute) costs a call a twentieth of its time.
constexpr int64_t kTick = 100 * kMillisecond;
// Calls that follow one another within this time find the watchdog awake: waking it costs 5 us.
constexpr int64_t kQuiet = 1000 * kMillisecond;

int64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

[[gnu::hot]] Watchdog& Watchdog::instance() {
  static auto* watchdog = new Watchdog();
  return *watchdog;
}

void Watchdog::add(Watched* watched) {
  const std::lock_guard guard(lock_);
  watched_.push_back(watched);
  if (started_) return;
  started_ = start_thread(kStack, [this] { run(); });
}

void Watchdog::remove(Watched* watched) {
  const std::lock_guard guard(lock_);
  watched_.erase(std::remove(watched_.begin(), watched_.end(), watched), watched_.end());
}

void Watchdog::arm(Watched& watched, uint32_t wall_ms, uint32_t cpu_ms) {
  if (wall_ms == 0 && cpu_ms == 0) return;
  const int64_t now = read_clock(CLOCK_MONOTONIC);
  const int64_t wall = wall_ms ? now + wall_ms * kMillisecond : INT64_MAX;
  int64_t first = wall;
  watched.cpu_deadline_.store(0, std::memory_order_relaxed);
  if (cpu_ms != 0) {
    clockid_t clock{};
    pthread_getcpuclockid(pthread_self(), &clock);
    watched.cpu_clock_.store(clock, std::memory_order_relaxed);
    watched.cpu_deadline_.store(read_clock(CLOCK_THREAD_CPUTIME_ID) + cpu_ms * kMillisecond,
                                std::memory_order_relaxed);
    first = std::min(first, now + cpu_ms * kMillisecond);
  }
  watched.wall_deadline_.store(wall, std::memory_order_relaxed);
  watched.deadline_.store(first, std::memory_order_seq_cst);
  if (first >= next_.load(std::memory_order_seq_cst)) return;
  const std::lock_guard guard(lock_);
  wake_.notify_one();
}

void Watchdog::disarm(Watched& watched) {
  if (watched.deadline_.load(std::memory_order_relaxed) == 0) return;
  if (watched.deadline_.exchange(0, std::memory_order_seq_cst) >= 0) return;
  const std::lock_guard guard(
      lock_);  // the watchdog is inside stop(): wait until it has left this call alone
}

int64_t Watchdog::stop(Watched& watched, int64_t armed, int reason, int64_t now) {
  int64_t expected = armed;
  if (!watched.deadline_.compare_exchange_strong(expected, -armed)) return INT64_MAX;
  watched.api_.cancel(watched.isolate_, reason);
  expected = -armed;
  watched.deadline_.compare_exchange_strong(expected, armed);
  return now + kAgain;
}

// When to look again.
int64_t Watchdog::look_at(Watched& watched, int64_t now) {
  const int64_t armed = watched.deadline_.load(std::memory_order_seq_cst);
  if (armed <= 0) return INT64_MAX;
  const int64_t wall = watched.wall_deadline_.load(std::memory_order_relaxed);
  if (now >= wall) return stop(watched, armed, WVM_REASON_WALL, now);
  const int64_t cpu = watched.cpu_deadline_.load(std::memory_order_relaxed);
  if (cpu == 0) return wall;
  const int64_t left = cpu - read_clock(watched.cpu_clock_.load(std::memory_order_relaxed));
  if (left <= 0) return stop(watched, armed, WVM_REASON_CPU, now);
  return std::min(wall, now + left);
}

void Watchdog::start_ticking() {
  const std::lock_guard guard(lock_);
  const int64_t now = read_clock(CLOCK_MONOTONIC);
  next_tick_ = now + kTick;
  quiet_at_ = now + kQuiet;
  ticking_.store(Ticking::yes, std::memory_order_seq_cst);
  wake_.notify_one();
}

bool Watchdog::nudge_attended() {
  bool any = false;
  for (Watched* watched : watched_) {
    if (!watched->attended_.load(std::memory_order_relaxed)) continue;
    watched->api_.nudge(watched->isolate_);
    any = true;
  }
  return any;
}

// When to look again. A call that begins while the ticking ends has set its flag and then read "yes", so the
// flag is there at the latest when that thread's stores have drained: microseconds, and the last look comes a
// tenth of a second later. With an ordered store instead each call took 6 ns more.
int64_t Watchdog::tick(int64_t now) {
  const Ticking state = ticking_.load(std::memory_order_relaxed);
  if (state == Ticking::no) return INT64_MAX;
  if (now < next_tick_) return next_tick_;
  next_tick_ = now + kTick;
  if (nudge_attended()) {
    quiet_at_ = now + kQuiet;
    ticking_.store(Ticking::yes, std::memory_order_seq_cst);
  } else if (now >= quiet_at_) {
    const bool was_last = state == Ticking::ending;
    ticking_.store(was_last ? Ticking::no : Ticking::ending, std::memory_order_seq_cst);
    if (was_last) return INT64_MAX;
  }
  return next_tick_;
}

void Watchdog::run() {
  std::unique_lock guard(lock_);
  for (;;) {
    const int64_t now = read_clock(CLOCK_MONOTONIC);
    // "Asleep for ever" is announced first: whoever arms during the scan then takes the lock and notifies.
    next_.store(INT64_MAX, std::memory_order_seq_cst);
    int64_t next = tick(now);
    for (Watched* watched : watched_) next = std::min(next, look_at(*watched, now));
    next_.store(next, std::memory_order_seq_cst);
    if (next == INT64_MAX)
      wake_.wait(guard);
    else
      wake_.wait_for(guard, std::chrono::nanoseconds(std::max<int64_t>(next - now, 0)));
  }
}

}  // namespace walle::vm
