// The product in float16 by the processor's own.
#define WALLE_EIGHT_FLOATS 1
#include "kernels/simd/float16.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/float16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = kFloat16Table;

}  // namespace walle::kernels::WALLE_ISA_NS
