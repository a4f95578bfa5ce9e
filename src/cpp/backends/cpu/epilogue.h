// The fused tail of a Conv or MatMul node: attributes "activation", "activation_alpha", "activation_beta" to
// the kernels' terms. ops/passes/fuse_epilogue.h writes them.
#pragma once

#include "backends/cpu/cpu_op.h"
#include "kernels/activation.h"

namespace walle::backends::cpu {

// Activation and its numbers; the pointers stay empty. Unknown names are an internal error: only our own pass
// writes them.
Result<kernels::Epilogue> epilogue_of(const ir::Attributes& attributes);

}  // namespace walle::backends::cpu
