// Host memory in which float32 images of rank 4 are kept as bfloat16, blocked by 16 channels: half the bytes
// of BlockedMemory, and 8 bits of each number. All others lie as on the host. What comes in is rounded half
// to even, so that only sessions use it that ask for such values. Handles are host addresses.
//
// Stateless: every function may be called from any thread.
#pragma once

#include "backends/cpu/blocked/blocked_memory.h"
#include "kernels/blocked_bf16/blocked_bf16.h"

namespace walle::backends::cpu {

class Bf16Memory final : public AddressedMemory {
 public:
  std::string_view name() const override { return "blocked_bf16"; }
  DType kept_as(DType dtype, const Shape& shape) const override;
  bool exact() const override { return false; }
  int64_t bytes_of(DType dtype, const Shape& shape) const override;
  bool row_major(DType dtype, const Shape& shape) const override;
  Status bring_in(Handle to, const void* from, DType dtype, const Shape& shape, int threads) override;
  Status bring_out(void* to, Handle from, DType dtype, const Shape& shape, int threads) override;
  std::optional<Features> conversion(DType dtype, const Shape& shape, int threads) const override;
};

Bf16Memory& bf16_memory();

// Null where the processor rounds to no bfloat16.
const kernels::Variant<kernels::BlockedBf16Table>* bf16_form_here();

}  // namespace walle::backends::cpu
