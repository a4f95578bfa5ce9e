// TaskState: what walle.kv keeps for one task: values under text keys, each with a time at which it expires
// or none. Where they lie is the matter of who derives: in a file of an isolate's own, written whole at every
// put (open(), below), or in a firing's commit (container/host/firing_state.h).
//
// A key that has expired is never seen, whatever still holds it. Expiry is a time of the wall clock: a clock
// that is set forward lets keys expire at once, one that is set back lets them stay as much longer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "vm/value.h"

namespace walle::container {

class TaskState {
 public:
  static constexpr size_t kDefaultQuota = size_t{1} << 20;
  static constexpr size_t kMostListed = 65'536;  // keys that one call gives
  static constexpr double kLongestTtlS = 3.2e9;  // 101 years

  // In a file. A damaged one is set aside, which the log says, and the state starts empty: a task whose
  // device lost power at the wrong moment must still run. Empty path: memory only, shared with nobody.
  // Quota 0: the default. Isolates of one process that name the same file share one state; thread-safe.
  static Result<std::shared_ptr<TaskState>> open(const std::string& path, size_t quota_bytes = 0);
  virtual ~TaskState() = default;

  Result<vm::Value> get(const std::string& key, vm::Value otherwise);
  // Without `ttl_s` it never expires.
  Status put(const std::string& key, const vm::Value& value, std::optional<double> ttl_s);
  Result<bool> erase(const std::string& key);  // whether it was there
  // At most `limit` with this prefix, in order and behind `after`; without a limit all, or an error where
  // there are more than kMostListed.
  struct Range {
    std::string prefix;
    std::optional<std::string> after;
    std::optional<size_t> limit;
  };
  Result<std::vector<std::string>> keys(const Range& range) const;
  Result<vm::Map> items(const Range& range) const;

  // Of a key and its bytes, {i64 expiry, value}; false: no more.
  using Visit = std::function<bool(const std::string& key, const std::string& bytes)>;

 protected:
  virtual std::optional<std::string> find(const std::string& key) const = 0;
  virtual Status set(const std::string& key, std::string bytes) = 0;
  virtual Result<bool> remove(const std::string& key) = 0;
  virtual void each(const std::string& from, const Visit& visit) const = 0;
  virtual int64_t now_us() const = 0;
  // A key that was found to have expired, where that costs nothing.
  virtual void drop(const std::string& /*key*/) {}

 private:
  Status list(const Range& range, const Visit& found) const;
};

}  // namespace walle::container
