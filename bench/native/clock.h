// The clocks that measurements are read from.
#pragma once

#include <cstdint>
#include <ctime>

namespace walle::bench {

inline int64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// What a user waits: for single operations, whose slow ones count.
inline int64_t wall_ns() { return nanoseconds(CLOCK_MONOTONIC); }
// What this thread computed: for long loops, which other processes interrupt.
inline int64_t cpu_ns() { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace walle::bench
