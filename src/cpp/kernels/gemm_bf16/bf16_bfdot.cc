// The product in bfloat16 by the processor's own.
#include "kernels/simd/bfloat.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = {.mr = kMr, .nr = kNr, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
