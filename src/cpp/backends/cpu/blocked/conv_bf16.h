// Convolutions in bfloat16, beside those in float32 that conv.cc offers for the same nodes.
#pragma once

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

// None where the processor has no such products.
void bf16_candidates(const NodeView& node, bool from_rows, int threads, std::vector<Candidate>& out);
// `unit`: of Winograd's filtering, from blocks alone; or 0.
Result<std::unique_ptr<Kernel>> bf16_conv_kernel(const NodeView& node, bool from_rows, int unit,
                                                 PrepareContext& context);

}  // namespace walle::backends::cpu
