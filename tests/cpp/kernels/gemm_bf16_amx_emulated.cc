// The product of matrices in bfloat16 by tiles of 16 rows, in no instruction set.
#define WALLE_ISA_NS emulated_amx
#define WALLE_ISA_SCALAR 1
#include "kernels/bfloat_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/bfloat_tiles_emulated.h"
// Behind the tiles that it multiplies by.
#include "kernels/gemm_bf16/bf16_amx.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = kAmxTable;

}  // namespace walle::kernels::WALLE_ISA_NS
