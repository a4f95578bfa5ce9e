// MatMul of float32 by operands that are rounded to bfloat16 or float16 (kernels/gemm_bf16): candidates for
// sessions that ask for it, on processors that multiply so.
#pragma once

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

// The candidate of bfloat16 or float16 if there is one, with `choice` to know it by.
void add_short_product(const NodeView& node, Arithmetic arithmetic, int threads, int choice,
                       std::vector<Candidate>& out);
Result<std::unique_ptr<Kernel>> prepare_short_product(const NodeView& node, Arithmetic arithmetic,
                                                      PrepareContext& context);

}  // namespace walle::backends::cpu
