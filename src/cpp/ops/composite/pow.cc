// Pow: the exponent may have another dtype; the result has the
// base's. Squares and roots by a constant are cheaper forms.
#include <cmath>

#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), c.shape(1)));
  c.output(0, c.dtype(0), out);
  return {};
}

// The exponent when it is one constant number.
std::optional<double> constant_exponent(const LowerContext& c) {
  const Tensor* t = c.constant(c.in(1));
  // An exponent of higher rank would broadcast x to more axes.
  if (!t || t->elements() != 1 || t->shape().rank() > c.shape(c.in(0)).rank()) return std::nullopt;
  const auto values = t->to_f64();
  if (!values.ok()) return std::nullopt;
  return (*values)[0];
}

// x to the power of e without a general power; kNoRef when there is no such form.
Ref cheaper(LowerContext& c, Ref x, double e) {
  if (e == 1) return x;
  if (e == 2) return c.mul(x, x);
  // Up to 3: Gelu by tanh has a cube, and beyond it the order of products would show in the last bits.
  if (e == 3) return c.mul(c.mul(x, x), x);
  // The reciprocal or root of an integer is computed in double below.
  if (!tensor::is_float(c.dtype(x))) return kNoRef;
  if (e == -1) return c.emit("Reciprocal", {x});
  return e == 0.5 ? c.emit("Sqrt", {x}) : kNoRef;
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const DType base = c.dtype(x);
  const DType exponent = c.dtype(c.in(1));
  if (const auto e = constant_exponent(c)) {
    if (const Ref y = cheaper(c, x, *e); y >= 0) {
      c.result(0, y);
      return {};
    }
    if (c.failed()) return {};
  }
  // An integer to a fractional power is computed in double and truncated; otherwise the base's dtype decides.
  DType common = base;
  if (base != exponent && tensor::is_integer(base) && tensor::is_float(exponent)) common = DType::float64;
  c.result(0, c.cast(c.emit("Power", {c.cast(x, common), c.cast(c.in(1), common)}), base));
  return {};
}
}  // namespace

extern const ir::OpDef kPowOp{.name = "Pow",
                              .op_class = ir::OpClass::composite,
                              .inputs = {2, 2},
                              .infer = infer,
                              .lower = lower,
                              .numeric = ir::NumericClass::elementwise};

}  // namespace walle::ops
