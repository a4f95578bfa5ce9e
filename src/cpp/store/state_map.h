// StateMap: a map from text to bytes whose changes travel in somebody's redo journal: one changed entry costs
// its own bytes there, and the file is written again only at a checkpoint. StateMaps: the maps of a folder,
// one file each, in two copies (docs/reference/formats/state-map.md).
//
// A value begins with the time at which it expires (expiry_of); what has is left out of the next file that is
// written. Whoever reads decides by its own clock what it sees before.
//
// Maps are thread-safe. Changes come through StateMaps::apply, in the order of their frames; begin_checkpoint
// is called with them, and the rest of a checkpoint beside them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "store/entry_map.h"
#include "store/mirrored_file.h"

namespace walle::store {

// Of one map's content: what is written at a checkpoint, and read at an open.
inline constexpr size_t kMaxStateMapBytes = size_t{1} << 30;

// us since 1970; 0: never. What a value of a map begins with.
inline int64_t expiry_of(std::string_view value) {
  return value.size() < sizeof(int64_t) ? 0 : base::load_le<int64_t>(value.data());
}
inline bool expired(std::string_view value, int64_t now_us) {
  const int64_t at = expiry_of(value);
  return at != 0 && at <= now_us;
}

// What becomes of a key of a map; nullopt removes it.
struct StateChange {
  std::string_view map, key;
  std::optional<std::string_view> value;
};

class StateMap {
 public:
  std::optional<std::string> get(const std::string& key) const;
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // as entry_bytes() counts
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t version() const { return version_.load(std::memory_order_acquire); }  // another after each change
  // In order of keys, from `from` on, until it returns false. `visit` must not ask the map.
  template <class Visit>
  void each(const std::string& from, Visit&& visit) const {
    const std::lock_guard lock(lock_);
    for (auto it = entries_.lower_bound(from); it != entries_.end(); ++it)
      if (!visit(it->first, it->second)) return;
  }

 private:
  friend class StateMaps;
  explicit StateMap(MirroredFile file) : file_(std::move(file)) {}
  bool read(std::string_view content);
  void change(const StateChange& c);
  std::string content(uint64_t number, int64_t now_us);

  mutable std::mutex lock_;
  EntryMap entries_;
  std::atomic<size_t> bytes_{0}, size_{0};
  std::atomic<uint64_t> version_{0};
  uint64_t number_ = 0;  // of the newest frame that it has
  bool changed_ = false;
  MirroredFile file_;  // one checkpoint at a time
};

class StateMaps {
 public:
  StateMaps(Env& env, std::string dir) : env_(env), dir_(std::move(dir)) {}

  // A map is read when it is first asked for, and kept while somebody has it or it has changed. A damaged one
  // is set aside, which the log says, and begins empty; so does one that written() named and that is not
  // there.
  Result<std::shared_ptr<StateMap>> open(std::string_view name);
  // What the map's file has already is passed over. Precondition: open() has given each map.
  void apply(uint64_t number, std::span<const StateChange> changes);
  // At an open, as a frame of the journal says: maps are read as they come.
  Status redo(uint64_t number, std::span<const StateChange> changes);

  using Step = std::vector<std::pair<std::shared_ptr<StateMap>, std::string>>;  // what is to be written
  Step begin_checkpoint(uint64_t number, int64_t now_us);
  Status checkpoint(Step step);
  // Maps that have files, as of the last checkpoint: whoever keeps the names tells them at the next open.
  std::set<std::string, std::less<>> written() const;
  void expect(std::string name);

 private:
  std::shared_ptr<StateMap> find(std::string_view name) const;
  Status begin_anew(const std::string& path, StateMap& map) const;

  Env& env_;
  const std::string dir_;
  mutable std::mutex lock_;
  std::map<std::string, std::shared_ptr<StateMap>, std::less<>> maps_;
  std::set<std::string, std::less<>> written_;
};

}  // namespace walle::store
