// A second host memory that behaves like a device's and gives away whoever reads what was not copied into it.
//
// Its handles are numbers that are no addresses on any machine we run on: read as a pointer they fault, and a
// pointer taken for one of them lies in no block. Ranges are never given out twice, so that what was freed
// stays unknown, and lie apart, so that one byte too far is unknown as well. Bytes that nobody wrote hold
// poison: after allocation, after discard(), and before a kernel writes its results (null_backend.cc).
//
// Thread-safe; the bytes of a block are guarded by whoever allocated it.
#pragma once

#include <map>
#include <shared_mutex>

#include "backends/memory.h"
#include "tensor/buffer.h"

namespace walle::backends::null {

class NullMemory final : public Memory {
 public:
  std::string_view name() const override { return "null"; }
  Result<Handle> allocate(int64_t bytes) override;
  void free(Handle block) override;
  Status copy_in(Handle to, const void* from, int64_t bytes) override;
  Status copy_out(void* to, Handle from, int64_t bytes) override;
  Status copy_within(Handle to, Handle from, int64_t bytes) override;
  Status flush() override { return {}; }
  void discard(Handle block, int64_t bytes) override;
  // Another null backend's: so that ways between two memories are tested, too.
  bool reaches(const Memory& other) const override { return &other != this && other.name() == name(); }
  Status bring_across(Handle to, Handle from, DType dtype, const Shape& shape, int threads) override;

  // The host bytes behind [h, h + bytes), for this backend's own kernels alone; an internal error when they
  // are not all inside one living block of this memory.
  Result<std::byte*> open(Handle h, int64_t bytes) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Buffer> blocks_;  // by first number
  uint64_t next_ = 0;
};

// Fills with what shows in every dtype: NaN and the largest numbers for floats, indices beyond every bound
// for integers, neither true nor false for booleans.
void poison(std::byte* bytes, int64_t count);

}  // namespace walle::backends::null
