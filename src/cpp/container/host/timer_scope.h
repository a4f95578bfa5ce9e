// TimerScope: walle.timers of one task: timers that its firings have set, over which lies what the running
// firing sets and cancels, and leaves with its commit.
//
// Asked by the isolate's own thread; take(), resume() and forget() between two calls.
#pragma once

#include "container/host/firing_state.h"

namespace walle::container {

// The map of the timers of all tasks: a name that no task has.
inline constexpr const char* kTimersMap = "+timers";

class TimerScope {
 public:
  // Below a second a task that sets its own timer again and again would do nothing else.
  static constexpr double kLeastS = 1.0, kLongestS = 366.0 * 86400;
  static constexpr size_t kMostPayload = 4096, kMostKey = 256;  // bytes

  TimerScope(std::shared_ptr<store::StateMap> map, std::string task, std::vector<std::string> names,
             size_t most, FiringState::Clock clock);

  // Takes the place of the one of its name and key.
  Status after(double seconds, const std::string& name, std::string_view payload, std::string_view key);
  Result<bool> cancel(const std::string& name, std::string_view key);  // whether it waited
  struct Timer {
    std::string task, name, key, payload;
    int64_t due = 0;  // us
  };
  // In order of time.
  std::vector<Timer> list() const;

  FiringState::Changes take() { return state_.take(); }
  void resume(const FiringState::Changes& changes) { state_.resume(changes); }
  void forget() { state_.forget(); }

  // An entry of the map.
  static int64_t due_of(std::string_view value);
  static Timer timer_of(std::string_view key, std::string_view value);

 private:
  Status check_name(const std::string& name) const;
  std::string key_of(const std::string& name, std::string_view key) const;

  FiringState state_;
  std::string task_;
  std::vector<std::string> names_;
  size_t most_;
  FiringState::Clock clock_;
};

}  // namespace walle::container
