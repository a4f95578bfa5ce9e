#include "container/host/firing_state.h"

namespace walle::container {

namespace {
size_t size_of(const std::string& key, const std::optional<std::string>& bytes) {
  return store::kEntryHeadBytes + key.size() + (bytes ? bytes->size() : 0);
}
}  // namespace

FiringState::Changes FiringState::take() {
  Changes out = std::move(changes_);
  forget();
  return out;
}

void FiringState::forget() {
  changes_.clear();
  changed_bytes_ = 0;
  more_bytes_ = more_keys_ = 0;
}

void FiringState::resume(const Changes& changes) {
  for (const auto& [key, bytes] : changes) change(key, bytes);
}

std::optional<std::string> FiringState::find(const std::string& key) const {
  const auto own = changes_.find(key);
  return own != changes_.end() ? own->second : map_->get(key);
}

// Both in order of keys; what the firing has changed stands in the place of what the map has.
void FiringState::each(const std::string& from, const Visit& visit) const {
  auto own = changes_.lower_bound(from);
  bool more = true;
  const auto give_own = [&] {
    if (own->second) more = visit(own->first, *own->second);
    ++own;
  };
  map_->each(from, [&](const std::string& key, const std::string& bytes) {
    while (more && own != changes_.end() && own->first < key) give_own();
    if (!more) return false;
    if (own != changes_.end() && own->first == key)
      give_own();
    else
      more = visit(key, bytes);
    return more;
  });
  while (more && own != changes_.end()) give_own();
}

void FiringState::change(const std::string& key, std::optional<std::string> bytes) {
  const std::optional<std::string> before = find(key);
  if (before) {
    more_bytes_ -= static_cast<int64_t>(size_of(key, before));
    --more_keys_;
  }
  if (bytes) {
    more_bytes_ += static_cast<int64_t>(size_of(key, bytes));
    ++more_keys_;
  }
  const auto own = changes_.find(key);
  if (own != changes_.end()) changed_bytes_ -= size_of(key, own->second);
  changed_bytes_ += size_of(key, bytes);
  if (own != changes_.end())
    own->second = std::move(bytes);
  else
    changes_.emplace(key, std::move(bytes));
}

// With `size` bytes under the key.
Status FiringState::check(const std::string& key, size_t size) const {
  const std::optional<std::string> before = find(key);
  const auto size_before = static_cast<int64_t>(before ? size_of(key, before) : 0);
  const int64_t bytes = static_cast<int64_t>(map_->bytes() + size) + more_bytes_ - size_before;
  const int64_t keys = static_cast<int64_t>(map_->size()) + more_keys_ + (before ? 0 : 1);
  // Shrinking a value is always allowed.
  if (bytes > static_cast<int64_t>(limits_.bytes) && static_cast<int64_t>(size) > size_before)
    return resource_error({bytes, " bytes of state"}, {"at most ", limits_.bytes}, {"key '", key, "'"},
                          "delete keys that are no longer needed, or raise [limits] state_bytes");
  if (keys > static_cast<int64_t>(limits_.keys) && !before)
    return resource_error({keys, " keys of state"}, {"at most ", limits_.keys}, {"key '", key, "'"},
                          "delete keys that are no longer needed, or raise [limits] state_keys");
  return {};
}

Status FiringState::set(const std::string& key, std::string bytes) {
  const size_t size = size_of(key, bytes);
  if (changed_bytes_ + size > kMostBytes)
    return resource_error({"more than ", kMostBytes, " bytes changed in one firing"},
                          {"at most ", kMostBytes}, {"key '", key, "'"},
                          "split the value, or spread the changes over several firings");
  if (!check(key, size).ok()) drop_expired();
  WALLE_TRY(check(key, size));
  change(key, std::move(bytes));
  return {};
}

Result<bool> FiringState::remove(const std::string& key) {
  if (!find(key)) return false;
  if (changed_bytes_ + size_of(key, {}) > kMostBytes)
    return resource_error({"more than ", kMostBytes, " bytes changed in one firing"},
                          {"at most ", kMostBytes}, {"key '", key, "'"},
                          "spread the changes over several firings");
  change(key, std::nullopt);
  return true;
}

// So that one that was seen to have expired does not come back with a clock that is set back.
void FiringState::drop(const std::string& key) {
  if (changed_bytes_ + size_of(key, {}) <= kMostBytes) change(key, std::nullopt);
}

void FiringState::drop_expired() {
  std::vector<std::string> gone;
  size_t bytes = changed_bytes_;
  const int64_t now = now_us();
  each("", [&](const std::string& key, const std::string& value) {
    if (!store::expired(value, now)) return true;
    bytes += size_of(key, {});
    if (bytes <= kMostBytes) gone.push_back(key);
    return bytes <= kMostBytes;
  });
  for (const std::string& key : gone) drop(key);
}

}  // namespace walle::container
