// QLinearAdd, QLinearMul and QLinearGlobalAveragePool of codes, as onnxruntime's quantiser writes them, and
// CodeLookup: a function of codes as a table. Scales are put together before they meet codes, as onnxruntime
// has it: what lies halfway between two codes may become either.
//
// QLinearGlobalAveragePool: codes [n, c, h, w], their scale and zero point, those of the means.
// QLinearAdd, QLinearMul: a, its scale, its zero point, b, its scale, its zero point, scale and zero point of
// the result; a and b broadcast. "low" and "high" bound the result's codes. CodeLookup: codes, and the 256
// results of 0 to 255, or of -128 to 127.
#include <array>

#include "ops/registry.h"
#include "ops/rules/infer.h"
#include "ops/rules/quantize.h"

namespace walle::ops {

namespace {
constexpr int64_t kCodes = 256;

bool is_code(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

Status infer_arithmetic(ir::InferContext& c) {
  for (const int i : {0, 3, 7})
    if (!is_code(c.dtype(i)))
      return model_error(dtype_name(c.dtype(i)), "int8 or uint8", {"input ", i}, "quantise it to 8 bits");
  for (const int i : {1, 2, 4, 5, 6, 7})
    if (!c.has(i) || c.shape(i).elements() != 1)
      return model_error(c.has(i) ? Text(c.shape(i).text()) : Text("nothing"), "one element", {"input ", i},
                         "give one scale and one zero point");
  WALLE_TRY(check_code_bounds(c, c.dtype(7), "low", "high"));
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), c.shape(3)));
  c.output(0, c.dtype(7), out);
  return {};
}

Ref number(LowerContext& c, int i) { return c.reshape(c.cast(c.in(i), DType::float32), Shape{}); }

Ref centred(LowerContext& c, int i) { return c.sub(c.cast(c.in(i), DType::float32), number(c, i + 2)); }

Status finish(LowerContext& c, Ref value) {
  const Ref y = quantized(c, value, c.reshape(c.in(7), Shape{}), c.out_dtype(0));
  c.result(0, bounded_codes(c, y, "low", "high"));
  return {};
}

Status lower_add(LowerContext& c) {
  const Ref scale = number(c, 6);
  const Ref a = c.mul(centred(c, 0), c.div(number(c, 1), scale));
  return finish(c, c.add(a, c.mul(centred(c, 3), c.div(number(c, 4), scale))));
}

Status lower_mul(LowerContext& c) {
  const Ref scale = c.div(c.mul(number(c, 1), number(c, 4)), number(c, 6));
  return finish(c, c.mul(c.mul(centred(c, 0), centred(c, 3)), scale));
}

Status infer_mean(ir::InferContext& c) {
  for (const int i : {0, 4})
    if (!is_code(c.dtype(i)))
      return model_error(dtype_name(c.dtype(i)), "int8 or uint8", {"input ", i}, "quantise it to 8 bits");
  for (const int i : {1, 2, 3, 4})
    if (c.shape(i).elements() != 1)
      return model_error(c.shape(i).text(), "one element", {"input ", i},
                         "give one scale and one zero point");
  const Shape& x = c.shape(0);
  if (x.rank() != 4) return model_error(x.text(), "four axes", "input 0", "reshape the image");
  c.output(0, c.dtype(4), Shape::of({x.dim(0), x.dim(1), 1, 1}));
  return {};
}

// The sum is exact, in float32 as long as it is below 2^24.
Status lower_mean(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  const Ref sum = c.reduce("ReduceSum", centred(c, 0), {2, 3}, true);
  const Ref pixels = c.scalar(DType::float32, static_cast<double>(x[2] * x[3]));
  const Ref factor = c.div(number(c, 1), c.mul(number(c, 3), pixels));
  c.result(0, quantized(c, c.mul(sum, factor), c.reshape(c.in(4), Shape{}), c.out_dtype(0)));
  return {};
}

Status infer_lookup(ir::InferContext& c) {
  if (!is_code(c.dtype(0)))
    return model_error(dtype_name(c.dtype(0)), "int8 or uint8", "input 0", "quantise it to 8 bits");
  if (c.shape(1).elements() != kCodes || !is_code(c.dtype(1)))
    return model_error({dtype_name(c.dtype(1)), c.shape(1).text()}, {kCodes, " codes"}, "the table",
                       "give a result for each code");
  c.output(0, c.dtype(1), c.shape(0));
  return {};
}

Status lower_lookup(LowerContext& c) {
  Ref index = c.cast(c.in(0), DType::int32);
  if (c.dtype(c.in(0)) == DType::int8) index = c.add(index, c.scalar(DType::int32, kCodes / 2));
  c.result(0, c.emit("Gather", {c.reshape(c.in(1), Shape{kCodes}), index}));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::Arity in, ir::InferFn infer, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = in,
          .infer = infer,
          .lower = lower,
          .numeric = ir::NumericClass::elementwise};
}
constexpr std::array kRows{row("QLinearAdd", {8, 8}, infer_arithmetic, lower_add),
                           row("QLinearMul", {8, 8}, infer_arithmetic, lower_mul),
                           row("QLinearGlobalAveragePool", {5, 5}, infer_mean, lower_mean),
                           row("CodeLookup", {2, 2}, infer_lookup, lower_lookup)};
}  // namespace

extern const std::span<const ir::OpDef> kQlinearArithmeticOps = kRows;

}  // namespace walle::ops
