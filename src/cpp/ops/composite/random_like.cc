// RandomNormalLike, RandomUniformLike, Bernoulli and Multinomial, over the two random atoms.
#include <array>

#include "ops/registry.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
DType dtype_of(const ir::Attributes& attrs, DType otherwise) {
  return static_cast<DType>(attrs.get_int("dtype", static_cast<int64_t>(otherwise)));
}

Status infer_like(ir::InferContext& c) {
  const DType dtype = dtype_of(c.attrs(), c.dtype(0));
  if (dtype_size(dtype) == 0)
    return model_error({"dtype number ", static_cast<int>(dtype)}, "a dtype", "attribute dtype",
                       "correct it");
  c.output(0, dtype, c.shape(0));
  return {};
}

// The random atom with the parameters of this node.
Ref random(LowerContext& c, std::string_view op, DType dtype, const Shape& shape) {
  ir::Attributes attributes{{"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                            {"dtype", static_cast<int64_t>(dtype)}};
  for (const char* name : {"mean", "scale", "low", "high", "seed"})
    if (c.attrs().has(name)) attributes.set(name, c.attrs().get_float(name, 0));
  return c.emit(op, std::vector<Ref>{}, std::move(attributes));
}

Status lower_normal(LowerContext& c) {
  c.result(0, random(c, "RandomNormal", c.out_dtype(0), c.out_shape(0)));
  return {};
}
Status lower_uniform(LowerContext& c) {
  c.result(0, random(c, "RandomUniform", c.out_dtype(0), c.out_shape(0)));
  return {};
}

// In double, whatever the input: the numbers of a seed are then those of NumPy, and p is not rounded.
Status lower_bernoulli(LowerContext& c) {
  const Ref u = random(c, "RandomUniform", DType::float64, c.out_shape(0));
  // u lies in [0, 1), so p = 1 always and p = 0 never gives 1.
  c.result(0, c.cast(c.emit("Less", {u, c.cast(c.in(0), DType::float64)}), c.out_dtype(0)));
  return {};
}

Status infer_multinomial(ir::InferContext& c) {
  const int64_t samples = c.attrs().get_int("sample_size", 1);
  const DType dtype = dtype_of(c.attrs(), DType::int32);
  if (c.rank(0) != 2 || c.shape(0)[1] == 0 || samples < 0 || (dtype != DType::int32 && dtype != DType::int64))
    return model_error({"shape ", c.shape(0).text(), ", sample_size ", samples},
                       "[batch, classes] log-probabilities, a size of zero or more, int32 or int64",
                       "Multinomial", "check the inputs");
  // A number per class and sample is drawn: that size, not the result's, must be possible.
  const int64_t needed[] = {c.shape(0)[0], samples, c.shape(0)[1]};
  WALLE_TRY(Shape::checked(needed, tensor::kMaxDTypeSize, "Multinomial"));
  c.output(0, dtype, Shape{c.shape(0)[0], samples});
  return {};
}

constexpr double kLeast = 1e-300;  // a uniform number may be 0, whose logarithm is not finite

// The Gumbel trick: the greatest of log p - log(-log u) falls on each class with probability p.
Status lower_multinomial(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  const Shape drawn{x[0], c.out_shape(0)[1], x[1]};
  const Ref u =
      c.emit("Clamp", {random(c, "RandomUniform", DType::float64, drawn)}, {{"min", kLeast}, {"max", 1.0}});
  const Ref gumbel = c.emit("Neg", {c.emit("Log", {c.emit("Neg", {c.emit("Log", {u})})})});
  const Ref scores = c.add(gumbel, c.reshape(c.cast(c.in(0), DType::float64), Shape{x[0], 1, x[1]}));
  c.result(0, c.cast(c.emit("ArgMax", {scores}, {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}}),
                     c.out_dtype(0)));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .infer = infer,
          .lower = lower,
          .deterministic = false};
}
constexpr std::array kRows{
    row("RandomNormalLike", infer_like, lower_normal), row("RandomUniformLike", infer_like, lower_uniform),
    row("Bernoulli", infer_like, lower_bernoulli), row("Multinomial", infer_multinomial, lower_multinomial)};
}  // namespace

extern const std::span<const ir::OpDef> kRandomLikeOps = kRows;

}  // namespace walle::ops
