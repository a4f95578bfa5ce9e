// The one block of activation memory of a session, grown to the largest plan that ran. Not thread-safe: a
// session runs one request at a time.
#pragma once

#include "tensor/buffer.h"

namespace walle::runtime {

class Arena {
 public:
  // At least `bytes`; what was there before is lost when it grows.
  Result<std::byte*> reserve(int64_t bytes) {
    if (static_cast<size_t>(bytes) > buffer_.size() || !buffer_) {
      buffer_ = Buffer();
      WALLE_ASSIGN(buffer_, Buffer::allocate(static_cast<size_t>(bytes)));
    }
    return buffer_.data();
  }
  int64_t bytes() const { return static_cast<int64_t>(buffer_.size()); }

 private:
  Buffer buffer_;
};

}  // namespace walle::runtime
