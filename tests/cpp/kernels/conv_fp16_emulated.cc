// The convolution in float16 in no instruction set.
#define WALLE_ISA_NS emulated_fp16
#define WALLE_ISA_SCALAR 1
#include "kernels/float16_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_bf16/conv_float16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvBf16Table kConvBf16;
const ConvBf16Table kConvBf16 = kFloat16Table;

}  // namespace walle::kernels::WALLE_ISA_NS
