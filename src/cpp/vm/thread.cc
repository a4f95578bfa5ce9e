#include "vm/thread.h"

#include <pthread.h>

#include <memory>

namespace walle::vm {

namespace {

void* trampoline(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

bool start(size_t stack_bytes, std::function<void()> body, pthread_t* id, int detach_state) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, detach_state);
  auto held = std::make_unique<std::function<void()>>(std::move(body));
  const bool ok = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                  pthread_create(id, &attributes, trampoline, held.get()) == 0;
  if (ok) held.release();  // now the trampoline's
  pthread_attr_destroy(&attributes);
  return ok;
}

}  // namespace

bool start_thread(size_t stack_bytes, std::function<void()> body) {
  pthread_t id;
  return start(stack_bytes, std::move(body), &id, PTHREAD_CREATE_DETACHED);
}

size_t stack_left() {
  static thread_local char* low = nullptr;  // asking costs microseconds, on the first thread a read of /proc
#if defined(__APPLE__)
  if (low == nullptr)
    low = static_cast<char*>(pthread_get_stackaddr_np(pthread_self())) -
          pthread_get_stacksize_np(pthread_self());
#else
  pthread_attr_t attributes;
  if (low == nullptr && pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* start = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    low = static_cast<char*>(start);
  }
#endif
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  // Below its end: a frame on some other stack, a signal's or a coroutine's, of which nothing is known.
  return low == nullptr || here < low ? 0 : static_cast<size_t>(here - low);
}

// Without a thread the caller's own stack is the best there is: mostly it is large enough.
void run_on_thread(size_t stack_bytes, const std::function<void()>& body) {
  pthread_t id;
  if (start(stack_bytes, body, &id, PTHREAD_CREATE_JOINABLE))
    pthread_join(id, nullptr);
  else
    body();
}

}  // namespace walle::vm
