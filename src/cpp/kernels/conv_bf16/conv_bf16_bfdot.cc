// The convolution in bfloat16 by the processor's own products.
#include "kernels/simd/bfloat.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_bf16/conv_bf16_tile.h"
#if defined(WALLE_ISA_AVX512)
#include "kernels/simd/bfloat_tiles.h"
// Behind the tiles that it multiplies by.
#include "kernels/conv_bf16/conv_bf16_amx.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvBf16Table kConvBf16;
const ConvBf16Table kConvBf16 = {.lanes = kLanes,
                                 .rows = kMr,
                                 .dense = dense,
                                 .to_words = to_words,
                                 .rows_to_words = rows_to_words,
                                 .winograd_input = winograd_input};
#if defined(WALLE_ISA_AVX512)
extern const ConvBf16Table kConvBf16Amx;
const ConvBf16Table kConvBf16Amx = kAmxTable;
#endif

}  // namespace walle::kernels::WALLE_ISA_NS
