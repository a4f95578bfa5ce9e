#include "base/thread_pool.h"

#include <sched.h>
#include <thread>

namespace walle::base {

void parallel_for(int64_t tasks, int /*threads*/, TaskRef fn) {
  for (int64_t i = 0; i < tasks; ++i) fn(i);
}

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace walle::base
