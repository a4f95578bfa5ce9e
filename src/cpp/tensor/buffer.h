// Reference-counted bytes: owned, borrowed from the caller (numpy, DLPack), or a window of a mapped file.
//
// The handle is copied freely between threads; the bytes are
// not synchronised. Whoever holds the only handle may write.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/mapped_file.h"
#include "base/status.h"
#include "tensor/dtype.h"

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
  // All of a file; it stays open while a window of it lives.
  static Buffer of_file(std::shared_ptr<const base::MappedFile> file);
  // Of a window of a file whose elements lie at addresses that they cannot have: data() makes a copy when it
  // is first asked for, which stays with the last handle. Until then address() tells the bytes apart, and a
  // reader of single bytes finds them there: weights that are packed once are never in memory twice (3/4 of
  // those in ONNX files lie so, 255 of BERT's 340 MB).
  static Buffer aligned_late(const Buffer& window);
  // `elements` of float16 or bfloat16 from `offset` on, as float32: data() makes the wide copy when it is
  // first asked for. Kernels that widen while they read, and packers that widen a piece at a time, ask for
  // narrow() instead, so that weights stored in 16 bits need no more memory than that.
  static Buffer widened_late(const Buffer& halves, size_t offset, size_t elements, DType from);
  // Precondition: inside this buffer.
  Buffer part(size_t offset, size_t bytes) const;

  std::byte* data() const { return late_ ? copied() : data_; }
  // Equal for handles of the same bytes, for as long as one lives; not to be read as elements where
  // lies_aligned() is false, and not to be read at all where there is a narrow() form.
  const std::byte* address() const { return data_; }
  bool lies_aligned() const { return !late_; }
  // What widened_late() was given; undefined, and of no bytes, for any other buffer.
  DType widened_from() const;
  Buffer narrow() const;
  size_t narrow_offset() const;
  size_t size() const { return size_; }
  bool writable() const { return writable_; }
  // Of these bytes or parts of them, this one included.
  long handles() const { return owner_.use_count(); }
  // Whether both are handles of the same bytes, or of parts of them.
  bool shares(const Buffer& other) const { return owner_ && owner_ == other.owner_; }
  explicit operator bool() const { return owner_ != nullptr; }

  // The file that the bytes are a window of, if any.
  const base::MappedFile* file() const { return file_; }
  // Somebody made another form of these bytes and few will look at them again: the pages of a file go, and
  // come back when they are read. Bytes of any other origin stay.
  void drop(size_t offset, size_t bytes) const {
    if (file_) file_->drop(data_ + offset, bytes);
  }

 private:
  struct LateCopy;
  std::byte* copied() const;

  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  const base::MappedFile* file_ = nullptr;  // owner_ keeps it
  LateCopy* late_ = nullptr;                // likewise
  bool writable_ = false;
};

}  // namespace walle::tensor

namespace walle {
using tensor::Buffer;
}
