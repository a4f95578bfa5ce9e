#include "ops/rules/pool.h"

#include "ops/rules/cost.h"

namespace walle::ops {

Result<Window> pool_window(const ir::Attributes& attrs, const Shape& x) {
  WALLE_ASSIGN(Window w, resolve_window(attrs, x));
  for (int i = 0; i < w.rank(); ++i) {
    // A window in the padding alone has no maximum; ONNX leaves it open, PyTorch refuses it as well.
    if (w.pad_begin[i] >= w.extent(i) || w.pad_end[i] >= w.extent(i))
      return model_error({"padding ", std::max(w.pad_begin[i], w.pad_end[i])},
                         {"less than the window's extent of ", w.extent(i)}, "attribute pads",
                         "pad the input with a Pad node instead");
  }
  return w;
}

Status infer_pool(ir::InferContext& c) {
  WALLE_ASSIGN(const Window w, pool_window(c.attrs(), c.shape(0)));
  Shape out = c.shape(0).sub(0, 2);
  for (const Dim size : w.out) out.push_back(size);
  WALLE_TRY(out.check(tensor::kMaxDTypeSize, "pooling"));
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost_pool(const ir::Attributes& attrs, std::span<const ir::InferInput> in,
                   std::span<const ir::InferOutput> out) {
  double taps = 1;
  for (int64_t k : attrs.get_ints("kernel_shape")) taps *= static_cast<double>(k);
  const auto results = static_cast<double>(out[0].shape.elements());
  // Of the results only the first: the positions of MaxPoolWithIndices are few beside its taps.
  return {results * taps, bytes_of(out[0].shape, out[0].dtype) + bytes_of(in[0].shape, in[0].dtype)};
}

namespace {
// Pools axes (ax, ax + 1) of x given as [N, C, H, W]; `ay` < 0: H is not pooled.
Ref pool_pair(LowerContext& c, std::string_view op, Ref x, const Shape& as, const Window& w, int ay, int ax) {
  const auto pick = [&](const std::vector<int64_t>& v, int axis, int64_t none) {
    return axis < 0 ? none : v[axis];
  };
  ir::Attributes a = c.attrs();
  a.erase("auto_pad");
  a.set("kernel_shape", std::vector<int64_t>{pick(w.kernel, ay, 1), pick(w.kernel, ax, 1)});
  a.set("strides", std::vector<int64_t>{pick(w.stride, ay, 1), pick(w.stride, ax, 1)});
  a.set("dilations", std::vector<int64_t>{pick(w.dilation, ay, 1), pick(w.dilation, ax, 1)});
  a.set("pads", std::vector<int64_t>{pick(w.pad_begin, ay, 0), pick(w.pad_begin, ax, 0),
                                     pick(w.pad_end, ay, 0), pick(w.pad_end, ax, 0)});
  return c.emit(op, {c.reshape(x, as)}, a);
}
}  // namespace

Status lower_pool(LowerContext& c, std::string_view op) {
  const Shape in = c.shape(c.in(0));
  if (canonical_window(c.attrs(), in)) return {};
  WALLE_ASSIGN(const Window w, pool_window(c.attrs(), in));
  const int n = w.rank();
  // The last two axes first, then one leading axis after the other with everything behind it flattened.
  // Separable: a maximum of maxima, a mean of means whose divisors multiply.
  Shape now = in;
  const Shape pair = n == 1 ? Shape::of({in.dim(0), in.dim(1), 1, in.dim(2)})
                            : Shape::of({in.dim(0), in.dim_product(1, n), in.dim(n), in.dim(n + 1)});
  Ref y = pool_pair(c, op, c.in(0), pair, w, n - 2, n - 1);
  now.set(n + 1, w.out[n - 1]);
  if (n > 1) now.set(n, w.out[n - 2]);
  // Volumes are rare: a pass over memory for each further axis is accepted, instead of kernels of any rank.
  for (int axis = n - 3; axis >= 0; --axis) {
    const Shape as = Shape::of(
        {now.dim(0), now.dim_product(1, axis + 2), now.dim(axis + 2), now.dim_product(axis + 3, now.rank())});
    Window one = w;
    // The flattened axis keeps every element: pool it with a window of one.
    one.kernel = {w.kernel[axis], 1};
    one.stride = {w.stride[axis], 1};
    one.dilation = {w.dilation[axis], 1};
    one.pad_begin = {w.pad_begin[axis], 0};
    one.pad_end = {w.pad_end[axis], 0};
    y = pool_pair(c, op, y, as, one, 0, 1);
    now.set(axis + 2, w.out[axis]);
  }
  c.result(0, c.reshape(y, c.out_shape(0)));
  return {};
}

}  // namespace walle::ops
