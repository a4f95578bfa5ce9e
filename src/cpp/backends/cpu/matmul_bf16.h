// MatMul of float32 by operands that are rounded to bfloat16 (kernels/gemm_bf16): candidates for sessions
// that ask for it, on processors that multiply so.
#pragma once

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

// Its candidate if there is one, with `choice` to know it by.
void add_bf16_products(const NodeView& node, int threads, int choice, std::vector<Candidate>& out);
Result<std::unique_ptr<Kernel>> prepare_bf16_product(const NodeView& node, PrepareContext& context);

}  // namespace walle::backends::cpu
