// Interpolate (internal): output j along `axis` is the sum over t of weights[j, t] * x[indices[j, t]]. Resize
// lowers to one of these per resized axis, because every mode of it is separable. Without weights (one tap)
// it only selects, in any dtype.
#include "ops/lower.h"

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
}  // namespace

extern const ir::OpDef kInterpolateOp{.name = "Interpolate",
                                      .inputs = {2, 3},
                                      .infer = infer,
                                      .cost = cost,
                                      .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
