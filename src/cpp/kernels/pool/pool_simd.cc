// Pooling along rows of the planes.
#include "kernels/pool/pool_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// The taps are not unrolled by their number as depthwise convolution's are: SqueezeNet's max pools take 0.43
// ms where the best peer takes 0.12 (Zen 4), of 8 ms in all.
template <bool Mean>
inline vf pooled(const PoolTask& t, const float* from) {
  // From the first tap, not from a neutral element: one operation less per window, and a window has at least
  // one tap.
  vf acc = load(from + t.tap[0]);
  for (int64_t i = 1; i < t.taps; ++i) {
    const vf x = load(from + t.tap[i]);
    acc = Mean ? acc + x : max_keep_nan(acc, x);
  }
  return acc;
}

template <bool Mean>
void run_rows(const PoolTask& t) {
  for (int64_t r = 0; r < t.oh; ++r) {
    const float* from = t.planes + r * t.pitch;
    const float* factor = Mean ? t.factor + r * t.ow : nullptr;
    float* to = t.out + r * t.ow;
    int64_t j = 0;
    for (; j + kLanes <= t.ow; j += kLanes) {
      vf x = pooled<Mean>(t, from + j);
      if (Mean) x *= load(factor + j);
      store(to + j, x);
    }
    if (j < t.ow) {
      vf x = pooled<Mean>(t, from + j);
      if (Mean) x *= load_n(factor + j, t.ow - j);
      store_n(to + j, x, t.ow - j);
    }
  }
}

void run(const PoolTask& t) {
  if (t.factor)
    run_rows<true>(t);
  else
    run_rows<false>(t);
}
}  // namespace

extern const PoolTable kPoolF32;
const PoolTable kPoolF32 = {.run = run};

}  // namespace walle::kernels::WALLE_ISA_NS
