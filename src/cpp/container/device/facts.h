// Facts: what holds on the device, by name. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace walle::container {

class Facts {
 public:
  // Whether that changed anything.
  bool set(const std::string& name, bool holds) {
    const std::lock_guard lock(lock_);
    const auto [entry, is_new] = facts_.try_emplace(name, false);
    if (entry->second == holds) return false;
    entry->second = holds;
    return true;
  }
  bool all(const std::vector<std::string>& names) const {
    if (names.empty()) return true;  // most tasks: no lock
    const std::lock_guard lock(lock_);
    for (const std::string& name : names) {
      if (!holds(name)) return false;
    }
    return true;
  }
  std::vector<std::string> missing(const std::vector<std::string>& names) const {
    const std::lock_guard lock(lock_);
    std::vector<std::string> out;
    for (const std::string& name : names) {
      if (!holds(name)) out.push_back(name);
    }
    return out;
  }
  std::map<std::string, bool> all() const {
    const std::lock_guard lock(lock_);
    return facts_;
  }

 private:
  bool holds(const std::string& name) const {
    const auto found = facts_.find(name);
    return found != facts_.end() && found->second;
  }

  mutable std::mutex lock_;
  std::map<std::string, bool> facts_;
};

}  // namespace walle::container
