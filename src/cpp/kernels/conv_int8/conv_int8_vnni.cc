// The convolution of codes by quads of bytes.
#include "kernels/simd/quads.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_int8/conv_int8_quads.h"
#if defined(WALLE_ISA_AVX512)
#include "kernels/simd/byte_tiles.h"
// Behind the tiles that it multiplies by.
#include "kernels/conv_int8/conv_int8_amx.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvInt8Table kConvInt8;
const ConvInt8Table kConvInt8 = {.lanes = kLanes,
                                 .rows = kMr,
                                 .step = 4,
                                 .is_signed = kSignedQuads,
                                 .dense = dense,
                                 .depthwise = depthwise,
                                 .to_words = to_words,
                                 .taps_to_words = taps_to_words,
                                 .image_to_points = nullptr,
                                 .winograd_panel = nullptr,
                                 .rows_to_words = rows_to_words};
#if defined(WALLE_ISA_AVX512)
extern const ConvInt8Table kConvInt8Amx;
const ConvInt8Table kConvInt8Amx = kAmxTable;
#endif

}  // namespace walle::kernels::WALLE_ISA_NS
