#include "base/log.h"

#include <atomic>
#include <mutex>

namespace walle::base {

namespace {
struct Sink {
  std::mutex mutex;
  LogHook hook = nullptr;
  void* context = nullptr;
  // Read without the mutex, so that a line nobody wants costs two loads. Relaxed: a line that races with a
  // change of the threshold may go either way.
  std::atomic<bool> hooked = false;
  std::atomic<LogLevel> least = LogLevel::warning;
};
Sink& sink() {
  // Inside a function: the hook may be set while other libraries' static objects are still being made.
  static Sink instance;
  return instance;
}
}  // namespace

void set_log_hook(LogHook hook, void* context) {
  const std::lock_guard lock(sink().mutex);
  sink().hook = hook;
  sink().context = context;
  sink().hooked.store(hook != nullptr, std::memory_order_relaxed);
}

void set_log_level(LogLevel least) { sink().least.store(least, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) {
  return sink().hooked.load(std::memory_order_relaxed) &&
         level >= sink().least.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view line) {
  if (!log_enabled(level)) return;
  const std::lock_guard lock(sink().mutex);
  if (sink().hook) sink().hook(sink().context, level, line);
}

}  // namespace walle::base
