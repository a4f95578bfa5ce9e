#include "base/link_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace walle::base {

namespace {

Error link_error(Text from, Text to, int code) {
  return resource_error({"cannot link '", to, "' to '", from, "': ", std::strerror(code)},
                        "a regular file on the same volume", "link", "copy the file");
}

bool sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return false;
  const bool synced = ::fsync(fd) == 0;
  const int code = errno;
  ::close(fd);
  errno = code;
  return synced;
}

}  // namespace

Status link_file(const std::string& from, const std::string& to) {
  struct stat info{};
  // A symbolic link would become a second name of the link, whose target may change.
  if (::lstat(from.c_str(), &info) != 0) return link_error(from, to, errno);
  if (!S_ISREG(info.st_mode)) return link_error(from, to, EINVAL);
  if (!sync(from, O_NOFOLLOW)) return link_error(from, to, errno);
  const std::string draft = to + ".new";
  ::unlink(draft.c_str());  // left by a process that died
  if (::link(from.c_str(), draft.c_str()) != 0) return link_error(from, to, errno);
  const bool renamed = ::rename(draft.c_str(), to.c_str()) == 0;
  const int code = errno;
  ::unlink(draft.c_str());  // a rename between two names of one file does nothing
  if (!renamed) return link_error(from, to, code);
  const std::string folder = std::filesystem::path(to).parent_path().string();
  if (!sync(folder.empty() ? "." : folder, O_DIRECTORY)) return link_error(from, to, errno);
  return {};
}

}  // namespace walle::base
