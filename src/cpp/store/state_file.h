// StateFile: a small durable map from text to bytes in two copies (store/mirrored_file.h): what must outlive
// damage to any one file and may not start empty without somebody being told. Accounts, readers' places,
// counters of a day.
//
// A change is all or nothing and on the disk, twice, when apply() returns. In a child of fork() it is an
// error: two processes that both count would each forget what the other has spent. The layout is
// docs/reference/formats/state.md. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "base/fork.h"
#include "store/entry_map.h"
#include "store/mirrored_file.h"

namespace walle::store {

class StateFile {
 public:
  enum class Found : uint8_t {
    nothing,  // no file: a first start, or both copies were removed; the owner knows what else is there
    whole,
    mended,  // one copy was missing or damaged, the other one served
    lost     // both are damaged; the map is empty, and the copies are kept as ".damaged" at the first change
  };
  // What becomes of a key; nullopt removes it.
  using Changes = std::map<std::string, std::optional<std::string>>;

  // With `read_only` nothing is written, not even to mend; changes are refused.
  static Result<std::unique_ptr<StateFile>> open(Env& env, std::string path, bool read_only = false);

  Found found() const { return found_; }
  bool readable() const { return found_ == Found::whole || found_ == Found::mended; }
  std::optional<std::string> get(const std::string& key) const;
  // One number, as put_number() makes it; nullopt where there is no entry of that size.
  template <base::FixedWidth T>
  std::optional<T> number(const std::string& key) const {
    const std::optional<std::string> bytes = get(key);
    if (!bytes || bytes->size() != sizeof(T)) return std::nullopt;
    return base::load_le<T>(bytes->data());
  }
  std::vector<std::string> keys(const std::string& prefix) const;
  Status apply(const Changes& changes);
  // Writes even where nothing is there yet: that a file exists tells of a missing one later.
  Status create();

 private:
  StateFile(MirroredFile file, bool read_only) : file_(std::move(file)), read_only_(read_only) {}
  Status write(EntryMap entries);

  mutable std::mutex lock_;
  MirroredFile file_;
  bool read_only_;
  uint64_t process_ = base::fork_generation();
  Found found_ = Found::nothing;
  EntryMap entries_;
};

template <base::FixedWidth T>
std::string put_number(T value) {
  base::ByteWriter out;
  out.put(value);
  return out.take();
}

}  // namespace walle::store
