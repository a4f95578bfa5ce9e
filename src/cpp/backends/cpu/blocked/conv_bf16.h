// Convolutions in bfloat16 and float16, beside those in float32 that conv.cc offers for the same nodes.
#pragma once

#include "backends/cpu/cpu_op.h"
#include "kernels/conv_bf16/conv_bf16.h"

namespace walle::backends::cpu {

// Where a convolution reads and writes.
struct Bf16Images {
  kernels::ConvBf16Image from = kernels::ConvBf16Image::blocks;
  bool kept = false;  // the result and its residual are bfloat16

  const Memory& source() const;
  const Memory& memory() const;
};

// None where the processor has no such products.
void bf16_candidates(const NodeView& node, const Bf16Images& images, int threads,
                     std::vector<Candidate>& out);
// Of images of float32 alone.
void fp16_candidates(const NodeView& node, const Bf16Images& images, int threads,
                     std::vector<Candidate>& out);
// `unit`: of Winograd's filtering, from blocks alone; or 0.
Result<std::unique_ptr<Kernel>> short_conv_kernel(const NodeView& node, Arithmetic arithmetic,
                                                  const Bf16Images& images, int unit,
                                                  PrepareContext& context);

}  // namespace walle::backends::cpu
