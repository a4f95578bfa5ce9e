#include "base/fault_env.h"

#include <algorithm>

namespace walle::base {

namespace {
// What a disk writes as a whole, whatever else is lost; larger pieces would hide torn records.
constexpr size_t kSector = 512;

class FaultMap final : public WritableMap {
 public:
  FaultMap(FaultEnv& env, std::string path, std::shared_ptr<FaultFile> file)
      : env_(env), path_(std::move(path)), file_(std::move(file)) {
    // As the system's lock: a second map of one file is the caller's mistake on both.
    file_->locked = true;
  }
  ~FaultMap() override { file_->locked = false; }
  std::span<std::byte> bytes() override {
    return {reinterpret_cast<std::byte*>(file_->live.data()), file_->live.size()};
  }
  Status sync(size_t offset, size_t size) override {
    WALLE_TRY(env_.step("sync", path_, true));
    file_->synced.resize(file_->live.size());
    // Only what was asked for becomes durable: a forgotten range shows in a test.
    std::copy_n(file_->live.data() + offset, size, file_->synced.data() + offset);
    return {};
  }

 private:
  FaultEnv& env_;
  std::string path_;
  std::shared_ptr<FaultFile> file_;
};

class FaultWriter final : public FileWriter {
 public:
  explicit FaultWriter(std::string& file) : file_(file) {}
  Status write(uint64_t offset, std::span<const std::byte> bytes) override {
    if (offset > file_.size() || bytes.size() > file_.size() - offset)
      return internal_error("a write behind the end of a new file", "fault env");
    std::copy_n(reinterpret_cast<const char*>(bytes.data()), bytes.size(), file_.data() + offset);
    return {};
  }

 private:
  std::string& file_;
};
}  // namespace

Status FaultEnv::step(std::string_view what, const std::string& path, bool writes) {
  ++operations_;
  if (writes && hook_) hook_();
  // Down to -1 and no further: one operation fails, those after it work again, as after a passing fault.
  if (countdown_ >= 0 && countdown_-- == 0)
    return resource_error({"cannot ", what, " '", path, "': Input/output error"}, "the operation to succeed",
                          {"file ", path}, "check the state of the disk");
  if (writes && read_only_)
    return resource_error({"cannot ", what, " '", path, "': Read-only file system"},
                          "the operation to succeed", {"file ", path},
                          "choose a directory on a writable file system");
  // Asked after the file has grown, like a file system that finds out while writing; the caller undoes it.
  if (writes && disk_bytes_ >= 0 && used_bytes() > disk_bytes_)
    return resource_error({"cannot ", what, " '", path, "': No space left on device"},
                          "the operation to succeed", {"file ", path},
                          "free space on the disk or lower the quota");
  return {};
}

std::unique_ptr<FaultEnv> FaultEnv::copy() const {
  auto out = std::make_unique<FaultEnv>();
  for (const auto& [path, file] : files_) {
    auto own = std::make_shared<FaultFile>(*file);
    own->locked = false;
    out->files_[path] = std::move(own);
  }
  out->wall_us_ = wall_us_;
  out->steady_us_ = steady_us_;
  return out;
}

int64_t FaultEnv::used_bytes() const {
  int64_t total = 0;
  for (const auto& [name, file] : files_) total += static_cast<int64_t>(file->live.size());
  return total;
}

void FaultEnv::lose_power(uint64_t seed, double survival) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution keep(survival);
  for (auto it = files_.begin(); it != files_.end();) {
    FaultFile& f = *it->second;
    // A name that was never synced goes with the power, whatever its bytes.
    if (!f.durable_name) {
      it = files_.erase(it);
      continue;
    }
    // The size is durable when the map returns (posix_fallocate), the bytes in it are not.
    f.synced.resize(f.live.size());
    for (size_t at = 0; at < f.live.size(); at += kSector)
      if (survival > 0 && keep(random))
        std::copy_n(f.live.data() + at, std::min(kSector, f.live.size() - at), f.synced.data() + at);
    f.live = f.synced;
    ++it;
  }
}

Result<std::unique_ptr<WritableMap>> FaultEnv::map_writable(const std::string& path, size_t size) {
  auto& slot = files_[path];
  if (!slot) slot = std::make_shared<FaultFile>();
  if (slot->locked)
    return resource_error({"'", path, "' is already open for writing"}, "one writer per file",
                          {"file ", path}, "close the other writer, or read its events through it");
  const size_t before = slot->live.size();
  slot->live.resize(size);
  if (Status s = step("map", path, true); !s.ok()) {
    slot->live.resize(before);
    if (before == 0) files_.erase(path);
    return s.take_error();
  }
  slot->synced.resize(size);
  slot->durable_name = true;
  return std::unique_ptr<WritableMap>(std::make_unique<FaultMap>(*this, path, slot));
}

Result<std::string> FaultEnv::read_prefix(const std::string& path, size_t size) {
  WALLE_TRY(step("read", path, false));
  const auto it = files_.find(path);
  if (it == files_.end())
    return resource_error({"cannot open '", path, "': No such file or directory"}, "the operation to succeed",
                          {"file ", path}, "check the path");
  return it->second->live.substr(0, size);
}

Status FaultEnv::replace_file(const std::string& path, uint64_t size, FileAccess,
                              const std::function<Status(FileWriter&)>& fill) {
  auto next = std::make_shared<FaultFile>();
  next->live.resize(size);
  FaultWriter writer(next->live);
  WALLE_TRY(fill(writer));
  next->synced = next->live;
  // A replacement is synced before it is renamed, and its directory after.
  next->durable_name = true;
  const auto old = files_.count(path) ? files_[path] : nullptr;
  if (hook_) hook_();  // and in step() once more, when the new file is there
  files_[path] = next;
  if (Status s = step("replace", path, true); !s.ok()) {
    if (old)
      files_[path] = old;
    else
      files_.erase(path);
    return s;
  }
  return {};
}

Status FaultEnv::remove_file(const std::string& path) {
  WALLE_TRY(step("remove", path, true));
  files_.erase(path);
  return {};
}

Status FaultEnv::make_dirs(const std::string& path) { return step("create the directory", path, true); }

Result<std::vector<std::string>> FaultEnv::list_files(const std::string& dir) {
  WALLE_TRY(step("list", dir, false));
  std::vector<std::string> out;
  for (const auto& [path, file] : files_)
    if (path.size() > dir.size() + 1 && path.compare(0, dir.size(), dir) == 0 &&
        // Of this directory alone, not of those below.
        path.find('/', dir.size() + 1) == std::string::npos)
      out.push_back(path.substr(dir.size() + 1));
  return out;
}

int64_t FaultEnv::file_size(const std::string& path) {
  const auto it = files_.find(path);
  return it == files_.end() ? -1 : static_cast<int64_t>(it->second->live.size());
}

}  // namespace walle::base
