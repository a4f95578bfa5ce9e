// A read-only file as memory: weights are used where they lie.
//
// Immutable after open, shared by any number of threads. A file of at most kReadWholeBytes is read, so that
// nothing that happens to it later matters. A larger one is mapped: processes share its pages, drop() gives
// them back, and unchanged() tells a file that was written to in place, whose pages would be other bytes or,
// when it was cut short, a signal. Nothing can be done about a file that is cut while its pages are read: no
// private copy of a page survives that, and a handler for SIGBUS belongs to the process and not to a library
// in it (docs/adr/0012-weights-in-mapped-files.md). So files are replaced by a rename, never written over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace walle::base {

class MappedFile {
 public:
  // Reading takes 0.2 ms for so many bytes, about what loading a small model takes besides.
  static constexpr size_t kReadWholeBytes = size_t{1} << 20;

  static Result<std::shared_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  bool mapped() const { return fd_ >= 0; }

  // The whole pages among these bytes stop counting as this process's memory and are read again from the file
  // when somebody looks at them, also while another thread does. Nothing for a file that was read.
  void drop(const std::byte* from, size_t size) const;

  // A resource error when the file was written to or cut since it was opened. Replacing it by a rename and
  // removing it leave what is mapped as it was.
  Status unchanged() const;

 private:
  struct Stamp {
    int64_t size = 0;
    int64_t modified_s = 0;
    int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  explicit MappedFile(std::string path) : path_(std::move(path)) {}
  static Result<Stamp> stamp_of(int fd, const std::string& path);
  Status read_whole(int fd);
  Status map(int fd);

  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;  // of a mapped file: its name may by now mean another one
  Stamp stamp_;
};

}  // namespace walle::base
