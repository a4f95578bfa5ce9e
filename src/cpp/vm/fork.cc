#include "vm/fork.h"

#include <pthread.h>

namespace walle::vm {

std::atomic<bool> fork_detail::forked{false};

void watch_for_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_detail::forked.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

Status refuse_forked_child(const char* where) {
  if (!is_forked_child()) return {};
  return resource_error("a child that fork() made of a process with a VM",
                        "a process that opened the VM itself: threads do not survive fork()", where,
                        "start processes by 'spawn' (multiprocessing.get_context('spawn'))");
}

}  // namespace walle::vm
