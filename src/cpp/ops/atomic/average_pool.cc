// AveragePool. The form kernels take: X [N, C, H, W], kernel_shape, strides, dilations
// (2 each) and pads (4) explicit; the output's shape is authoritative. The divisor
// counts the taps inside the input, with count_include_pad those inside the padded
// input (a window that ceil_mode lets reach further never counts what lies beyond).
#include "ops/rules/pool.h"

namespace walle::ops {

namespace {
Status lower(LowerContext& c) { return lower_pool(c, "AveragePool"); }
}  // namespace

extern const ir::OpDef kAveragePoolOp{.name = "AveragePool",
                                      .infer = infer_pool,
                                      .lower = lower,
                                      .cost = cost_pool,
                                      .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
