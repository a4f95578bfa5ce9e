// The file and clock seam: everything durable goes through an Env, so that tests can lose power, fill the
// disk, break an operation or turn the clock (base/fault_env.h).
//
// An Env may be used from any thread. A WritableMap has one
// writer; sync() may run beside it from another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::base {

inline constexpr int64_t kUsPerSecond = 1'000'000;

// A file of fixed size mapped for writing. Stores survive a killed
// process at once and a lost power supply after sync().
class WritableMap {
 public:
  virtual ~WritableMap() = default;
  virtual std::span<std::byte> bytes() = 0;
  virtual Status sync(size_t offset, size_t size) = 0;
  // Makes [offset, offset+size) cheap to write next; a hint.
  virtual void prefault(size_t /*offset*/, size_t /*size*/) {}
};

// A new file of known size while it is filled, in any order; what nobody writes is zero.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual Status write(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

// Who may read a new file.
enum class FileAccess {
  owner,  // what belongs to one user: events, state
  // Models: what the umask lets. A file that is replaced keeps its mode, and a symbolic link stays and has
  // its target replaced, as if the old file had been written over.
  umask,
};

class Env {
 public:
  virtual ~Env() = default;
  static Env& system();

  // Opens or creates `path` with exactly `size` bytes, all of them allocated on the disk
  // (a full disk is an error here and not a signal at some later store). Holds an
  // exclusive lock: a second writer gets a resource error.
  virtual Result<std::unique_ptr<WritableMap>> map_writable(const std::string& path, size_t size) = 0;
  virtual Result<std::string> read_file(const std::string& path) = 0;
  // Its first `size` bytes, or all of a shorter file.
  virtual Result<std::string> read_prefix(const std::string& path, size_t size) = 0;
  // Atomic and durable: after it returns, a crash leaves the new bytes; before, the old file or none.
  virtual Status replace_file(const std::string& path, uint64_t size, FileAccess access,
                              const std::function<Status(FileWriter&)>& fill) = 0;
  Status replace_file(const std::string& path, std::string_view bytes);
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status make_dirs(const std::string& path) = 0;
  // Names of the regular files in `dir`, sorted.
  virtual Result<std::vector<std::string>> list_files(const std::string& dir) = 0;
  // -1 when there is no such file.
  virtual int64_t file_size(const std::string& path) = 0;

  virtual int64_t wall_us() = 0;    // since 1970, may jump
  virtual int64_t steady_us() = 0;  // never goes back while the device is up
};

}  // namespace walle::base

namespace walle {
using base::Env;
}
