// MaxPool. The form kernels take: X [N, C, H, W], one output, kernel_shape, strides,
// dilations (2 each) and pads (4) explicit; the output's shape is authoritative
// (ceil_mode may leave windows that reach past the padding; what lies outside the input
// counts as minus infinity). With the Indices output it becomes MaxPoolWithIndices.
#include "ops/rules/pool.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(infer_pool(c));
  if (c.output_count() > 1) c.output(1, DType::int64, c.outputs()[0].shape);
  return {};
}

Status lower(LowerContext& c) {
  // An output that a file lists but nobody reads has no dtype: most exporters list only one, some both.
  if (c.output_count() < 2 || c.out_dtype(1) == DType::undefined) return lower_pool(c, "MaxPool");
  WALLE_ASSIGN(const Window w, pool_window(c.attrs(), c.shape(c.in(0))));
  ir::Attributes a = c.attrs();
  w.write(a);
  const std::vector<Ref> both = c.emit_many("MaxPoolWithIndices", {c.in(0)}, a, 2);
  c.result(0, both[0]);
  c.result(1, both[1]);
  return {};
}
}  // namespace

extern const ir::OpDef kMaxPoolOp{.name = "MaxPool",
                                  .outputs = {1, 2},
                                  .infer = infer,
                                  .lower = lower,
                                  .cost = cost_pool,
                                  .numeric = ir::NumericClass::exact};

// Any number of spatial axes. Indices count elements of the whole input tensor; storage_order 1 counts the
// spatial axes column by column.
extern const ir::OpDef kMaxPoolWithIndicesOp{.name = "MaxPoolWithIndices",
                                             .outputs = {2, 2},
                                             .infer = infer,
                                             .cost = cost_pool,
                                             .numeric = ir::NumericClass::exact};

}  // namespace walle::ops
