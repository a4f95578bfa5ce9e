#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace walle::base {

namespace {
Error open_error(const std::string& path, int code) {
  return resource_error("cannot read file '" + path + "': " + std::strerror(code), "a readable regular file",
                        "open", "check the path and its permissions");
}
}  // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(
      path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer is refused, not waited for
  if (fd < 0) return open_error(path, errno);
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const int code = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    ::close(fd);
    return open_error(path, code);
  }
  const size_t size = info.st_size;
  // mmap refuses 0 bytes; an empty file is mapped as nothing and refused by whoever reads it.
  void* data = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  // Before close(), which may change it.
  const int code = errno;
  ::close(fd);
  if (data == MAP_FAILED) return open_error(path, code);
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace walle::base
