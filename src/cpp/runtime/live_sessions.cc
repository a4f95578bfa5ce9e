#include "runtime/live_sessions.h"

#include <mutex>
#include <vector>

namespace walle::runtime {

namespace {
struct Live {
  std::mutex mutex;
  std::vector<LiveSession*> sessions;
};

// Never destroyed: sessions that a program leaves behind leave it while the process ends.
Live& live() {
  static auto* const all = new Live;
  return *all;
}
}  // namespace

void enter_live(LiveSession& session) {
  const std::lock_guard lock(live().mutex);
  live().sessions.push_back(&session);
}

void leave_live(LiveSession& session) {
  const std::lock_guard lock(live().mutex);
  std::erase(live().sessions, &session);
}

int64_t trim_sessions() {
  const std::lock_guard lock(live().mutex);
  int64_t bytes = 0;
  for (LiveSession* session : live().sessions) bytes += session->trim_if_idle();
  return bytes;
}

}  // namespace walle::runtime
