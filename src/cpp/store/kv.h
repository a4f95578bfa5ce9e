// KeyValue: a small durable map from text to bytes, held in memory and written as a whole to a file that
// replaces the old one: a crash or a lost power supply leaves the state before a put or the state after it.
//
// Thread-safe. Meant for kilobytes (counters, last-seen times, a profile): every put writes everything.
//
// The file is docs/reference/formats/kv.md.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/entry_map.h"

namespace walle::store {

class KeyValue {
 public:
  enum class Damaged { is_an_error, is_set_aside };

  // Reads the file if it is there. A damaged one is an error, or is copied to "<path>.damaged" (over an older
  // one), said in the log, and the map starts empty. Empty path: memory only.
  static Result<std::shared_ptr<KeyValue>> open(Env& env, std::string path,
                                                Damaged damaged = Damaged::is_an_error);

  std::optional<std::string> get(const std::string& key) const;
  // Durable when it returns. An error, and nothing changed, when the file would grow beyond `quota` bytes.
  Status put(const std::string& key, std::string value, size_t quota);
  // Whether the key was there.
  Result<bool> erase(const std::string& key);
  std::vector<std::string> keys(const std::string& prefix) const;
  // In order of keys, from `from` on, until it returns false. `visit` must not ask the map.
  template <class Visit>
  void each(const std::string& from, Visit&& visit) const {
    const std::lock_guard guard(lock_);
    for (auto it = entries_.lower_bound(from); it != entries_.end(); ++it)
      if (!visit(it->first, it->second)) return;
  }
  // Of the file as it is now.
  size_t bytes() const;

 private:
  KeyValue(Env& env, std::string path) : env_(env), path_(std::move(path)) {}
  Status load(Damaged damaged);
  Status set_aside(const std::string& bytes);
  Status save() const;

  Env& env_;
  std::string path_;
  mutable std::mutex lock_;
  EntryMap entries_;
  size_t bytes_ = 0;
};

}  // namespace walle::store
