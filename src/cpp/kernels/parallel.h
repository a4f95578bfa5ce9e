// Splitting element-wise work over threads.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"

namespace walle::kernels {

// How many elements a piece must hold to be worth handing to another thread, by what an element costs.
// Handing over takes 0.3 to 0.6 us back to back and more than 10 us once the helper has parked (measured on
// Zen 4), so a piece should last some microseconds.
inline constexpr int64_t kVectorGrain = 32768;  // one vector operation
inline constexpr int64_t kScalarGrain = 16384;  // a few scalar instructions, or one read from elsewhere
inline constexpr int64_t kCallGrain = 8192;     // a call of the mathematics library, or a few scattered reads
inline constexpr int64_t kRowGrain = 4096;      // several passes over a row, one of them with such a call
inline constexpr int64_t kHeavyGrain = 2048;    // several such calls

// Items of `each` elements that make a piece of `grain` elements; at least one.
inline int64_t items_of(int64_t grain, int64_t each) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(each, 1));
}

// How much longer the largest of `shares` shares of `units` lasts than an equal one: 1 and more. Three panels
// of channels on two threads are two and one, 1.33.
inline double unevenness(int64_t units, int64_t shares) {
  return static_cast<double>(base::ceil_div(units, shares) * shares) /
         static_cast<double>(std::max<int64_t>(units, 1));
}

// Work is split the other way only for a gain beyond this: the way that a kernel likes better reads less.
inline constexpr double kUnevenAtMost = 1.06;

// fn(begin, end) over [0, n) in pieces of at least `grain`; one call when threads is 1.
template <class Fn>
void parallel_ranges(int64_t n, int64_t grain, int threads, Fn&& fn) {
  if (n <= 0) return;
  const int64_t most = base::ceil_div(n, std::max<int64_t>(grain, 1));
  const int64_t tasks = threads <= 1 ? 1 : std::min<int64_t>(most, threads);
  if (tasks <= 1) return fn(int64_t{0}, n);
  // Equal shares, not pieces of `grain` taken from a queue: element-wise work costs the same everywhere, and
  // each thread then touches one stretch of memory.
  const int64_t step = base::ceil_div(n, tasks);
  base::parallel_for(tasks, threads, [&](int64_t t) {
    const int64_t begin = t * step;
    const int64_t end = std::min(n, begin + step);
    if (begin < end) fn(begin, end);
  });
}

}  // namespace walle::kernels
