// ConvTranspose is lowered in one of two ways. As phases (conv_phases.h): convolutions of the input whose
// results are interleaved, wherever the window has them. Else as products: a matrix product gives every input
// element's contribution to every tap, then one accumulating raster (col2im), the adjoint of Conv's im2col,
// adds the contributions where they land.
#include "base/checked.h"
#include "base/limits.h"
#include "ops/composite/conv_phases.h"
#include "ops/composite/transposed_window.h"
#include "ops/lower.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  const int64_t group = c.attrs().get_int("group", 1);
  if (x.rank() < 3 || w.rank() != x.rank() || w[0] != x[1] || group < 1 || x[1] % group != 0)
    return model_error({"X", x.text(), ", W", w.text(), " and group ", group},
                       "equal ranks of three or more and X channels = W[0], a multiple of group",
                       "ConvTranspose", "correct group or the weights");
  int64_t taps = 1;  // each is a region of the raster
  // Stops at the limit: the product of a file's sizes may overflow.
  for (int i = 2; i < w.rank() && taps <= base::kMaxRegions; ++i)
    taps = base::checked_mul(taps, w[i]).value_or(base::kMaxRegions + 1);
  if (taps > base::kMaxRegions)
    return resource_error({"W", w.text()}, {"a kernel of at most ", base::kMaxRegions, " elements"},
                          "ConvTranspose", "check the weights' shape");
  const auto channels = base::checked_mul(w[1], group);
  if (!channels)
    return model_error({"group ", group}, "a product of channels and group below 2^63", "attribute group",
                       "correct group");
  if (c.has(2) && (c.rank(2) != 1 || c.shape(2)[0] != *channels))
    return model_error({"a bias of ", c.shape(2).text()}, {"[", *channels, "]"}, "input B",
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

Ref by_products(LowerContext& c, const Window& win, const TransposedOperands& o) {
  const Shape x = c.shape(o.x);
  const Shape w = c.shape(o.weights);
  const Shape& out = c.out_shape(0);
  const int64_t depth = x[1] / o.group;
  const int64_t rows = w[1] * win.taps();
  const int64_t inputs = x.product(2, x.rank());
  const Ref weights = c.transpose(c.reshape(o.weights, Shape{1, o.group, depth, rows}), {0, 1, 3, 2});
  const Ref data = c.reshape(o.x, Shape{x[0], o.group, depth, inputs});
  const Ref cols = c.reshape(c.emit("MatMul", {weights, data}), Shape{x[0], out[1], win.taps(), inputs});
  if (c.failed()) return kNoRef;  // the product of all taps is checked by now
  const Ref y = col2im(c, cols, win, x, out);
  if (o.bias < 0) return y;
  Shape bias{out[1]};
  for (int i = 2; i < out.rank(); ++i) bias.push_back(1);
  return c.add(y, c.reshape(o.bias, bias));
}

// Below it the calls of several convolutions cost more than they save: 2 channels of 16 x 16 to one with 3 x
// 3 taps and stride 2 (4,608 products) take 6.9 us in four convolutions and 4.2 as a product (Zen 4). From a
// few ten thousand products on phases were as fast or faster for 16 shapes: 1.0 to 6.4.
constexpr double kFewProducts = 16384;

double products_of(const Shape& x, const Shape& w) {
  return static_cast<double>(x.elements()) * static_cast<double>(w.product(1, w.rank()));
}

Status lower(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  WALLE_ASSIGN(const Window win, transposed_window(c.attrs(), x, c.shape(c.in(1))));
  // Rasters add up only in dtypes that arithmetic is done in.
  const DType compute = tensor::is_half_float(c.out_dtype(0)) ? DType::float32 : c.out_dtype(0);
  const TransposedOperands o{.x = c.cast(c.in(0), compute),
                             .weights = c.cast(c.in(1), compute),
                             .bias = c.has(2) ? c.cast(c.in(2), compute) : kNoRef,
                             .group = c.attrs().get_int("group", 1)};
  // Convolutions are fast in float32 alone; products are in others too, and remain what tests compare with.
  std::optional<std::vector<PhaseGroup>> phases;
  if (compute == DType::float32) phases = phase_groups(win, x);
  if (phases && phases->size() > 1 && products_of(x, c.shape(o.weights)) < kFewProducts) phases.reset();
  const Ref y = phases ? by_phases(c, win, o, *phases) : by_products(c, win, o);
  c.result(0, c.cast(y, c.out_dtype(0)));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  return {2 * products_of(in[0].shape, in[1].shape), bytes_of(in, out)};
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
