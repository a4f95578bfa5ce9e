// The convolution of codes by eights of bytes; depthwise by quads of the same extension.
#include "kernels/simd/eights.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_int8/conv_int8_eights.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvInt8Table kConvInt8;
const ConvInt8Table kConvInt8 = {.lanes = kLanes,
                                 .rows = kMr,
                                 .step = 4,
                                 .words = 2,
                                 .is_signed = kSignedQuads,
                                 .dense = dense_eights,
                                 .depthwise = depthwise,
                                 .to_words = to_words,
                                 .taps_to_words = taps_to_words,
                                 .image_to_points = nullptr,
                                 .winograd_panel = nullptr,
                                 .rows_to_words = rows_to_words};

}  // namespace walle::kernels::WALLE_ISA_NS
