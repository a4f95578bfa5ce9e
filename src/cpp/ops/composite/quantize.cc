// QuantizeLinear and DequantizeLinear, per tensor, per axis or per block, to and from integers of 2 to 16
// bits, float8 and float4e2m1, and DynamicQuantizeLinear. Arithmetic happens in the scale's dtype; rounding
// is half to even; results saturate.
#include <array>

#include "ops/registry.h"
#include "ops/rules/infer.h"
#include "ops/rules/quantize.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
// Converted, and not rounded to integers.
bool quantizes_as_float(DType dtype) { return tensor::is_float8(dtype) || dtype == DType::float4e2m1; }

Status infer_quantize(ir::InferContext& c) {
  WALLE_TRY(check_quantization(c));
  // The zero point decides, then the attribute, then ONNX's default.
  // output_dtype since opset 21.
  DType to = static_cast<DType>(c.attrs().get_int("output_dtype", 0));
  if (c.has(2)) to = c.dtype(2);
  if (to == DType::undefined) to = DType::uint8;
  if (!holds_codes(to) && !quantizes_as_float(to))
    return model_error({"dtype ", dtype_name(to)}, "an integer of at most 16 bits, float8 or float4e2m1",
                       "QuantizeLinear", "change output_dtype");
  c.output(0, to, c.shape(0));
  return {};
}

Status infer_dequantize(ir::InferContext& c) {
  WALLE_TRY(check_quantization(c));
  if (c.has(2)) WALLE_TRY(same_dtypes(c, 0, 1));
  c.output(0, c.dtype(1), c.shape(0));
  return {};
}

Status lower_quantize(LowerContext& c) {
  const Ref scale = quantization_operand(c, c.in(1));
  const Ref scaled = c.div(c.cast(c.in(0), c.dtype(scale)), scale);
  const Ref zero =
      c.has(2) && !quantizes_as_float(c.out_dtype(0)) ? quantization_operand(c, c.in(2)) : kNoRef;
  c.result(0, quantized(c, scaled, zero, c.out_dtype(0)));
  return {};
}

Status lower_dequantize(LowerContext& c) {
  const Ref scale = quantization_operand(c, c.in(1));
  Ref x = c.cast(c.in(0), c.dtype(scale));
  // In the scale's dtype: an 8-bit difference would wrap.
  if (c.has(2)) x = c.sub(x, c.cast(quantization_operand(c, c.in(2)), c.dtype(scale)));
  c.result(0, c.mul(x, scale));
  return {};
}

Status infer_dynamic(ir::InferContext& c) {
  c.output(0, DType::uint8, c.shape(0));
  c.output(1, DType::float32, Shape{});
  c.output(2, DType::uint8, Shape{});
  return {};
}

constexpr double kCodes = 255;  // steps between the smallest and the largest uint8

// The range is made to hold 0, so that 0 has an exact code.
Status lower_dynamic(LowerContext& c) {
  const Ref x = c.cast(c.in(0), DType::float32);
  const Ref zero = c.scalar(DType::float32, 0);
  const Ref low = c.emit("Min2", {c.emit("ReduceMin", {x}, {{"keepdims", int64_t{0}}}), zero});
  const Ref high = c.emit("Max2", {c.emit("ReduceMax", {x}, {{"keepdims", int64_t{0}}}), zero});
  const Ref step = c.div(c.sub(high, low), c.scalar(DType::float32, kCodes));
  // Of zeros alone any scale does; 1, as onnxruntime has it, is one that can be divided by.
  const Ref scale = c.emit("Where", {c.emit("Equal", {step, zero}), c.scalar(DType::float32, 1), step});
  const Ref point = quantized(c, c.div(c.emit("Neg", {low}), scale), kNoRef, DType::uint8);
  c.result(0, quantized(c, c.div(x, scale), point, DType::uint8));
  c.result(1, scale);
  c.result(2, point);
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::Arity in, int outputs, ir::InferFn infer,
                        ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = in,
          .outputs = {1, outputs},
          .infer = infer,
          .lower = lower,
          .numeric = ir::NumericClass::elementwise};
}
constexpr std::array kRows{row("QuantizeLinear", {2, 3}, 1, infer_quantize, lower_quantize),
                           row("DequantizeLinear", {2, 3}, 1, infer_dequantize, lower_dequantize),
                           row("DynamicQuantizeLinear", {1, 1}, 3, infer_dynamic, lower_dynamic)};
}  // namespace

extern const std::span<const ir::OpDef> kQuantizeOps = kRows;

}  // namespace walle::ops
