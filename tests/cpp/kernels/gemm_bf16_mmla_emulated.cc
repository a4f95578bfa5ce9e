// The product of matrices in bfloat16 by two rows and two columns at once, in no instruction set.
#define WALLE_ISA_NS emulated_mmla
#define WALLE_ISA_SCALAR 1
#define WALLE_EMULATED_BFMMLA 1
#include "kernels/bfloat_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = {.mr = kMr, .nr = kNr, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
