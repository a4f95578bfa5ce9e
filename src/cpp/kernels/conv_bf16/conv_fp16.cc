// The convolution in float16 by the processor's own.
#define WALLE_EIGHT_FLOATS 1
#include "kernels/simd/float16.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_bf16/conv_float16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvBf16Table kConvBf16;
const ConvBf16Table kConvBf16 = kFloat16Table;

}  // namespace walle::kernels::WALLE_ISA_NS
