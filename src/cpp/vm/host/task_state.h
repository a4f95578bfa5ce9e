// KvFile: the small durable state of one task (counters, last-seen times, a profile): a sorted map in memory, written as a
// whole to a new file that replaces the old one, so that a crash leaves the old state or the new one.
//
// Thread-safe. Meant for kilobytes: every put writes everything, at most kMaxBytes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "vm/value.h"

namespace walle::vm {

class KvFile {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  // Reads the file if it is there; a damaged one is an error, never silently empty. Empty path: memory only.
  static Result<std::shared_ptr<KvFile>> open(std::string path);

  Value get(const std::string& key) const;  // none when absent
  bool has(const std::string& key) const;
  Status put(const std::string& key, const Value& value);
  Result<bool> erase(const std::string& key);
  std::vector<std::string> keys(const std::string& prefix) const;

 private:
  explicit KvFile(std::string path) : path_(std::move(path)) {}
  Status load();
  Status save(const std::map<std::string, Value>& entries) const;

  std::string path_;
  mutable std::mutex lock_;
  std::map<std::string, Value> entries_;
};

}  // namespace walle::vm
