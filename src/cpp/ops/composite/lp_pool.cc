// LpPool: the p-norm of each window, as an average pool of |x|^p whose divisor
// is undone. What lies outside the input adds nothing, so the padding is widened
// until every window lies inside it and the divisor is the same everywhere.
#include "ops/rules/pool.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  if (const int64_t p = c.attrs().get_int("p", 2); p < 1)
    return model_error({"p of ", p}, "1 or more", "attribute p", "correct p");
  return infer_pool(c);
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape in = c.shape(x);
  const DType dtype = c.dtype(x);
  WALLE_ASSIGN(Window w, pool_window(c.attrs(), in));
  for (int i = 0; i < w.rank(); ++i) {
    // To the end of the last window, which ceil_mode may put past the given padding.
    const int64_t reach = (w.out[i] - 1) * w.stride[i] + w.extent(i) - w.pad_begin[i] - in[i + 2];
    w.pad_end[i] = std::max<int64_t>(reach, 0);
  }
  const int64_t p = c.attrs().get_int("p", 2);
  ir::Attributes a = c.attrs();
  a.erase("p");
  a.erase("ceil_mode");
  a.set("count_include_pad", int64_t{1});
  w.write(a);
  const Ref powers =
      // p = 2 is the default and nearly all there is; Pow is a call per element.
      p == 2 ? c.mul(x, x) : c.emit("Pow", {c.emit("Abs", {x}), c.scalar(dtype, static_cast<double>(p))});
  const Ref sums = c.mul(c.emit("AveragePool", {powers}, a), c.scalar(dtype, static_cast<double>(w.taps())));
  c.result(0, p == 2 ? c.emit("Sqrt", {sums})
                     : c.emit("Pow", {sums, c.scalar(dtype, 1.0 / static_cast<double>(p))}));
  return {};
}
}  // namespace

extern const ir::OpDef kLpPoolOp{.name = "LpPool",
                                 .op_class = ir::OpClass::composite,
                                 .infer = infer,
                                 .lower = lower,
                                 .cost = cost_pool,
                                 .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
