// Kernels over bfloat16 images where the processor rounds to them.
#include "kernels/simd/bfloat.h"

// Behind the words that round.
#include "kernels/blocked_bf16/blocked_bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const BlockedBf16Table kBlockedBf16;
const BlockedBf16Table kBlockedBf16 = {.lanes = kLanes,
                                       .widen = widen,
                                       .narrow = narrow,
                                       .depthwise = depthwise_bf16,
                                       .pool = pool<BlockedPoolOf<uint16_t>>,
                                       .mean = mean<uint16_t>};

}  // namespace walle::kernels::WALLE_ISA_NS
