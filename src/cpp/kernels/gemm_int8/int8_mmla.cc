// The exact 8-bit product by eights of bytes.
#include "kernels/simd/eights.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_int8/int8_eights.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = {.mr = kMr,
                             .nr = kNr,
                             .step = 4,
                             .words = 2,
                             .sums = 2,
                             .block = block_eights,
                             .pack_a = pack_a_eights,
                             .pack_b = pack_b_eights};

}  // namespace walle::kernels::WALLE_ISA_NS
