#include "vm/fork.h"

#include <pthread.h>

#include <atomic>

namespace walle::vm {

namespace {
std::atomic<bool> forked{false};
}  // namespace

void watch_for_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

bool is_forked_child() { return forked.load(std::memory_order_relaxed); }

Status refuse_forked_child(const char* where) {
  if (!is_forked_child()) return {};
  return resource_error("a child that fork() made of a process with a VM",
                        "a process that opened the VM itself: threads do not survive fork()", where,
                        "start processes by 'spawn' (multiprocessing.get_context('spawn'))");
}

}  // namespace walle::vm
