#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/memory.h"

namespace walle::base {

namespace {
Error open_error(Text path, int code) {
  return resource_error({"cannot read file '", path, "': ", std::strerror(code)}, "a readable regular file",
                        "open", "check the path and its permissions");
}

#ifdef __APPLE__
const timespec& modified(const struct stat& info) { return info.st_mtimespec; }
#else
const timespec& modified(const struct stat& info) { return info.st_mtim; }
#endif

Error changed_error(Text path, Text how) {
  return resource_error(
      {"file '", path, "' ", how, " while it was in use as a model"},
      "a file that stays as it was when it was loaded", {"file '", path, "'"},
      "load the model again; write a new file and rename it over the old one, as save() does");
}
}  // namespace

Result<MappedFile::Stamp> MappedFile::stamp_of(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return open_error(path, errno);
  if (!S_ISREG(info.st_mode)) return open_error(path, S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
  return Stamp{info.st_size, static_cast<int64_t>(modified(info).tv_sec),
               static_cast<int64_t>(modified(info).tv_nsec)};
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer is refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return open_error(path, errno);
  std::shared_ptr<MappedFile> file(new MappedFile(path));
  auto stamp = stamp_of(fd, path);
  Status status = stamp.status();
  if (status.ok()) {
    file->stamp_ = *stamp;
    file->size_ = static_cast<size_t>(stamp->size);
    status = file->size_ <= kReadWholeBytes ? file->read_whole(fd) : file->map(fd);
  }
  if (!file->mapped()) ::close(fd);
  if (!status.ok()) return status.take_error();
  return file;
}

Status MappedFile::read_whole(int fd) {
  if (size_ == 0) return {};
  auto* to = static_cast<std::byte*>(aligned_allocate(size_));
  if (!to) return open_error(path_, ENOMEM);
  data_ = to;
  for (size_t done = 0; done < size_;) {
    const ssize_t n = ::pread(fd, to + done, size_ - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return open_error(path_, errno);
    if (n == 0) return changed_error(path_, "was cut short");
    done += static_cast<size_t>(n);
  }
  return {};
}

Status MappedFile::map(int fd) {
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return open_error(path_, errno);
  data_ = static_cast<const std::byte*>(data);
  fd_ = fd;
  return {};
}

void MappedFile::drop(const std::byte* from, size_t size) const {
  if (!mapped()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(from);
  const uintptr_t begin = (at + page - 1) / page * page;
  const uintptr_t end = (at + size) / page * page;
  if (begin >= end) return;
  void* const whole = reinterpret_cast<void*>(begin);
#ifdef MADV_NOHUGEPAGE
  // Otherwise the next byte that is read beside them would map 2 MiB of the file at once, where the page
  // cache holds it in large folios: 20 of a decoder's 38 MB came back so.
  ::madvise(whole, end - begin, MADV_NOHUGEPAGE);
#endif
  // On a mapping that nobody writes to, this takes nothing but the pages. Both are only hints.
  ::madvise(whole, end - begin, MADV_DONTNEED);
}

Status MappedFile::unchanged() const {
  if (!mapped()) return {};
  WALLE_ASSIGN(const Stamp now, stamp_of(fd_, path_));
  if (now == stamp_) return {};
  if (now.size < stamp_.size)
    return changed_error(path_, {"was cut from ", stamp_.size, " to ", now.size, " bytes"});
  return changed_error(path_, "was written to");
}

MappedFile::~MappedFile() {
  if (!mapped()) {
    aligned_free(const_cast<std::byte*>(data_));
    return;
  }
  ::munmap(const_cast<std::byte*>(data_), size_);
  ::close(fd_);
}

}  // namespace walle::base
