#include "store/kv.h"

#include <cstring>

#include "base/crc32c.h"

namespace walle::store {

namespace {

constexpr std::string_view kMagic = "WALKV001";
constexpr size_t kHeaderBytes = 16, kEntryBytes = 8;

void put_u32(std::string& out, size_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t load_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

size_t entry_bytes(const std::string& key, const std::string& value) {
  return kEntryBytes + key.size() + value.size();
}

std::string encode(const std::map<std::string, std::string>& entries, size_t size) {
  std::string rest;
  rest.reserve(size);
  put_u32(rest, entries.size());
  for (const auto& [key, value] : entries) {
    put_u32(rest, key.size());
    put_u32(rest, value.size());
    rest += key;
    rest += value;
  }
  std::string out(kMagic);
  put_u32(out, base::crc32c(0, rest.data(), rest.size()));
  return out + rest;
}

// False: not what encode() writes.
bool decode(std::string_view bytes, std::map<std::string, std::string>& entries) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) return false;
  if (load_u32(bytes, 8) != base::crc32c(0, bytes.data() + 12, bytes.size() - 12)) return false;
  const uint32_t count = load_u32(bytes, 12);
  bytes.remove_prefix(kHeaderBytes);
  for (uint32_t i = 0; i < count; ++i) {
    if (bytes.size() < kEntryBytes) return false;
    const size_t key = load_u32(bytes, 0), value = load_u32(bytes, 4);
    bytes.remove_prefix(kEntryBytes);
    if (key > bytes.size() || value > bytes.size() - key) return false;
    entries[std::string(bytes.substr(0, key))] = bytes.substr(key, value);
    bytes.remove_prefix(key + value);
  }
  return bytes.empty() && entries.size() == count;
}

}  // namespace

Result<std::shared_ptr<KeyValue>> KeyValue::open(Env& env, std::string path) {
  std::shared_ptr<KeyValue> made(new KeyValue(env, std::move(path)));
  WALLE_TRY(made->load());
  return made;
}

Status KeyValue::load() {
  bytes_ = kHeaderBytes;
  if (path_.empty() || env_.file_size(path_) < 0) return {};
  WALLE_ASSIGN(const std::string bytes, env_.read_file(path_));
  if (!decode(bytes, entries_)) {
    return resource_error("'" + path_ + "' of " + std::to_string(bytes.size()) + " bytes: damaged content",
                          "the state file that this runtime wrote", "KeyValue::open",
                          "restore the file, or remove it to start empty");
  }
  bytes_ = bytes.size();
  return {};
}

Status KeyValue::save() const {
  return path_.empty() ? Status() : env_.replace_file(path_, encode(entries_, bytes_));
}

std::optional<std::string> KeyValue::get(const std::string& key) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

Status KeyValue::put(const std::string& key, std::string value, size_t quota) {
  const std::lock_guard guard(lock_);
  const auto old = entries_.find(key);
  const bool there = old != entries_.end();
  const size_t before = bytes_, freed = there ? entry_bytes(key, old->second) : 0;
  const size_t after = before - freed + entry_bytes(key, value);
  if (after > quota) {
    return resource_error(std::to_string(after) + " bytes of state", "at most " + std::to_string(quota),
                          "key '" + key + "'", "delete keys that are no longer needed");
  }
  std::string previous = there ? std::move(old->second) : std::string();
  entries_[key] = std::move(value);
  bytes_ = after;
  Status saved = save();
  if (saved.ok()) return saved;
  bytes_ = before;
  if (there)
    entries_[key] = std::move(previous);
  else
    entries_.erase(key);
  return saved;
}

Result<bool> KeyValue::erase(const std::string& key) {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  auto entry = entries_.extract(found);
  const size_t size = entry_bytes(key, entry.mapped());
  bytes_ -= size;
  Status saved = save();
  if (saved.ok()) return true;
  bytes_ += size;
  entries_.insert(std::move(entry));
  return saved.take_error();
}

std::vector<std::string> KeyValue::keys(const std::string& prefix) const {
  const std::lock_guard guard(lock_);
  std::vector<std::string> out;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it)
    out.push_back(it->first);
  return out;
}

size_t KeyValue::bytes() const {
  const std::lock_guard guard(lock_);
  return bytes_;
}

}  // namespace walle::store
