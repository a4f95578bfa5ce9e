// The product in bfloat16 by the processor's own.
#include "kernels/simd/bfloat.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_bf16/bf16_tile.h"
#if defined(WALLE_ISA_AVX512)
#include "kernels/simd/bfloat_tiles.h"
// Behind the tiles that it multiplies by.
#include "kernels/gemm_bf16/bf16_amx.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {

extern const Bf16Table kGemmBf16;
const Bf16Table kGemmBf16 = {.mr = kMr, .nr = kNr, .block = block, .pack_a = pack_a, .pack_b = pack_b};
#if defined(WALLE_ISA_AVX512)
extern const Bf16Table kGemmBf16Amx;
const Bf16Table kGemmBf16Amx = kAmxTable;
#endif

}  // namespace walle::kernels::WALLE_ISA_NS
