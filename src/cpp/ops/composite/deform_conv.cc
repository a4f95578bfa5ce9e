// DeformConv: a convolution whose taps move by per-position offsets. DeformColumns gathers the moved taps
// (bilinear, zeros outside, scaled by the mask); a matrix product with the weights does the rest.
#include "base/checked.h"
#include "ops/lower.h"
#include "ops/rules/infer.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
// Inputs X, offset [N, groups * taps * 2, oh, ow], optional
// mask [N, groups * taps, oh, ow]; every attribute explicit.
Status infer_columns(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  if (x.rank() != 4 || !tensor::is_float(c.dtype(0)))
    return model_error({"X", x.text(), " of ", dtype_name(c.dtype(0))}, "a float X [N, C, H, W]",
                       "DeformConv", "use two spatial axes");
  WALLE_ASSIGN(const Window w, resolve_window(c.attrs(), x));
  const int64_t groups = c.attrs().get_int("offset_group", 1);
  const int64_t taps = w.taps();
  if (groups < 1 || groups > x[1] || x[1] % groups != 0)
    return model_error({"offset_group ", groups}, {"a divisor of the channel count ", x[1]},
                       "attribute offset_group", "correct it");
  const auto moved = base::checked_mul(groups, 2 * taps);  // taps: at most 2^31
  if (!moved)
    return model_error({"offset_group ", groups}, "a product with the kernel below 2^63",
                       "attribute offset_group", "correct it");
  const Shape offset{x[0], *moved, w.out[0], w.out[1]};
  // One factor per tap where the offsets have two numbers.
  const Shape mask{x[0], *moved / 2, w.out[0], w.out[1]};
  if (c.shape(1) != offset || (c.has(2) && c.shape(2) != mask))
    return model_error({"offset", c.shape(1).text()}, {offset.text(), " and a mask of ", mask.text()},
                       "DeformConv", "correct offset or mask");
  const int64_t dims[] = {x[0], x[1], taps, w.out[0] * w.out[1]};
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, tensor::kMaxDTypeSize, "DeformConv"));
  c.output(0, c.dtype(0), out);
  return {};
}

Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  const int64_t group = c.attrs().get_int("group", 1);
  if (x.rank() != 4 || w.rank() != 4 || group < 1 || group > x[1] || w[1] != x[1] / group ||
      x[1] % group != 0 || w[0] % group != 0)
    return model_error({"X", x.text(), ", W", w.text(), " and group ", group},
                       "X [N, C, H, W], W [M, C / group, kh, kw], M a multiple of group", "DeformConv",
                       "correct group or the weights");
  if (c.has(3) && (c.rank(3) != 1 || c.shape(3)[0] != w[0]))
    return model_error({"a bias of ", c.shape(3).text()}, {"[", w[0], "]"}, "input B", "correct the bias");
  WALLE_ASSIGN(const Window win, resolve_window(c.attrs(), x, {w[2], w[3]}));
  // kernel_shape is optional; where it stands it must agree, because offsets are counted by it.
  if (win.kernel[0] != w[2] || win.kernel[1] != w[3])
    return model_error({"kernel_shape that differs from W", w.text()}, "W's spatial sizes",
                       "attribute kernel_shape", "drop it");
  const int64_t dims[] = {x[0], w[0], win.out[0], win.out[1]};
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, tensor::kMaxDTypeSize, "DeformConv"));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  const Shape w = c.shape(c.in(1));
  const Shape& out = c.out_shape(0);
  const int64_t group = c.attrs().get_int("group", 1);
  WALLE_ASSIGN(const Window win, resolve_window(c.attrs(), x, {w[2], w[3]}));
  ir::Attributes a{{"offset_group", c.attrs().get_int("offset_group", 1)}};
  win.write(a);
  // As im2col does for Conv, with taps that a kernel has moved.
  const Ref columns = c.emit("DeformColumns", {c.in(0), c.in(2), c.in(4)}, a);
  // Of one dot product: channels of a group times taps.
  const int64_t depth = w.product(1, 4);
  const Ref cols = c.reshape(columns, Shape{x[0], group, depth, out[2] * out[3]});
  const Ref weights = c.reshape(c.in(1), Shape{1, group, w[0] / group, depth});
  Ref y = c.reshape(c.emit("MatMul", {weights, cols}), out);
  if (c.has(3)) y = c.add(y, c.reshape(c.in(3), Shape{w[0], 1, 1}));
  c.result(0, y);
  return {};
}
}  // namespace

extern const ir::OpDef kDeformColumnsOp{.name = "DeformColumns",
                                        .inputs = {2, 3},
                                        .infer = infer_columns,
                                        .numeric = ir::NumericClass::accumulation,
                                        .no_gradient = "no kernel spreads samples back"};
extern const ir::OpDef kDeformConvOp{.name = "DeformConv",
                                     .op_class = ir::OpClass::composite,
                                     .inputs = {3, 5},
                                     .infer = infer,
                                     .lower = lower,
                                     .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
