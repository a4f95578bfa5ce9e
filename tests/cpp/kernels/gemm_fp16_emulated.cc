// The product of matrices in float16 in no instruction set.
#define WALLE_ISA_NS emulated_fp16
#define WALLE_ISA_SCALAR 1
#include "kernels/float16_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/float16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = kFloat16Table;

}  // namespace walle::kernels::WALLE_ISA_NS
