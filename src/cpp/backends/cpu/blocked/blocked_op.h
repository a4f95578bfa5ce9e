// BlockedOp: how the blocked layout of the CPU runs one operator. Every operand that an operator reads is a
// float32 or 8-bit value of rank 4, or lies row-major there as well (BlockedMemory::row_major).
#pragma once

#include "backends/cpu/blocked/blocked_memory.h"
#include "backends/cpu/cpu_op.h"
#include "kernels/blocked/blocked_conv.h"

namespace walle::backends::cpu {

inline bool is_image(DType dtype, const Shape& shape) {
  return dtype == DType::float32 && shape.rank() == 4 && shape.elements() > 0;
}

inline bool is_code_image(DType dtype, const Shape& shape) {
  return (dtype == DType::int8 || dtype == DType::uint8) && shape.rank() == 4 && shape.elements() > 0;
}

extern const CpuOp kBlockedConv;
extern const CpuOp kBlockedBinary;
extern const CpuOp kBlockedUnary;
extern const CpuOp kBlockedMaxPool;
extern const CpuOp kBlockedAveragePool;
extern const CpuOp kBlockedReduce;
extern const CpuOp kBlockedRaster;
extern const CpuOp kBlockedQuantizedConv;
extern const CpuOp kBlockedQLinearAdd;
extern const CpuOp kBlockedQLinearMul;
extern const CpuOp kBlockedCodeLookup;
extern const CpuOp kBlockedCodesMean;
extern const CpuOp kRowsToBlocksConv;  // reads on the host
extern const CpuOp kRowsToBlocksQuantizedConv;

// Weights of a convolution in float32 with its bias, packed once per model.
Result<SharedBlock> blocked_conv_weights(const NodeView& node, const kernels::BlockedConv& conv,
                                         PrepareContext& context);

// Weights and bias, which no convolution of this layout reads from an operand.
inline constexpr uint32_t kConvConstants = 0b110;

// A kernel over operands in blocked memory. `unread`: inputs that it does not look at, one bit each.
template <class Fn>
std::unique_ptr<Kernel> make_blocked_kernel(Fn fn, uint32_t unread = 0) {
  return make_kernel_in(blocked_memory(), unread, std::move(fn));
}

}  // namespace walle::backends::cpu
