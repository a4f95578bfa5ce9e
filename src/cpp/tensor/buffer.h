// Reference-counted bytes: owned, borrowed from the caller (numpy, DLPack), or a window of a mapped file.
//
// The handle is copied freely between threads; the bytes are
// not synchronised. Whoever holds the only handle may write.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/status.h"

namespace walle::tensor {

class Buffer {
 public:
  Buffer() = default;

  // 64-byte aligned, uninitialised. A resource error when memory is short.
  static Result<Buffer> allocate(size_t bytes);
  // Memory that somebody else owns; `release` runs when the last handle goes (from any thread).
  static Buffer wrap(void* data, size_t bytes, std::function<void()> release, bool writable);
  // A window that keeps `owner` alive.
  static Buffer window(std::shared_ptr<const void> owner, const void* data, size_t bytes);

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool writable() const { return writable_; }
  // Whether an input's bytes may be written over in place (the last reader's result).
  bool unique() const { return owner_.use_count() == 1; }
  explicit operator bool() const { return owner_ != nullptr; }

 private:
  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool writable_ = false;
};

}  // namespace walle::tensor

namespace walle {
using tensor::Buffer;
}
