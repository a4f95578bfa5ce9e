// The state of an isolate without a device: a file that every put replaces.
#include <filesystem>
#include <map>
#include <mutex>

#include "container/host/task_state.h"
#include "store/kv.h"
#include "store/state_map.h"

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

class FileState final : public TaskState {
 public:
  FileState(std::shared_ptr<store::KeyValue> store, size_t quota) : store_(std::move(store)), quota_(quota) {}

 private:
  std::optional<std::string> find(const std::string& key) const override { return store_->get(key); }
  Status set(const std::string& key, std::string bytes) override {
    Status put = store_->put(key, bytes, quota_);
    if (put.ok() || !drop_expired()) return put;
    return store_->put(key, std::move(bytes), quota_);
  }
  // Whether there were any.
  bool drop_expired() {
    std::vector<std::string> gone;
    const int64_t now = now_us();
    store_->each("", [&](const std::string& key, const std::string& bytes) {
      if (store::expired(bytes, now)) gone.push_back(key);
      return true;
    });
    for (const std::string& key : gone) (void)store_->erase(key).ok();  // the put says what is wrong
    return !gone.empty();
  }
  Result<bool> remove(const std::string& key) override { return store_->erase(key); }
  void each(const std::string& from, const Visit& visit) const override { store_->each(from, visit); }
  int64_t now_us() const override { return Env::system().wall_us(); }

  std::shared_ptr<store::KeyValue> store_;
  size_t quota_;
};

}  // namespace

Result<std::shared_ptr<TaskState>> TaskState::open(const std::string& path, size_t quota_bytes) {
  WALLE_ASSIGN(std::shared_ptr<store::KeyValue> store, shared_store(path));
  return std::shared_ptr<TaskState>(
      std::make_shared<FileState>(std::move(store), quota_bytes != 0 ? quota_bytes : kDefaultQuota));
}

}  // namespace walle::container
