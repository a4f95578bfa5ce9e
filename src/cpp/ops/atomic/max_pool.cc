// MaxPool. The form kernels take: X [N, C, H, W], one output, kernel_shape, strides,
// dilations (2 each) and pads (4) explicit; the output's shape is authoritative
// (ceil_mode may leave windows that reach past the padding; what lies outside the input
// counts as minus infinity). With the Indices output it becomes MaxPoolWithIndices.
#include "ops/gradient.h"
#include "ops/rules/gather.h"
#include "ops/rules/pool.h"
#include "ops/rules/views.h"

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

// `g` added to zeros of x's shape at `places`, which count its elements.
Ref scattered(GradientContext& c, Ref places, Ref g) {
  raster::LoopSpec loop;
  loop.rank = 1;
  loop.size[0] = c.shape(g).elements();
  loop.src_step[0] = 1;
  loop.body = raster::contiguous_region(0, 1);
  loop.index = {{1, c.out_shape(0).elements()}};
  loop.combine = raster::Combine::add;  // windows overlap
  return scatter_loop(c, std::move(loop), zeros(c, c.out_dtype(0), c.out_shape(0)), places, g);
}

// The places are looked for again: a plan that only infers has no use for them.
Status gradient(GradientContext& c) {
  ir::Attributes a = c.attrs();
  a.set("storage_order", int64_t{0});  // where an element lies, not what it is called
  const Ref places = c.emit_many("MaxPoolWithIndices", {c.in(0)}, std::move(a), 2)[1];
  c.result(0, scattered(c, places, c.dy(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kMaxPoolOp{.name = "MaxPool",
                                  .outputs = {1, 2},
                                  .infer = infer,
                                  .lower = lower,
                                  .cost = cost_pool,
                                  .numeric = ir::NumericClass::exact,
                                  .gradient = gradient};

// Any number of spatial axes. Indices count elements of the whole input tensor; storage_order 1 counts the
// spatial axes column by column.
extern const ir::OpDef kMaxPoolWithIndicesOp{.name = "MaxPoolWithIndices",
                                             .outputs = {2, 2},
                                             .infer = infer,
                                             .cost = cost_pool,
                                             .numeric = ir::NumericClass::exact,
                                             .gradient = gradient};

}  // namespace walle::ops
