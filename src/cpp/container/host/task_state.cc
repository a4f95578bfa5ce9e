#include "container/host/task_state.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "container/host/value_codec.h"

namespace walle::container {

namespace {

// As many links as Linux follows.
constexpr int kMaxLinks = 40;

// The file that is written: it is replaced by a new one under its name, which must not take the place of a
// link, nor of what is no file.
Result<std::string> regular_file(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code code;
  fs::path path = given;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, code)) && links < kMaxLinks; ++links)
    path = path.parent_path() / fs::read_symlink(path, code);
  const fs::file_type type = fs::symlink_status(path, code).type();
  // none: it cannot be looked at, and whoever reads it says why.
  if (type == fs::file_type::regular || type == fs::file_type::not_found || type == fs::file_type::none)
    return path.string();
  return resource_error({"'", given, "', which is no regular file"}, "a regular file, or a name that is free",
                        "opening a task's state", "name another file");
}

// Each file is written as a whole, so two maps of one file would undo each other's changes.
Result<std::shared_ptr<store::KeyValue>> shared_store(const std::string& given) {
  if (given.empty()) return store::KeyValue::open(Env::system(), given);
  WALLE_ASSIGN(const std::string path, regular_file(given));
  static std::mutex lock;
  static std::map<std::string, std::weak_ptr<store::KeyValue>> opened;
  std::error_code code;
  const std::string name = std::filesystem::weakly_canonical(path, code).string();
  const std::lock_guard guard(lock);
  std::weak_ptr<store::KeyValue>& slot = opened[code ? path : name];
  if (std::shared_ptr<store::KeyValue> known = slot.lock()) return known;
  WALLE_ASSIGN(std::shared_ptr<store::KeyValue> made,
               store::KeyValue::open(Env::system(), path, store::KeyValue::Damaged::is_set_aside));
  slot = made;
  return made;
}

}  // namespace

Result<std::shared_ptr<TaskState>> TaskState::open(const std::string& path, size_t quota_bytes) {
  WALLE_ASSIGN(std::shared_ptr<store::KeyValue> store, shared_store(path));
  return std::shared_ptr<TaskState>(
      new TaskState(std::move(store), quota_bytes != 0 ? quota_bytes : kDefaultQuota));
}

Result<vm::Value> TaskState::get(const std::string& key, vm::Value otherwise) const {
  const std::optional<std::string> bytes = store_->get(key);
  if (!bytes) return otherwise;
  std::optional<vm::Value> value = decode_value(*bytes);
  if (value) return std::move(*value);
  return resource_error({"the value of key '", key, "'"}, "a value that walle.kv.put wrote", "walle.kv.get",
                        "delete the key");
}

Status TaskState::put(const std::string& key, const vm::Value& value) {
  std::optional<std::string> bytes = encode_value(value);
  if (bytes) return store_->put(key, std::move(*bytes), quota_);
  return argument_error("a value with a tensor or more than 32 levels",
                        "None, bool, int, float, str, bytes, list or map", "walle.kv.put",
                        "store tobytes() of a tensor");
}

}  // namespace walle::container
