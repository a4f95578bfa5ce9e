// The exact 8-bit product by quads of bytes.
#include "kernels/simd/quads.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_int8/int8_quads.h"
#if defined(WALLE_ISA_AVX512)
#include "kernels/simd/byte_tiles.h"
// Behind the tiles that it multiplies by.
#include "kernels/gemm_int8/int8_amx.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = {
    .mr = kMr, .nr = kNr, .step = 4, .sums = 2, .block = block, .pack_a = pack_a, .pack_b = pack_b};
#if defined(WALLE_ISA_AVX512)
extern const Int8Table kGemmInt8Amx;
const Int8Table kGemmInt8Amx = kAmxTable;
#endif

}  // namespace walle::kernels::WALLE_ISA_NS
