#include "base/fork.h"

#include <pthread.h>

namespace walle::base {

namespace fork_detail {
std::atomic<uint64_t> generation{0};
}

void watch_for_forks() {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { fork_detail::generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

}  // namespace walle::base
