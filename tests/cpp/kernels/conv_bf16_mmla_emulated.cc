// The convolution in bfloat16 by two pixels and two channels at once, in no instruction set.
#define WALLE_ISA_NS emulated_mmla
#define WALLE_ISA_SCALAR 1
#define WALLE_EMULATED_BFMMLA 1
#include "kernels/bfloat_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_bf16/conv_bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvBf16Table kConvBf16;
const ConvBf16Table kConvBf16 = {.lanes = kLanes,
                                 .rows = kMr,
                                 .dense = dense,
                                 .to_words = to_words,
                                 .rows_to_words = rows_to_words,
                                 .winograd_input = winograd_input};

}  // namespace walle::kernels::WALLE_ISA_NS
