// Kernels of channel-blocked storage.
#include "kernels/blocked/blocked_dense_simd.h"
#include "kernels/blocked/blocked_depthwise_simd.h"
#include "kernels/blocked/blocked_pool_simd.h"
#include "kernels/blocked/blocked_rows_simd.h"
#include "kernels/blocked/blocked_turn_simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
template <BlockedScale S>
inline vf scaled(vf a, vf b) {
  if constexpr (S == BlockedScale::add) return a + b;
  if constexpr (S == BlockedScale::subtract) return a - b;
  if constexpr (S == BlockedScale::multiply) return a * b;
  if constexpr (S == BlockedScale::prelu) return a < 0.0f ? a * b : a;
}

template <BlockedScale S>
void scale_block(const float* x, const float* lanes, int64_t pixels, float* out) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    const vf b = load(lanes + lane);
    for (int64_t p = 0; p < pixels; ++p) {
      const vf a = load(x + p * kBlock + lane);
      store(out + p * kBlock + lane, scaled<S>(a, b));
    }
  }
}

void scale(BlockedScale kind, const float* x, const float* lanes, int64_t pixels, float* out) {
  if (kind == BlockedScale::add) return scale_block<BlockedScale::add>(x, lanes, pixels, out);
  if (kind == BlockedScale::subtract) return scale_block<BlockedScale::subtract>(x, lanes, pixels, out);
  if (kind == BlockedScale::prelu) return scale_block<BlockedScale::prelu>(x, lanes, pixels, out);
  scale_block<BlockedScale::multiply>(x, lanes, pixels, out);
}
}  // namespace

extern const BlockedTable kBlockedF32;
const BlockedTable kBlockedF32 = {.lanes = kLanes,
                                  .rows = kMr,
                                  .from_rows = from_rows,
                                  .to_rows = to_rows,
                                  .dense = dense,
                                  .rows_to_blocks = rows_to_blocks,
                                  .depthwise = depthwise<BlockedDepthwise>,
                                  .pool = pool<BlockedPool>,
                                  .mean = mean<float>,
                                  .scale = scale};

}  // namespace walle::kernels::WALLE_ISA_NS
