// The product of 8-bit matrices by tiles of 16 rows, in no instruction set.
#define WALLE_ISA_NS emulated_amx
#define WALLE_ISA_SCALAR 1
#include "kernels/int8_words_emulated.h"

// Behind the words.
#include "kernels/int8_tiles_emulated.h"
// Behind the tiles that it multiplies by.
#include "kernels/gemm_int8/int8_amx.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = kAmxTable;

}  // namespace walle::kernels::WALLE_ISA_NS
