#include "store/kv.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"

namespace walle::store {

namespace {

constexpr std::string_view kKvMagic = "WALKV001";  // with the layout's version: another one is not read
constexpr size_t kHeaderBytes = 16;                // magic, checksum, count

std::string encode(const EntryMap& entries, size_t size) {
  base::ByteWriter rest;
  rest.reserve(size);
  put_entries(rest, entries);
  base::ByteWriter out;
  out.reserve(size);
  out.put_bytes(kKvMagic);
  out.put(base::crc32c(0, rest.written().data(), rest.size()));
  out.put_bytes(rest.written());
  return out.take();
}

// False: not what encode() writes.
bool decode(std::string_view bytes, EntryMap& entries) {
  base::ByteReader r(bytes);
  if (!r.expect(kKvMagic)) return false;
  const auto crc = r.get<uint32_t>();
  const std::string_view rest = bytes.substr(r.offset());
  return r.ok() && crc == base::crc32c(0, rest.data(), rest.size()) && read_entries(r, entries);
}

}  // namespace

Result<std::shared_ptr<KeyValue>> KeyValue::open(Env& env, std::string path, Damaged damaged) {
  std::shared_ptr<KeyValue> made(new KeyValue(env, std::move(path)));
  WALLE_TRY(made->load(damaged));
  return made;
}

// The copy is safe before the original goes: a crash between the two sets it aside again.
Status KeyValue::set_aside(const std::string& bytes) {
  const std::string aside = path_ + ".damaged";
  WALLE_TRY(env_.replace_file(aside, bytes));
  WALLE_TRY(env_.remove_file(path_));
  base::log(base::LogLevel::warning,
            "'" + path_ + "' of " + std::to_string(bytes.size()) +
                " bytes: damaged content; the state starts empty and the file is kept as '" + aside + "'");
  return {};
}

Status KeyValue::load(Damaged damaged) {
  bytes_ = kHeaderBytes;  // of the file of an empty map: the quota counts it from the first put on
  if (path_.empty() || env_.file_size(path_) < 0) return {};
  WALLE_ASSIGN(const std::string bytes, env_.read_file(path_));
  if (!decode(bytes, entries_)) {
    entries_.clear();
    if (damaged == Damaged::is_set_aside) return set_aside(bytes);
    return resource_error({"'", path_, "' of ", bytes.size(), " bytes: damaged content"},
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
  const size_t before = bytes_;
  const size_t freed = there ? entry_bytes(key, old->second) : 0;
  const size_t after = before - freed + entry_bytes(key, value);
  // Asked of the file's size after the change, so that shrinking a value is always allowed within the quota.
  if (after > quota) {
    return resource_error({after, " bytes of state"}, {"at most ", quota}, {"key '", key, "'"},
                          "delete keys that are no longer needed");
  }
  // The map changes first, because save() writes the map, and changes back if that fails: what get() says is
  // what the file holds. erase() below does the same.
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
  // A std::map, because it is sorted: keys with one prefix lie together, and the file's bytes depend on the
  // content alone.
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
