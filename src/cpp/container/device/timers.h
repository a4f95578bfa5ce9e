// Timers: one-off timers that tasks have set with walle.timers, of all tasks. They lie in a map of the
// commits under "TASK/NAME/KEY"; one that is due leaves it in the frame that records its event, so that it
// fires once.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <mutex>

#include "container/device/commits.h"
#include "container/host/timer_scope.h"

namespace walle::container {

class Timers {
 public:
  static Result<std::unique_ptr<Timers>> open(Commits& commits);

  std::optional<int64_t> next_due() const;  // us
  // Those due at `now` fire, the earliest first, with event times of `ts`.
  Status fire(int64_t now_us, int64_t ts);
  // A task that is removed has none.
  Status drop(const std::string& task);

 private:
  Timers(Commits& commits, std::shared_ptr<store::StateMap> map) : commits_(commits), map_(std::move(map)) {}
  Status fire(const std::string& key, const std::string& value, int64_t ts);

  Commits& commits_;
  std::shared_ptr<store::StateMap> map_;
  std::mutex firing_;
  mutable std::mutex lock_;  // of the two below
  mutable uint64_t known_version_ = UINT64_MAX;
  mutable std::optional<int64_t> due_;
};

}  // namespace walle::container
