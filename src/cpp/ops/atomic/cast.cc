// Cast to attribute `to` (a DType number); `saturate` concerns float8 only, `round_mode` float8e8m0.
// `saturate_integers`, from floats to integers of at most 16 bits: the nearest number that `to` holds, and
// its lowest for NaN; what quantisation ends with.
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const int64_t to = c.attrs().get_int("to", 0);
  // A number from a file: as an enumerator it would be undefined before anybody compared it.
  if (to <= 0 || to >= tensor::kDTypeCount)
    return model_error({"to=", to}, {"a dtype number from 1 to ", tensor::kDTypeCount - 1}, "Cast",
                       "correct `to`");
  const DType from = c.dtype(0);
  const auto into = static_cast<DType>(to);
  if (from != into && (tensor::is_complex(from) || tensor::is_complex(into)))
    return model_error({dtype_name(from), " to ", dtype_name(into)},
                       "dtypes of real numbers: complex ones are moved and never converted", "Cast",
                       "keep real and imaginary parts as tensors of their own");
  c.output(0, into, c.shape(0));
  return {};
}

// To what a value is already, as function bodies for any dtype write it: nothing at all.
Status lower(LowerContext& c) {
  if (c.dtype(c.in(0)) == c.out_dtype(0)) c.result(0, c.in(0));
  return {};
}

Status gradient(GradientContext& c) {
  c.result(0, c.cast(c.dy(0), c.out_dtype(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kCastOp{.name = "Cast", .infer = infer, .lower = lower, .gradient = gradient};

}  // namespace walle::ops
