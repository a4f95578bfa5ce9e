// The product of matrices in bfloat16 in no instruction set.
#pragma once

#define WALLE_ISA_NS emulated
#define WALLE_ISA_SCALAR 1
#include "kernels/bfloat_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

inline const Bf16Table kGemmBf16 = {.mr = kMr, .nr = kNr, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
