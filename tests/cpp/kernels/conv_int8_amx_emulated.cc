// The convolution of codes by tiles of 16 pixels in no instruction set.
#define WALLE_ISA_NS emulated_amx
#define WALLE_ISA_SCALAR 1
#include "kernels/int8_words_emulated.h"

// Behind the words.
#include "kernels/int8_tiles_emulated.h"
// Behind the tiles that it multiplies by.
#include "kernels/conv_int8/conv_int8_amx.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const ConvInt8Table kConvInt8;
const ConvInt8Table kConvInt8 = kAmxTable;

}  // namespace walle::kernels::WALLE_ISA_NS
