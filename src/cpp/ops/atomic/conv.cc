// Conv. The form kernels take has two spatial axes and every attribute explicit:
//   X [N, C, H, W], W [M, C / group, kh, kw], optional B [M], optional residual [N, M, oh, ow] added before
//   the activation; kernel_shape, strides, dilations (2 each), pads (4), group; after epilogue fusion also
//   activation, activation_alpha, _beta.
// One spatial axis gains a unit axis. Three and more become im2col (one raster) and a matrix product, because
// such models are rare and the product is where their time goes.
#include "base/limits.h"
#include "ops/gradient.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
std::vector<int64_t> kernel_of(const Shape& w) { return {w.begin() + 2, w.end()}; }

Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 2));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  if (x.rank() < 3 || w.rank() != x.rank())
    return model_error({"X", x.text(), " and W", w.text()}, "equal ranks of three or more", "inputs X, W",
                       "reshape the input or the weights");
  const int64_t group = c.attrs().get_int("group", 1);
  const Dim channels = x.dim(1);
  if (group < 1 || w[0] % group != 0 || channels % group != 0 || w[1] != channels / group)
    return model_error({"X", x.text(), ", W", w.text(), " and group ", group},
                       "X channels = W[1] * group and W[0] a multiple of group", "Conv",
                       "correct group or the weights");
  const std::vector<int64_t> kernel = kernel_of(w);
  const std::vector<int64_t> stated = c.attrs().get_ints("kernel_shape");
  if (!stated.empty() && stated != kernel)
    return model_error({"kernel_shape that differs from W", w.text()}, "the spatial sizes of W",
                       "attribute kernel_shape", "drop kernel_shape");
  // Checked although ONNX's own shape rule does not: kernels read M floats from here whatever its size is.
  if (c.has(2) && (c.rank(2) != 1 || c.shape(2)[0] != w[0] || c.dtype(2) != c.dtype(0)))
    return model_error({"a bias of ", c.shape(2).text()}, {"[", w[0], "] of X's dtype"}, "input B",
                       "correct the bias");
  WALLE_ASSIGN(const Window window, resolve_window(c.attrs(), x, kernel));
  Shape out = Shape::of({x.dim(0), w[0]});
  for (const Dim size : window.out) out.push_back(size);
  WALLE_TRY(out.check(dtype_size(c.dtype(0)), "Conv"));
  // Input 3 does not exist in ONNX; the epilogue pass makes it, and a .walle file may claim it.
  if (c.has(3) && (c.shape(3) != out || c.dtype(3) != c.dtype(0)))
    return model_error({"a residual of ", c.shape(3).text()}, out.text(), "input 3",
                       "fuse only additions of the result's shape");
  c.output(0, c.dtype(0), out);
  return {};
}

Shape with_unit_axis(const Shape& s) { return Shape::of({s.dim(0), s.dim(1), 1, s.dim(2)}); }

// One spatial axis: [N, C, L] is [N, C, 1, L].
Ref lower_1d(LowerContext& c, const Window& w, const ir::Attributes& attributes) {
  ir::Attributes a = attributes;
  a.erase("auto_pad");
  a.set("kernel_shape", std::vector<int64_t>{1, w.kernel[0]});
  a.set("strides", std::vector<int64_t>{1, w.stride[0]});
  a.set("dilations", std::vector<int64_t>{1, w.dilation[0]});
  a.set("pads", std::vector<int64_t>{0, w.pad_begin[0], 0, w.pad_end[0]});
  const Ref x = c.reshape(c.in(0), with_unit_axis(c.shape(c.in(0))));
  const Ref k = c.reshape(c.in(1), with_unit_axis(c.shape(c.in(1))));
  return c.reshape(c.emit("Conv", {x, k, c.in(2)}, a), c.out_shape(0));
}

// Columns [N, C, taps, outputs]: one region per kernel tap, clipped to where it reads inside the input.
Ref columns(LowerContext& c, Ref x, const Window& w) {
  const Shape in = c.shape(x);
  const Shape strides = in.strides();
  const int n = w.rank();
  int64_t outputs = 1;
  for (int64_t size : w.out) outputs *= size;
  const int64_t taps = w.taps();
  // Before the loop: the kernel's size comes from a file, and each tap is a region.
  if (taps > base::kMaxRegions) {
    c.fail(resource_error({"a kernel of ", taps, " elements"}, {"at most ", base::kMaxRegions}, "Conv",
                          "check the weights' shape"));
    return kNoRef;
  }
  const Shape out{in[0], in[1], taps, outputs};
  if (!c.may_have(c.dtype(x), out)) return kNoRef;
  raster::Raster r;
  r.fill = raster::Fill{};
  std::vector<int64_t> tap(n, 0);
  for (int64_t t = 0; t < taps; ++t) {
    std::vector<int64_t> size{in[0], in[1]};
    std::vector<int64_t> src{strides[0], strides[1]};
    std::vector<int64_t> dst{in[1] * taps * outputs, taps * outputs};
    int64_t from = 0;
    int64_t to = t * outputs;
    int64_t row = outputs;
    bool reads = true;  // inside the input, so that no product below overflows
    for (int i = 0; i < n; ++i) {
      const int64_t shift = tap[i] * w.dilation[i];
      const Span s = inside(in[i + 2], w.out[i], w.stride[i], shift, w.pad_begin[i]);
      reads = s.length() > 0;
      if (!reads) break;
      row /= w.out[i];
      size.push_back(s.length());
      // A single element is never stepped from; a stride of 0 keeps the region's extent inside the input.
      src.push_back(s.length() > 1 ? strides[i + 2] * w.stride[i] : 0);
      dst.push_back(row);
      from += strides[i + 2] * (s.first * w.stride[i] + shift - w.pad_begin[i]);
      to += row * s.first;
    }
    if (reads) r.regions.push_back(raster::strided_region(0, size, from, src, to, dst));
    // An odometer, last axis fastest: the order of the weights' elements, so that row t of the columns meets
    // weight t.
    for (int i = n - 1; i >= 0 && ++tap[i] == w.kernel[i]; --i) tap[i] = 0;
  }
  return c.raster(std::move(r), c.dtype(x), out, {x});
}

Ref lower_nd(LowerContext& c, const Window& w) {
  const Shape x = c.shape(c.in(0));
  const Shape k = c.shape(c.in(1));
  const Shape& out = c.out_shape(0);
  const int64_t group = c.attrs().get_int("group", 1);
  const int64_t depth = k[1] * w.taps();
  const int64_t outputs = out.product(2, out.rank());
  // The groups become a batch of products; with one group that is a batch of one.
  const Ref cols = c.reshape(columns(c, c.in(0), w), Shape{x[0], group, depth, outputs});
  const Ref weights = c.reshape(c.in(1), Shape{1, group, k[0] / group, depth});
  Ref y = c.reshape(c.emit("MatMul", {weights, cols}), Shape{x[0], k[0], outputs});
  if (c.has(2)) y = c.add(y, c.reshape(c.in(2), Shape{k[0], 1}));
  return c.reshape(y, out);
}

Status lower(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  // No result named: the node stays, and Lowering takes it as it is (else the rule would call itself for
  // ever).
  if (canonical_window(c.attrs(), x) && c.attrs().has("group")) return {};  // as kernels take it
  WALLE_ASSIGN(const Window w, resolve_window(c.attrs(), x, kernel_of(c.shape(c.in(1)))));
  ir::Attributes a = c.attrs();
  a.set("group", a.get_int("group", 1));
  if (x.rank() == 3) {
    c.result(0, lower_1d(c, w, a));
    return {};
  }
  if (x.rank() > 4) {
    c.result(0, lower_nd(c, w));
    return {};
  }
  w.write(a);
  c.result(0, c.emit("Conv", {c.in(0), c.in(1), c.in(2)}, a));
  return {};
}

// [M, C / group, kernel]: what each column held, times the gradients it led to, over all images.
Ref filter_gradient(GradientContext& c, const Window& w, int64_t group) {
  const Shape x = c.out_shape(0);
  const Shape filters = c.out_shape(1);
  const int64_t outputs = c.shape(c.dy(0)).product(2, 4);
  const int64_t depth = filters[1] * w.taps();
  const Ref cols = c.reshape(columns(c, c.in(0), w), Shape{x[0], group, depth, outputs});
  const Ref g = c.reshape(c.dy(0), Shape{x[0], group, filters[0] / group, outputs});
  const Ref all_cols = c.reshape(c.transpose(cols, {1, 0, 3, 2}), Shape{group, x[0] * outputs, depth});
  const Ref all_g = c.reshape(c.transpose(g, {1, 2, 0, 3}), Shape{group, filters[0] / group, x[0] * outputs});
  return c.reshape(c.emit("MatMul", {all_g, all_cols}), filters);
}

Status gradient(GradientContext& c) {
  if (c.attrs().has("activation"))
    return model_error("a convolution with an activation, which a pass makes", "Conv and the activation",
                       "attribute activation", "convert the model again");
  const int64_t group = c.attrs().get_int("group", 1);
  WALLE_ASSIGN(const Window w, resolve_window(c.attrs(), c.out_shape(0), kernel_of(c.out_shape(1))));
  if (c.wants(0)) {
    ir::Attributes a = spreading(w, c.out_shape(0), c.shape(c.dy(0)));
    a.set("group", group);
    c.result(0, c.emit("ConvTranspose", {c.dy(0), c.in(1)}, std::move(a)));
  }
  if (c.wants(1)) c.result(1, filter_gradient(c, w, group));
  if (c.wants(2)) c.result(2, c.reduce("ReduceSum", c.dy(0), {0, 2, 3}, false));
  if (c.wants(3)) c.result(3, c.dy(0));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const Shape& w = in[1].shape;
  // 2 operations per multiply-add, as every peer counts, so that GFLOP/s compare.
  const double macs =
      static_cast<double>(out[0].shape.elements()) * static_cast<double>(w.product(1, w.rank()));
  return {2 * macs, bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kConvOp{.name = "Conv",
                               .inputs = {2, 4},
                               .infer = infer,
                               .lower = lower,
                               .cost = cost,
                               .numeric = ir::NumericClass::accumulation,
                               .gradient = gradient};

}  // namespace walle::ops
