// Telling: this thread is inside an on_result callback.
//
// A device that is being closed waits for its callbacks, and what such a callback asks it meanwhile is
// answered: otherwise whoever closes would turn a harmless question into an error, some of the time.
#pragma once

namespace walle::container {

class Telling {
 public:
  Telling();
  ~Telling();
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  static bool here();
};

}  // namespace walle::container
