// The convolution of codes by quads of signed bytes in no instruction set.
#define WALLE_ISA_NS emulated_sdot
#define WALLE_ISA_SCALAR 1
#define WALLE_EMULATED_SDOT 1
#include "kernels/int8_words_emulated.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_int8/conv_int8_quads.h"

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

}  // namespace walle::kernels::WALLE_ISA_NS
