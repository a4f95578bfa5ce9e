// FiringState: walle.kv on a device: the task's map as commits have left it, and over it what the running
// firing has put and deleted, which nobody else sees until the device commits it with the firing's rows, or
// forgets it with a firing that failed.
//
// Asked by the isolate's own thread; take(), resume() and forget() between two calls. The map under it is
// shared, and thread-safe.
#pragma once

#include <map>

#include "container/host/task_state.h"
#include "store/state_map.h"

namespace walle::container {

class FiringState final : public TaskState {
 public:
  // A firing's changes travel in one commit, as its rows do.
  static constexpr size_t kMostBytes = size_t{1} << 20;
  struct Limits {
    uint64_t bytes = 0, keys = 0;  // of the map; what has expired counts where it cannot be dropped
  };
  using Clock = std::function<int64_t()>;  // us since 1970
  using Changes = std::map<std::string, std::optional<std::string>>;

  FiringState(std::shared_ptr<store::StateMap> map, Limits limits, Clock clock)
      : map_(std::move(map)), limits_(limits), clock_(std::move(clock)) {}

  // For the commit; nothing is left.
  Changes take();
  // What an earlier phase of the firing has changed.
  void resume(const Changes& changes);
  void forget();

  // The same in bytes, for maps with values of another make.
  bool has(const std::string& key) const { return find(key).has_value(); }
  Status set_bytes(const std::string& key, std::string bytes) { return set(key, std::move(bytes)); }
  void each_bytes(const std::string& from, const Visit& visit) const { each(from, visit); }

 private:
  std::optional<std::string> find(const std::string& key) const override;
  Status set(const std::string& key, std::string bytes) override;
  Result<bool> remove(const std::string& key) override;
  void each(const std::string& from, const Visit& visit) const override;
  int64_t now_us() const override { return clock_(); }
  void drop(const std::string& key) override;

  Status check(const std::string& key, size_t size) const;
  void change(const std::string& key, std::optional<std::string> bytes);
  void drop_expired();

  std::shared_ptr<store::StateMap> map_;
  Limits limits_;
  Clock clock_;
  Changes changes_;
  size_t changed_bytes_ = 0;                // of changes_
  int64_t more_bytes_ = 0, more_keys_ = 0;  // than the map has
};

}  // namespace walle::container
