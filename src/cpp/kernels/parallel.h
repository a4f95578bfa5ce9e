// Splitting element-wise work over threads.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"

namespace walle::kernels {

// fn(begin, end) over [0, n) in pieces of at least `grain`; one call when threads is 1.
template <class Fn>
void parallel_ranges(int64_t n, int64_t grain, int threads, Fn&& fn) {
  if (n <= 0) return;
  const int64_t most = base::ceil_div(n, std::max<int64_t>(grain, 1));
  const int64_t tasks = threads <= 1 ? 1 : std::min<int64_t>(most, threads);
  if (tasks <= 1) return fn(int64_t{0}, n);
  const int64_t step = base::ceil_div(n, tasks);
  base::parallel_for(tasks, threads, [&](int64_t t) {
    const int64_t begin = t * step;
    const int64_t end = std::min(n, begin + step);
    if (begin < end) fn(begin, end);
  });
}

}  // namespace walle::kernels
