// Memory: where the operands of a backend's kernels lie, and the only ways in and out.
//
// A Handle names a place in one memory. It is no pointer: what its number means only its own memory knows,
// and a pointer comes out of it only where the memory is the host's (host_memory.h), so that a kernel cannot
// read another backend's memory by mistake. The plan has one arena per memory and a copy step for every value
// that is needed where it was not made. Copies go through the host, because that is the one way every device
// has, unless one memory reaches the other.
//
// A memory also says how a value's elements lie in it. The host's lie row-major; another memory may lay them
// out as its kernels want them (a layout is a memory), and what crosses is then converted on the way.
//
// Thread rules: a Memory is shared by all sessions of the process and may be called from any thread. What one
// thread gives it (copies, and the kernels of its backend) takes effect in that order; what lies in a block
// is guarded by whoever allocated it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/features.h"
#include "base/status.h"
#include "tensor/tensor.h"

namespace walle::backends {

class Memory;

// A place in a memory; a default one stands for an operand that was left out.
class Handle {
 public:
  Handle() = default;

  const Memory* memory() const { return memory_; }
  explicit operator bool() const { return memory_ != nullptr; }
  // `bytes` further on in the same block.
  Handle operator+(int64_t bytes) const { return Handle(memory_, at_ + static_cast<uint64_t>(bytes)); }
  bool operator==(const Handle&) const = default;

 private:
  friend class Memory;
  friend class HostArgs;
  Handle(const Memory* memory, uint64_t at) : memory_(memory), at_(at) {}

  const Memory* memory_ = nullptr;
  uint64_t at_ = 0;
};

class Memory {
 public:
  virtual std::string_view name() const = 0;

  // At least `bytes` (one, if none are asked for), aligned to base::kSegmentAlignment, with any content; a
  // resource error when memory is short.
  virtual Result<Handle> allocate(int64_t bytes) = 0;
  virtual void free(Handle block) = 0;

  // From the host: `from` may be changed as soon as the call returns.
  virtual Status copy_in(Handle to, const void* from, int64_t bytes) = 0;
  // To the host, after all work given before: the bytes are there when the call returns.
  virtual Status copy_out(void* to, Handle from, int64_t bytes) = 0;
  virtual Status copy_within(Handle to, Handle from, int64_t bytes) = 0;
  // Waits for everything given so far and says what went wrong in it.
  virtual Status flush() = 0;
  // What these bytes hold is not needed any more.
  virtual void discard(Handle block, int64_t bytes) = 0;

  // The room that a value takes here.
  virtual int64_t bytes_of(DType dtype, const Shape& shape) const {
    return shape.elements() * dtype_size(dtype);
  }
  // The dtype that it is kept in here. Another than its own is a rounding, never a matter of speed alone: a
  // session has to ask for such a memory.
  virtual DType kept_as(DType dtype, const Shape&) const { return dtype; }
  // Whether it is the same once it was here.
  virtual bool exact() const { return true; }
  // Whether its elements lie here as they lie on the host: only then may one value be a view of another.
  virtual bool row_major(DType, const Shape&) const { return true; }
  // A whole value from the host's row-major bytes, and back to them; otherwise as copy_in and copy_out.
  virtual Status bring_in(Handle to, const void* from, DType dtype, const Shape& shape, int /*threads*/) {
    return copy_in(to, from, shape.elements() * dtype_size(dtype));
  }
  virtual Status bring_out(void* to, Handle from, DType dtype, const Shape& shape, int /*threads*/) {
    return copy_out(to, from, shape.elements() * dtype_size(dtype));
  }
  // What bringing a value in or out does, where it is more than a copy of its bytes.
  virtual std::optional<Features> conversion(DType, const Shape&, int /*threads*/) const {
    return std::nullopt;
  }
  // Whether whole values come from `other` and go there without the host: by bring_across() of this memory,
  // with one handle of each. Takes effect behind all work given to either before.
  virtual bool reaches(const Memory& /*other*/) const { return false; }
  virtual Status bring_across(Handle /*to*/, Handle /*from*/, DType, const Shape&, int /*threads*/) {
    return internal_error("a copy to a memory that is not reached", {name(), " memory"});
  }
  // The bytes as the host sees them; nullptr where it does not.
  virtual std::byte* visible(Handle) const { return nullptr; }

 protected:
  ~Memory() = default;  // memories belong to their backends and are never deleted through this class
  Handle handle(uint64_t at) const { return Handle(this, at); }
  static uint64_t number(Handle h) { return h.at_; }
};

// Owns a block of a memory; frees it when it goes.
class Block {
 public:
  Block() = default;
  static Result<Block> allocate(Memory& memory, int64_t bytes) {
    WALLE_ASSIGN(const Handle handle, memory.allocate(bytes));
    return Block(memory, handle, bytes);
  }
  Block(Block&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), handle_(other.handle_), bytes_(other.bytes_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(handle_, other.handle_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block() {
    if (memory_) memory_->free(handle_);
  }

  explicit operator bool() const { return memory_ != nullptr; }
  Handle handle() const { return handle_; }
  int64_t bytes() const { return bytes_; }

 private:
  Block(Memory& memory, Handle handle, int64_t bytes) : memory_(&memory), handle_(handle), bytes_(bytes) {}

  Memory* memory_ = nullptr;
  Handle handle_;
  int64_t bytes_ = 0;
};

using SharedBlock = std::shared_ptr<const Block>;

}  // namespace walle::backends
