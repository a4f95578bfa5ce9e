#include "base/log.h"

#include <mutex>

namespace walle::base {

namespace {
struct Sink {
  std::mutex mutex;
  LogHook hook = nullptr;
  void* context = nullptr;
};
Sink& sink() {
  static Sink instance;
  return instance;
}
}  // namespace

void set_log_hook(LogHook hook, void* context) {
  std::lock_guard lock(sink().mutex);
  sink().hook = hook;
  sink().context = context;
}

void log(LogLevel level, std::string_view line) {
  std::lock_guard lock(sink().mutex);
  if (sink().hook) sink().hook(sink().context, level, line);
}

}  // namespace walle::base
