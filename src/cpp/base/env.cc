#include "base/env.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace walle::base {

namespace {

Error io_error(Text verb, Text path, int code) {
  // One next step for what users meet; the rest is the system's text.
  const char* next = code == ENOSPC   ? "free space on the disk or lower the quota"
                     : code == EROFS  ? "choose a directory on a writable file system"
                     : code == EACCES ? "check the permissions of the directory"
                                      : "check the path and the state of the disk";
  return resource_error({"cannot ", verb, " '", path, "': ", std::strerror(code)}, "the operation to succeed",
                        {"file ", path}, next);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class SystemMap final : public WritableMap {
 public:
  SystemMap(std::string path, int fd, std::byte* data, size_t size)
      : path_(std::move(path)), fd_(fd), data_(data), size_(size) {}
  ~SystemMap() override { ::munmap(data_, size_); }

  std::span<std::byte> bytes() override { return {data_, size_}; }

  Status sync(size_t offset, size_t size) override {
    const size_t page = ::sysconf(_SC_PAGESIZE);
    // msync wants whole pages.
    const size_t begin = offset / page * page;
    const size_t end = std::min(size_, (offset + size + page - 1) / page * page);
    if (begin < end && ::msync(data_ + begin, end - begin, MS_SYNC) != 0)
      return io_error("sync", path_, errno);
    return {};
  }

  void prefault([[maybe_unused]] size_t offset, [[maybe_unused]] size_t size) override {
#ifdef MADV_POPULATE_WRITE
    const size_t page = ::sysconf(_SC_PAGESIZE);
    const size_t begin = offset / page * page;
    const size_t end = std::min(size_, (offset + size + page - 1) / page * page);
    if (begin < end) ::madvise(data_ + begin, end - begin, MADV_POPULATE_WRITE);  // only a hint
#endif
  }

 private:
  std::string path_;
  Fd fd_;  // keeps the lock
  std::byte* data_;
  size_t size_;
};

Status sync_directory(const std::string& path) {
  const auto dir = std::filesystem::path(path).parent_path().string();
  Fd fd(::open(dir.empty() ? "." : dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return io_error("sync the directory of", path, errno);
  return {};
}

class SystemWriter final : public FileWriter {
 public:
  SystemWriter(int fd, const std::string& path, uint64_t size) : fd_(fd), path_(path), size_(size) {}

  Status write(uint64_t offset, std::span<const std::byte> bytes) override {
    if (offset > size_ || bytes.size() > size_ - offset)
      return internal_error("a write behind the end of a new file", {"file ", path_});
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      // A signal to the host program is no error of the disk.
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io_error("write", path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return {};
  }

 private:
  int fd_;
  const std::string& path_;
  uint64_t size_;
};

// A new file beside the one that it will replace, gone again unless renamed.
class Draft {
 public:
  // Models get a name of their own each: two processes that save one at a time must not write into one file.
  // What belongs to one owner has one writer, and one name leaves at most one file behind after a crash.
  Draft(const std::string& target, FileAccess access) : path_(target + ".new") {
    static std::atomic<uint64_t> count{0};
    if (access == FileAccess::umask)
      path_ = target + "." + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".new";
  }
  ~Draft() {
    if (made_) ::unlink(path_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Status fill(mode_t mode, const struct stat* old, uint64_t size,
              const std::function<Status(FileWriter&)>& write) {
    ::unlink(path_.c_str());  // left by a process that died
    Fd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (fd.get() < 0) return io_error("create", path_, errno);
    made_ = true;
    if (old && ::fchmod(fd.get(), old->st_mode & kModeBits) != 0)
      return io_error("set the mode of", path_, errno);
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return io_error("write", path_, errno);
    SystemWriter writer(fd.get(), path_, size);
    WALLE_TRY(write(writer));
    if (::fsync(fd.get()) != 0) return io_error("sync", path_, errno);
    return {};
  }

  Status rename_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return io_error("replace", target, errno);
    made_ = false;
    return {};
  }

 private:
  static constexpr mode_t kModeBits = 0777;  // none that runs the file as somebody else
  std::string path_;
  bool made_ = false;
};

// What a chain of symbolic links leads to, whether it exists or not.
std::string behind_links(std::string path) {
  constexpr int kMaxLinks = 40;  // as the kernel; a circle ends here and fails when it is opened
  std::error_code code;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, code); ++i)
    path = (std::filesystem::path(path).parent_path() / std::filesystem::read_symlink(path, code)).string();
  return path;
}

class SystemEnv final : public Env {
 public:
  Result<std::unique_ptr<WritableMap>> map_writable(const std::string& path, size_t size) override {
    const bool existed = file_size(path) >= 0;
    // 0600: what a device has recorded of its user is the user's.
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (fd.get() < 0) return io_error("open", path, errno);
    // flock and not a lock file: the kernel lets go of it when the process dies, however it dies. Not waited
    // for: the other writer may hold it for days.
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return resource_error({"'", path, "' is already open for writing"}, "one writer per file",
                            {"file ", path}, "close the other writer, or read its events through it");
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return io_error("stat", path, errno);
    if (static_cast<size_t>(info.st_size) != size && ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
      return io_error("resize", path, errno);
    // ftruncate alone leaves a hole, and a full disk would then be a SIGBUS at some later store.
    if (const int code = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); code != 0)
      return io_error("allocate", path, code);
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return io_error("map", path, errno);
    auto map = std::make_unique<SystemMap>(path, fd.release(), static_cast<std::byte*>(data), size);
    // The name of a new file is durable only with its directory.
    if (!existed) WALLE_TRY(sync_directory(path));
    return std::unique_ptr<WritableMap>(std::move(map));
  }

  Result<std::string> read_file(const std::string& path) override { return read_prefix(path, SIZE_MAX); }

  Result<std::string> read_prefix(const std::string& path, size_t size) override {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return io_error("open", path, errno);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return io_error("stat", path, errno);
    // A pipe or a device has no size, and reading one could wait for ever.
    if (!S_ISREG(info.st_mode)) return io_error("read", path, S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
    std::string out(std::min(static_cast<size_t>(info.st_size), size), '\0');
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::read(fd.get(), out.data() + done, out.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io_error("read", path, errno);
      // The file has shrunk since it was asked for its size.
      if (n == 0) break;
      done += n;
    }
    out.resize(done);
    return out;
  }

  Status replace_file(const std::string& path, uint64_t size, FileAccess access,
                      const std::function<Status(FileWriter&)>& fill) override {
    const bool open_to_all = access == FileAccess::umask;
    const std::string target = open_to_all ? behind_links(path) : path;
    struct stat old{};
    const bool keep_mode = open_to_all && ::stat(target.c_str(), &old) == 0 && S_ISREG(old.st_mode);
    Draft draft(target, access);
    WALLE_TRY(draft.fill(open_to_all && !keep_mode ? 0666 : 0600, keep_mode ? &old : nullptr, size, fill));
    WALLE_TRY(draft.rename_to(target));
    return sync_directory(target);
  }

  Status remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error("remove", path, errno);
    return {};
  }

  Status make_dirs(const std::string& path) override {
    std::error_code code;
    // With an error code: the form without one throws.
    std::filesystem::create_directories(path, code);
    if (code) return io_error("create the directory", path, code.value());
    return {};
  }

  Result<std::vector<std::string>> list_files(const std::string& dir) override {
    std::error_code code;
    std::vector<std::string> out;
    for (auto it = std::filesystem::directory_iterator(dir, code);
         !code && it != std::filesystem::directory_iterator(); it.increment(code))
      if (it->is_regular_file(code)) out.push_back(it->path().filename().string());
    if (code) return io_error("list", dir, code.value());
    // Directories list in any order; whoever adopts segments relies on theirs.
    std::sort(out.begin(), out.end());
    return out;
  }

  int64_t file_size(const std::string& path) override {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? static_cast<int64_t>(info.st_size)
                                                                     : -1;
  }

  int64_t wall_us() override { return since<std::chrono::system_clock>(); }
  int64_t steady_us() override { return since<std::chrono::steady_clock>(); }

 private:
  template <class Clock>
  static int64_t since() {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
  }
};

}  // namespace

Status Env::replace_file(const std::string& path, std::string_view bytes) {
  return replace_file(path, bytes.size(), FileAccess::owner,
                      [&](FileWriter& out) { return out.write(0, std::as_bytes(std::span(bytes))); });
}

Env& Env::system() {
  static SystemEnv env;
  return env;
}

}  // namespace walle::base
