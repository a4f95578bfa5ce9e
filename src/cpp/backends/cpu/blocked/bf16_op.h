// What operators over images of bfloat16 share. Their operands are float32 values of rank 4, kept as bfloat16
// (bf16_memory.h), or lie there as on the host.
#pragma once

#include "backends/cpu/blocked/bf16_memory.h"
#include "backends/cpu/blocked/blocked_op.h"

namespace walle::backends::cpu {

extern const CpuOp kBf16Conv;
extern const CpuOp kBf16Binary;
extern const CpuOp kBf16Unary;
extern const CpuOp kBf16MaxPool;
extern const CpuOp kBf16AveragePool;
extern const CpuOp kBf16Reduce;
extern const CpuOp kBf16Raster;
extern const CpuOp kRowsToBf16Conv;      // reads on the host
extern const CpuOp kBf16ToBlocksConv;    // writes float32 in blocks
extern const CpuOp kBf16ToBlocksReduce;  // as well

template <class Fn>
std::unique_ptr<Kernel> make_bf16_kernel(Fn fn, uint32_t unread = 0) {
  return make_kernel_in(bf16_memory(), unread, std::move(fn));
}

}  // namespace walle::backends::cpu
