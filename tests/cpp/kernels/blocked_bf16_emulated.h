// Kernels over images of bfloat16 in no instruction set; behind conv_bf16_emulated.h or by itself.
#pragma once

#if !defined(WALLE_ISA_NS)
#define WALLE_ISA_NS emulated
#define WALLE_ISA_SCALAR 1
#endif
#include "kernels/bfloat_emulated.h"

// Behind the words that round.
#include "kernels/blocked_bf16/blocked_bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

inline const BlockedBf16Table kBlockedBf16 = {.lanes = kLanes,
                                              .widen = widen,
                                              .narrow = narrow,
                                              .depthwise = depthwise_bf16,
                                              .pool = pool<BlockedPoolOf<uint16_t>>,
                                              .mean = mean<uint16_t>};

}  // namespace walle::kernels::WALLE_ISA_NS
