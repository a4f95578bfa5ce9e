// Host memory in which float32 and 8-bit values of rank 4 lie blocked by channels
// (kernels/blocked/blocked_table.h);
// all others lie row-major, as on the host. Handles are host addresses.
//
// Stateless: every function may be called from any thread.
#pragma once

#include "backends/host_memory.h"
#include "kernels/blocked/blocked.h"

namespace walle::backends::cpu {

class BlockedMemory final : public AddressedMemory {
 public:
  std::string_view name() const override { return "blocked"; }
  int64_t bytes_of(DType dtype, const Shape& shape) const override;
  bool row_major(DType dtype, const Shape& shape) const override;
  Status bring_in(Handle to, const void* from, DType dtype, const Shape& shape, int threads) override;
  Status bring_out(void* to, Handle from, DType dtype, const Shape& shape, int threads) override;
  std::optional<Features> conversion(DType dtype, const Shape& shape, int threads) const override;
};

BlockedMemory& blocked_memory();

// What images of [n, c, h, w] are to the kernels.
inline kernels::BlockedShape blocked_shape(const Shape& s) {
  return {.n = s[0], .c = s[1], .pixels = s[2] * s[3]};
}

}  // namespace walle::backends::cpu
