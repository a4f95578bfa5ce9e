// Interpolate (internal): output j along `axis` is the sum over t of weights[j, t] * x[indices[j, t]]. Resize
// lowers to one of these per resized axis, because every mode of it is separable. Without weights (one tap)
// it only selects, in any dtype.
#include "ops/gradient.h"
#include "ops/rules/gather.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  const bool weighted = c.has(2);
  if (c.dtype(1) != DType::int32 || c.rank(1) != 2 ||
      (weighted ? c.shape(2) != c.shape(1) || c.dtype(2) != c.dtype(0) : c.shape(1)[1] != 1))
    return model_error({"indices", c.shape(1).text()},
                       "int32 [outputs, taps] and weights of that shape in X's dtype", "Interpolate",
                       "use Resize");
  Shape out = c.shape(0);
  out[axis] = c.shape(1)[0];
  WALLE_ASSIGN(out, Shape::checked(out.dims(), dtype_size(c.dtype(0)), "Interpolate"));
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const auto results = static_cast<double>(out[0].shape.elements());
  const double taps = static_cast<double>(in[1].shape.back());
  return {2 * taps * results, static_cast<double>(dtype_size(out[0].dtype)) *
                                  (results + static_cast<double>(in[0].shape.elements()))};
}

// Tap by tap: output j adds weights[j, t] of its gradient where that tap read.
Status gradient(GradientContext& c) {
  const Shape in = c.out_shape(0);
  const Shape out = c.shape(c.dy(0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), in.rank()));
  const int64_t taps = c.out_shape(1)[1];
  const int64_t inner = in.product(axis + 1, in.rank());
  const int64_t size[] = {in.product(0, axis), inner};
  const int64_t from[] = {out[axis] * inner, 1};
  const int64_t to[] = {in[axis] * inner, 1};
  raster::LoopSpec loop;
  loop.rank = 1;
  loop.size[0] = out[axis];
  loop.src_step[0] = inner;
  loop.body = raster::strided_region(0, size, 0, from, 0, to);
  loop.index = {{inner, in[axis]}};
  loop.combine = raster::Combine::add;
  const int64_t step[] = {taps};
  const auto tap = [&](int input, int64_t t) {
    return strided_view(c, c.in(input), Shape{out[axis]}, step, t);
  };
  Ref sum = zeros(c, c.out_dtype(0), in);
  for (int64_t t = 0; t < taps && !c.failed(); ++t) {
    const Ref share = c.has(2) ? c.mul(c.dy(0), along_axis(c, tap(2, t), axis, out.rank())) : c.dy(0);
    sum = scatter_loop(c, loop, sum, tap(1, t), share);
  }
  c.result(0, sum);
  return {};
}
}  // namespace

extern const ir::OpDef kInterpolateOp{.name = "Interpolate",
                                      .inputs = {2, 3},
                                      .infer = infer,
                                      .cost = cost,
                                      .numeric = ir::NumericClass::accumulation,
                                      .gradient = gradient};

}  // namespace walle::ops
