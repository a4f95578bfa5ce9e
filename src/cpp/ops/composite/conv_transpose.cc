// ConvTranspose: a matrix product gives every input element's contribution
// to every tap, then one accumulating raster (col2im) adds the contributions
// where they land. The raster is the adjoint of Conv's im2col.
#include "base/checked.h"
#include "base/limits.h"
#include "ops/lower.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
Error wrong_size(int64_t size, size_t axis) {
  return model_error("an output size of " + std::to_string(size) + " on spatial axis " + std::to_string(axis),
                     "1 to 2^31 - 1", "ConvTranspose", "use less padding or correct output_shape");
}

// The spatial sizes of output_shape; empty when it is not given.
Result<std::vector<int64_t>> wanted_sizes(const ir::Attributes& attrs, size_t n) {
  std::vector<int64_t> wanted = attrs.get_ints("output_shape");
  // Some exporters give the whole shape.
  if (wanted.size() > n && wanted.size() - n == 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != n)
    return model_error("output_shape with " + std::to_string(wanted.size()) + " entries", std::to_string(n),
                       "attribute output_shape", "give the spatial sizes");
  return wanted;
}

// kernel, stride, dilation and the padding taken off each end; `out` is the result's spatial size.
Result<Window> transposed_window(const ir::Attributes& attrs, const Shape& x, const Shape& w) {
  const size_t n = x.rank() - 2;
  Window win;
  // Weights are [C, M / group, ...]: the spatial sizes follow two axes, as for Conv.
  win.kernel.assign(w.begin() + 2, w.end());
  const std::vector<int64_t> stated = attrs.get_ints("kernel_shape");
  if (!stated.empty() && stated != win.kernel)
    return model_error("kernel_shape that differs from W" + w.text(), "the spatial sizes of W",
                       "attribute kernel_shape", "drop kernel_shape");
  WALLE_ASSIGN(win.stride, spatial_list(attrs, "strides", n, 1, 1));
  WALLE_ASSIGN(win.dilation, spatial_list(attrs, "dilations", n, 1, 1));
  WALLE_ASSIGN(const std::vector<int64_t> pads, spatial_list(attrs, "pads", 2 * n, 0, 0));
  WALLE_ASSIGN(const std::vector<int64_t> extra, spatial_list(attrs, "output_padding", n, 0, 0));
  WALLE_ASSIGN(const std::vector<int64_t> wanted, wanted_sizes(attrs, n));
  const std::string mode = attrs.get_string("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID" && !mode.empty())
    return model_error("auto_pad \"" + mode + "\"", "NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                       "attribute auto_pad", "correct auto_pad");
  win.pad_begin.assign(n, 0);
  win.pad_end.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = x[static_cast<int>(i) + 2];
    if (win.kernel[i] < 1 || win.kernel[i] > kMaxWindowEntry || in > kMaxWindowEntry)
      return model_error("X" + x.text() + " and W" + w.text(), "axes below 2^31 and a kernel of at least one",
                         "ConvTranspose", "check the shapes");
    // What the taps reach without any padding taken off (the formula of ONNX ConvTranspose).
    const int64_t full = win.stride[i] * (in - 1) + extra[i] + win.extent(static_cast<int>(i));
    if (!wanted.empty() || same) {
      const int64_t size = wanted.empty() ? in * win.stride[i] : wanted[i];
      if (size < 1 || size > kMaxWindowEntry) return wrong_size(size, i);
      // A wanted size beyond `full` is filled with zeros at the end, not cut.
      const int64_t total = std::max<int64_t>(full - size, 0);
      // The odd element at the end for SAME_UPPER only, and at the beginning for output_shape alone (ONNX).
      win.pad_begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      win.pad_end[i] = total - win.pad_begin[i];
      win.out.push_back(size);
    } else {
      if (mode != "VALID") {
        win.pad_begin[i] = pads[i];
        win.pad_end[i] = pads[i + n];
      }
      win.out.push_back(full - win.pad_begin[i] - win.pad_end[i]);
    }
    if (win.out[i] < 1 || win.out[i] > kMaxWindowEntry) return wrong_size(win.out[i], i);
  }
  return win;
}

Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  const int64_t group = c.attrs().get_int("group", 1);
  if (x.rank() < 3 || w.rank() != x.rank() || w[0] != x[1] || group < 1 || x[1] % group != 0)
    return model_error("X" + x.text() + ", W" + w.text() + " and group " + std::to_string(group),
                       "equal ranks of three or more and X channels = W[0], a multiple of group",
                       "ConvTranspose", "correct group or the weights");
  int64_t taps = 1;  // each is a region of the raster
  // Stops at the limit: the product of a file's sizes may overflow.
  for (int i = 2; i < w.rank() && taps <= base::kMaxRegions; ++i)
    taps = base::checked_mul(taps, w[i]).value_or(base::kMaxRegions + 1);
  if (taps > base::kMaxRegions)
    return resource_error("W" + w.text(),
                          "a kernel of at most " + std::to_string(base::kMaxRegions) + " elements",
                          "ConvTranspose", "check the weights' shape");
  const auto channels = base::checked_mul(w[1], group);
  if (!channels)
    return model_error("group " + std::to_string(group), "a product of channels and group below 2^63",
                       "attribute group", "correct group");
  if (c.has(2) && (c.rank(2) != 1 || c.shape(2)[0] != *channels))
    return model_error("a bias of " + c.shape(2).text(), "[" + std::to_string(*channels) + "]", "input B",
                       "correct the bias");
  WALLE_ASSIGN(const Window win, transposed_window(c.attrs(), x, w));
  std::vector<int64_t> dims{x[0], *channels};
  dims.insert(dims.end(), win.out.begin(), win.out.end());
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, dtype_size(c.dtype(0)), "ConvTranspose"));
  c.output(0, c.dtype(0), out);
  return {};
}

// cols [N, M, taps, inputs] added up to `out`.
Ref col2im(LowerContext& c, Ref cols, const Window& w, const Shape& x, const Shape& out) {
  const Shape to = out.strides();
  const int n = w.rank();
  const int64_t taps = w.taps();
  const int64_t inputs = x.product(2, x.rank());
  raster::Raster r;
  r.fill = raster::Fill{};
  for (int i = 0; i < n; ++i)
    r.accumulate = r.accumulate || w.stride[i] < w.extent(i);  // else no two taps meet
  std::vector<int64_t> tap(n, 0);
  for (int64_t t = 0; t < taps; ++t) {
    std::vector<int64_t> size{out[0], out[1]};
    std::vector<int64_t> src{out[1] * taps * inputs, taps * inputs};
    std::vector<int64_t> dst{to[0], to[1]};
    int64_t from = t * inputs;
    int64_t at = 0;
    int64_t row = inputs;
    bool lands = true;
    for (int i = 0; i < n; ++i) {
      const int64_t shift = tap[i] * w.dilation[i] - w.pad_begin[i];
      // The roles of input and output are exchanged against Conv's im2col: here the output clips the taps.
      const Span s = inside(w.out[i], x[i + 2], w.stride[i], tap[i] * w.dilation[i], w.pad_begin[i]);
      lands = s.length() > 0;  // places inside the result, so that no product below overflows
      if (!lands) break;
      row /= std::max<int64_t>(x[i + 2], 1);
      size.push_back(s.length());
      src.push_back(row);
      dst.push_back(s.length() > 1 ? to[i + 2] * w.stride[i] : 0);
      from += row * s.first;
      at += to[i + 2] * (s.first * w.stride[i] + shift);
    }
    if (lands) r.regions.push_back(raster::strided_region(0, size, from, src, at, dst));
    for (int i = n - 1; i >= 0 && ++tap[i] == w.kernel[i]; --i) tap[i] = 0;
  }
  return c.raster(std::move(r), c.dtype(cols), out, {cols});
}

Status lower(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  const Shape w = c.shape(c.in(1));
  const Shape& out = c.out_shape(0);
  WALLE_ASSIGN(const Window win, transposed_window(c.attrs(), x, w));
  const int64_t group = c.attrs().get_int("group", 1);
  const int64_t depth = x[1] / group;
  const int64_t rows = w[1] * win.taps();
  const int64_t inputs = x.product(2, x.rank());
  // Rasters add up only in dtypes that arithmetic is done in.
  const bool narrow = tensor::is_half_float(c.out_dtype(0));
  const DType compute = narrow ? DType::float32 : c.out_dtype(0);
  const Ref weights =
      c.transpose(c.reshape(c.cast(c.in(1), compute), Shape{1, group, depth, rows}), {0, 1, 3, 2});
  const Ref data = c.reshape(c.cast(c.in(0), compute), Shape{x[0], group, depth, inputs});
  const Ref cols = c.reshape(c.emit("MatMul", {weights, data}), Shape{x[0], out[1], win.taps(), inputs});
  if (c.failed()) return {};  // the product of all taps is checked by now
  Ref y = col2im(c, cols, win, x, out);
  if (c.has(2)) {
    Shape bias{out[1]};
    for (int i = 2; i < out.rank(); ++i) bias.push_back(1);
    y = c.add(y, c.reshape(c.cast(c.in(2), compute), bias));
  }
  c.result(0, c.cast(y, c.out_dtype(0)));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const Shape& w = in[1].shape;
  const double macs =
      static_cast<double>(in[0].shape.elements()) * static_cast<double>(w.product(1, w.rank()));
  return {2 * macs, bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kConvTransposeOp{.name = "ConvTranspose",
                                        .op_class = ir::OpClass::composite,
                                        .inputs = {2, 3},
                                        .infer = infer,
                                        .lower = lower,
                                        .cost = cost,
                                        .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
