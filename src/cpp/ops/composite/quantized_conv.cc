// QuantizedConv: QLinearConv with what follows it on codes. Not an operator of ONNX: the rule that joins
// quantised layers (passes/fuse_codes.h) makes it, and QLinearConv is one with nothing behind it.
//
// Inputs 0 to 8 as QLinearConv; 9 to 13, together or not at all: codes of the result's shape with their scale
// and zero point, and scale and zero point of the sum. Attributes of a window, explicit as Conv's; "low" and
// "high" bound the convolution's codes (Relu and Clip), "joint_low" and "joint_high" those of the sum.
#include "ops/rules/quantized_conv.h"
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/quantize.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
using enum QuantizedConvInput::Operand;

Status is_code(const ir::InferContext& c, int i) {
  if (c.has(i) && (c.dtype(i) == DType::int8 || c.dtype(i) == DType::uint8)) return {};
  return model_error(c.has(i) ? Text(dtype_name(c.dtype(i))) : Text("nothing"), "int8 or uint8",
                     {"input ", i}, "quantise it to 8 bits");
}

Status is_number(const ir::InferContext& c, int i) {
  if (c.has(i) && c.shape(i).elements() == 1) return {};
  return model_error(c.has(i) ? Text(c.shape(i).text()) : Text("nothing"), "one element", {"input ", i},
                     "give one scale and one zero point");
}

Status infer(ir::InferContext& c) {
  const ir::OpDef* plain = find_op("QLinearConv");
  if (!plain) return internal_error("operator 'QLinearConv' is not in the op table", "QuantizedConv");
  std::vector<ir::InferInput> seen;
  for (int i = 0; i <= kBias; ++i)
    seen.push_back(c.has(i) ? ir::InferInput{.present = true, .dtype = c.dtype(i), .shape = c.shape(i)}
                            : ir::InferInput{});
  ir::InferContext inner(c.attrs(), seen, 1);
  WALLE_TRY(plain->infer(inner));
  const Shape out = inner.outputs()[0].shape;
  DType dtype = inner.outputs()[0].dtype;
  WALLE_TRY(check_code_bounds(c, dtype, "low", "high"));
  if (c.has(kOther)) {
    for (const int i : {kOther, kOtherZero, kSumZero}) WALLE_TRY(is_code(c, i));
    WALLE_TRY(check_code_bounds(c, c.dtype(kSumZero), "joint_low", "joint_high"));
    for (const int i : {kOtherScale, kOtherZero, kSumScale, kSumZero}) WALLE_TRY(is_number(c, i));
    if (c.shape(kOther) != out)
      return model_error({"codes of ", c.shape(kOther).text()}, out.text(), "input 9",
                         "add what has the result's shape");
    dtype = c.dtype(kSumZero);
  }
  c.output(0, dtype, out);
  return {};
}

Status lower(LowerContext& c) {
  const DType work = DType::float32;
  const int rank = c.shape(c.in(kX)).rank();
  const Ref x = c.sub(c.cast(c.in(kX), work), c.reshape(c.cast(c.in(kXZero), work), Shape{}));
  const Ref w = c.sub(c.cast(c.in(kW), work), along_axis(c, c.cast(c.in(kWZero), work), 0, rank));
  Ref sum = c.emit("Conv", {x, w}, [&] {
    ir::Attributes a = c.attrs();
    for (const char* name : {"low", "high", "joint_low", "joint_high"}) a.erase(name);
    return a;
  }());
  // The bias is in units of x_scale * w_scale, like the sum: added before scaling.
  if (c.has(kBias)) sum = c.add(sum, along_axis(c, c.cast(c.in(kBias), work), 1, rank));
  const Ref x_scale = c.reshape(c.cast(c.in(kXScale), work), Shape{});
  const Ref scale = c.mul(x_scale, along_axis(c, c.cast(c.in(kWScale), work), 1, rank));
  // All scales in one factor before the sum meets them, as ONNX Runtime has it: ONNX does not say in which
  // order they are applied, and another one rounds some results to the code beside.
  const Ref factor = c.div(scale, c.reshape(c.cast(c.in(kYScale), work), Shape{}));
  const Ref zero = c.reshape(c.in(kYZero), Shape{});
  Ref y = bounded_codes(c, quantized(c, c.mul(sum, factor), zero, c.dtype(zero)), "low", "high");
  if (c.has(kOther)) {
    y = c.emit("QLinearAdd", {y, c.in(kYScale), c.in(kYZero), c.in(kOther), c.in(kOtherScale),
                              c.in(kOtherZero), c.in(kSumScale), c.in(kSumZero)});
    y = bounded_codes(c, y, "joint_low", "joint_high");
  }
  c.result(0, y);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const Shape& w = in[kW].shape;
  const double macs =
      static_cast<double>(out[0].shape.elements()) * static_cast<double>(w.product(1, w.rank()));
  return {2 * macs, bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kQuantizedConvOp{.name = "QuantizedConv",
                                        .op_class = ir::OpClass::composite,
                                        .inputs = {kBias, kCount},
                                        .infer = infer,
                                        .lower = lower,
                                        .cost = cost,
                                        .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
