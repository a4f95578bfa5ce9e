// The product of 8-bit matrices by quads of signed bytes in no instruction set.
#define WALLE_ISA_NS emulated_sdot
#define WALLE_ISA_SCALAR 1
#define WALLE_EMULATED_SDOT 1
#include "kernels/int8_words_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/gemm_int8/int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = {
    .mr = kMr, .nr = kNr, .step = 4, .sums = 2, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
