#include "store/state_map.h"

#include "base/log.h"
#include "store/segment_manifest.h"

namespace walle::store {

namespace {
constexpr const char* kMapKind = "SMAP";
}  // namespace

std::optional<std::string> StateMap::get(const std::string& key) const {
  const std::lock_guard lock(lock_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

bool StateMap::read(std::string_view content) {
  base::ByteReader in(content);
  number_ = in.get<uint64_t>();
  if (!read_entries(in, entries_)) return false;
  size_t bytes = 0;
  for (const auto& [key, value] : entries_) bytes += entry_bytes(key, value);
  bytes_ = bytes;
  size_ = entries_.size();
  return true;
}

// With the lock.
void StateMap::change(const StateChange& c) {
  const std::string key(c.key);
  size_t bytes = bytes_.load();
  const auto old = entries_.find(key);
  if (old != entries_.end()) bytes -= entry_bytes(key, old->second);
  if (c.value) {
    bytes += kEntryHeadBytes + c.key.size() + c.value->size();
    if (old != entries_.end())
      old->second = *c.value;
    else
      entries_.emplace(key, *c.value);
  } else if (old != entries_.end()) {
    entries_.erase(old);
  }
  bytes_ = bytes;
  size_ = entries_.size();
  changed_ = true;
  version_.fetch_add(1, std::memory_order_release);
}

// What the file is to hold; what has expired is gone from here on, too.
std::string StateMap::content(uint64_t number, int64_t now_us) {
  const std::lock_guard lock(lock_);
  size_t bytes = bytes_.load();
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (!expired(it->second, now_us)) {
      ++it;
      continue;
    }
    bytes -= entry_bytes(it->first, it->second);
    it = entries_.erase(it);
  }
  bytes_ = bytes;
  size_ = entries_.size();
  number_ = number;
  changed_ = false;
  base::ByteWriter out;
  out.reserve(sizeof(uint64_t) + sizeof(uint32_t) + bytes);
  out.put(number);
  put_entries(out, entries_);
  return out.take();
}

std::shared_ptr<StateMap> StateMaps::find(std::string_view name) const {
  const std::lock_guard lock(lock_);
  const auto found = maps_.find(name);
  return found == maps_.end() ? nullptr : found->second;
}

// Where the file is gone an empty one stands for it, so that the loss is told.
Status StateMaps::begin_anew(const std::string& path, StateMap& map) const {
  const bool removed = map.file_.found() == MirroredFile::Found::nothing;
  const std::string aside = path + std::string(kAside);
  base::log(
      base::LogLevel::warning,
      "'" + path +
          (removed ? "': removed; the state starts empty"
                   : "': damaged content; the state starts empty and the file is kept as '" + aside + "'"));
  map.entries_.clear();
  WALLE_TRY(removed ? env_.replace_file(aside, "") : map.file_.set_aside());
  // Or the next open would find the damage anew.
  map.number_ = 0;
  return map.file_.write(map.content(0, 0));
}

Result<std::shared_ptr<StateMap>> StateMaps::open(std::string_view name) {
  const std::lock_guard lock(lock_);
  if (const auto found = maps_.find(name); found != maps_.end()) return found->second;
  const std::string path = dir_ + "/" + std::string(name);
  WALLE_ASSIGN(MirroredFile file, MirroredFile::open(env_, path, kMapKind, kMaxStateMapBytes));
  std::shared_ptr<StateMap> made(new StateMap(std::move(file)));
  MirroredFile& there = made->file_;
  const bool whole = there.readable() && made->read(there.content());
  if (whole && there.found() == MirroredFile::Found::mended) WALLE_TRY(there.mend());
  const bool nothing = there.found() == MirroredFile::Found::nothing;
  if (!whole && (!nothing || written_.contains(name))) WALLE_TRY(begin_anew(path, *made));
  return maps_.emplace(name, std::move(made)).first->second;
}

void StateMaps::apply(uint64_t number, std::span<const StateChange> changes) {
  for (const StateChange& c : changes) {
    const std::shared_ptr<StateMap> map = find(c.map);
    if (map == nullptr) continue;
    const std::lock_guard lock(map->lock_);
    if (number > map->number_) map->change(c);
  }
}

Status StateMaps::redo(uint64_t number, std::span<const StateChange> changes) {
  for (const StateChange& c : changes) WALLE_TRY(open(c.map).status());
  apply(number, changes);
  return {};
}

StateMaps::Step StateMaps::begin_checkpoint(uint64_t number, int64_t now_us) {
  const std::lock_guard lock(lock_);
  Step out;
  for (auto it = maps_.begin(); it != maps_.end();) {
    const std::shared_ptr<StateMap>& map = it->second;
    if (map->changed_) {
      std::string bytes = map->content(number, now_us);
      written_.insert(it->first);
      out.emplace_back(map, std::move(bytes));
    } else if (map.use_count() == 1) {
      it = maps_.erase(it);  // its file says all of it
      continue;
    }
    ++it;
  }
  return out;
}

Status StateMaps::checkpoint(Step step) {
  Status status;
  for (auto& [map, bytes] : step) {
    if (Status written = map->file_.write(bytes); !written.ok()) {
      // The next one tries again: the frames stay until it has been.
      const std::lock_guard lock(map->lock_);
      map->changed_ = true;
      status = std::move(written);
    }
  }
  return status;
}

std::set<std::string, std::less<>> StateMaps::written() const {
  const std::lock_guard lock(lock_);
  return written_;
}

void StateMaps::expect(std::string name) {
  const std::lock_guard lock(lock_);
  written_.insert(std::move(name));
}

}  // namespace walle::store
