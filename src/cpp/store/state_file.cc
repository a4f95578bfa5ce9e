#include "store/state_file.h"

#include "base/log.h"

namespace walle::store {

namespace {
constexpr const char* kKind = "STAT";

StateFile::Found as_found(MirroredFile::Found found) {
  switch (found) {
    case MirroredFile::Found::nothing: return StateFile::Found::nothing;
    case MirroredFile::Found::whole: return StateFile::Found::whole;
    case MirroredFile::Found::mended: return StateFile::Found::mended;
    case MirroredFile::Found::damaged: break;
  }
  return StateFile::Found::lost;
}
}  // namespace

Result<std::unique_ptr<StateFile>> StateFile::open(Env& env, std::string path, bool read_only) {
  base::watch_for_forks();
  WALLE_ASSIGN(MirroredFile file, MirroredFile::open(env, path, kKind));
  const MirroredFile::Found found = file.found();
  auto made = std::unique_ptr<StateFile>(new StateFile(std::move(file), read_only));
  made->found_ = as_found(found);
  if (made->found_ == Found::nothing || made->found_ == Found::lost) return made;
  base::ByteReader r(made->file_.content());
  if (!read_entries(r, made->entries_)) {  // checksummed, so from somebody who writes other contents
    made->entries_.clear();
    made->found_ = Found::lost;
    return made;
  }
  if (made->found_ == Found::mended)
    base::log(base::LogLevel::warning,
              "'" + path + "': one of two copies was damaged or missing; the other one serves");
  // Reading goes on where this fails; the next change tries again and says why it cannot.
  if (!read_only) (void)made->file_.mend().ok();
  return made;
}

std::optional<std::string> StateFile::get(const std::string& key) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> StateFile::keys(const std::string& prefix) const {
  const std::lock_guard guard(lock_);
  std::vector<std::string> out;
  for (auto it = entries_.lower_bound(prefix); it != entries_.end() && it->first.starts_with(prefix); ++it)
    out.push_back(it->first);
  return out;
}

Status StateFile::apply(const Changes& changes) {
  const std::lock_guard guard(lock_);
  EntryMap next = entries_;
  for (const auto& [key, value] : changes) {
    if (value)
      next[key] = *value;
    else
      next.erase(key);
  }
  if (next == entries_ && found_ != Found::nothing && found_ != Found::lost) return {};
  return write(std::move(next));
}

Status StateFile::create() {
  const std::lock_guard guard(lock_);
  return found_ == Found::nothing ? write(entries_) : Status();
}

// A copy of the map, changed and taken over once it is written: what get() says is what the file holds.
Status StateFile::write(EntryMap next) {
  if (read_only_)
    return resource_error("a change of state", "a log opened for writing", {"'", file_.path(), "'"},
                          "open it without read_only");
  if (process_ != base::fork_generation())
    return resource_error("a change of state in a child of fork()", "the process that opened it",
                          {"'", file_.path(), "'"}, "open it after fork(), in one of the two processes");
  if (found_ == Found::lost) WALLE_TRY(file_.set_aside());
  base::ByteWriter out;
  put_entries(out, next);
  WALLE_TRY(file_.write(out.written()));
  entries_ = std::move(next);
  found_ = found_ == Found::mended ? Found::mended : Found::whole;
  return {};
}

}  // namespace walle::store
