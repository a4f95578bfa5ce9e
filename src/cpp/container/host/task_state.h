// TaskState: what walle.kv keeps for one task: values under text keys, durable through store::KeyValue.
//
// Thread-safe. Isolates of one process that name the same file share one state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/kv.h"
#include "vm/value.h"

namespace walle::container {

class TaskState {
 public:
  static constexpr size_t kDefaultQuota = size_t{1} << 20;

  // A damaged file is set aside, which the log says, and the state starts empty: a task whose device lost
  // power at the wrong moment must still run. Empty path: memory only, shared with nobody.
  // Quota 0: the default.
  static Result<std::shared_ptr<TaskState>> open(const std::string& path, size_t quota_bytes = 0);

  Result<vm::Value> get(const std::string& key, vm::Value otherwise) const;
  Status put(const std::string& key, const vm::Value& value);
  Result<bool> erase(const std::string& key) { return store_->erase(key); }
  std::vector<std::string> keys(const std::string& prefix) const { return store_->keys(prefix); }

 private:
  TaskState(std::shared_ptr<store::KeyValue> store, size_t quota) : store_(std::move(store)), quota_(quota) {}
  std::shared_ptr<store::KeyValue> store_;
  size_t quota_;
};

}  // namespace walle::container
