// Every session of the process, for what is asked of all of them: an app that the system tells to take less
// memory knows nothing of the sessions that tasks have made.
//
// Thread-safe. A session enters itself at the end of its construction and leaves before anything of it goes;
// who walks over them holds the list, so that none goes meanwhile, and waits for none that runs.
#pragma once

#include <cstdint>

namespace walle::runtime {

class LiveSession {
 public:
  virtual int64_t trim_if_idle() = 0;  // waits for none: 0 while a run is under way

 protected:
  ~LiveSession() = default;
};

void enter_live(LiveSession& session);
void leave_live(LiveSession& session);

// What each that no run is under way in gives back; bytes of it.
int64_t trim_sessions();

}  // namespace walle::runtime
