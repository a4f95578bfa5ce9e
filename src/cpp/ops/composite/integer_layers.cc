// MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv: zero points taken out, the float operator,
// scales put back. Backends claim MatMulInteger whole (backends/cpu/matmul_integer.cc), and QLinearMatMul is
// one with its ends. Elsewhere float32 holds every product of two 8-bit numbers exactly; sums that must be
// exact integers are made in float64.
#include <array>

#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/quantize.h"
#include "ops/rules/views.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
// r - zero in `work`; a zero point vector has one element
// per row of a left operand (column: false) or per column.
Ref centred(LowerContext& c, Ref r, Ref zero, DType work, bool column) {
  const Ref x = c.cast(r, work);
  if (zero < 0 || c.failed()) return x;
  Ref z = c.cast(zero, work);
  const Shape shape = c.shape(z);
  if (shape.elements() == 1)
    z = c.reshape(z, Shape{});
  else if (!column && shape.rank() == 1)
    z = c.reshape(z, Shape{shape[0], 1});
  return c.sub(x, z);
}

Ref scale_operand(LowerContext& c, Ref r, bool column) {
  const Ref s = c.cast(r, DType::float32);
  if (c.failed()) return s;
  const Shape shape = c.shape(s);
  if (shape.elements() == 1) return c.reshape(s, Shape{});
  return !column && shape.rank() == 1 ? c.reshape(s, Shape{shape[0], 1}) : s;
}

// Shape by the rule of the float operator, on operands 0 and `weight`.
Status infer_as(ir::InferContext& c, std::string_view op, int weight, DType out) {
  const ir::OpDef* def = find_op(op);
  if (!def) return internal_error({"operator '", op, "' is not in the op table"}, "integer layers");
  // As if of float32: the float operator's rule asks for equal dtypes, and 8-bit operands may differ in sign.
  const auto operand = [&](int i) {
    return ir::InferInput{.present = true, .dtype = DType::float32, .shape = c.shape(i)};
  };
  const ir::InferInput seen[] = {operand(0), operand(weight)};
  ir::InferContext inner(c.attrs(), seen, 1);
  WALLE_TRY(def->infer(inner));
  c.output(0, out, inner.outputs()[0].shape);
  return {};
}

// float8 passes for QLinearMatMul, which opset 21 allows.
Status eight_bits(const ir::InferContext& c, int i) {
  const DType d = c.dtype(i);
  if (d == DType::int8 || d == DType::uint8 || tensor::is_float8(d)) return {};
  return model_error(dtype_name(d), "int8 or uint8", {"input ", i}, "quantise it to 8 bits");
}

// Scale or zero point i spreads over `whole`, as centred() and scale_operand() lay it out.
Status spreads(const ir::InferContext& c, int i, const Shape& whole, bool column) {
  if (!c.has(i)) return {};
  const Shape given = c.shape(i);
  if (given.elements() == 1) return {};
  const Shape laid = !column && given.rank() == 1 ? Shape{given[0], 1} : given;
  // Broadcasting must not enlarge the operand: [1, n] against [n, 1] would give a matrix.
  if (const auto all = tensor::broadcast(whole, laid); all.ok() && *all == whole) return {};
  return model_error({"shape ", given.text(), " for ", whole.text()}, "one element, or one per row or column",
                     {"input ", i}, "correct the scale or zero point");
}

// One element, or one per output channel of the weight.
Status per_channel(const ir::InferContext& c, int i, int weight) {
  if (!c.has(i) || c.shape(i).elements() == 1) return {};
  if (c.rank(i) == 1 && c.rank(weight) > 0 && c.shape(i)[0] == c.shape(weight)[0]) return {};
  return model_error({"shape ", c.shape(i).text(), " for weights ", c.shape(weight).text()},
                     "one element, or one per output channel", {"input ", i},
                     "correct the scale or zero point");
}

Status infer_matmul_integer(ir::InferContext& c) {
  for (const int i : {0, 1}) WALLE_TRY(eight_bits(c, i));
  WALLE_TRY(spreads(c, 2, c.shape(0), false));
  WALLE_TRY(spreads(c, 3, c.shape(1), true));
  return infer_as(c, "MatMul", 1, DType::int32);
}

Status infer_conv_integer(ir::InferContext& c) {
  for (const int i : {0, 1}) WALLE_TRY(eight_bits(c, i));
  WALLE_TRY(spreads(c, 2, Shape{}, true));
  WALLE_TRY(per_channel(c, 3, 1));
  return infer_as(c, "Conv", 1, DType::int32);
}

// Inputs: a, its scale, its zero point; b, its scale, its zero point; scale and zero point of the result.
Status infer_qlinear_matmul(ir::InferContext& c) {
  for (const int i : {0, 3}) WALLE_TRY(eight_bits(c, i));
  WALLE_TRY(spreads(c, 2, c.shape(0), false));
  WALLE_TRY(spreads(c, 5, c.shape(3), true));
  WALLE_TRY(spreads(c, 7, Shape{}, true));
  WALLE_TRY(infer_as(c, "MatMul", 3, c.dtype(7)));
  const Shape out = c.outputs()[0].shape;
  WALLE_TRY(spreads(c, 1, out, false));
  WALLE_TRY(spreads(c, 4, out, true));
  return spreads(c, 6, out, true);
}

// Inputs as above with x and w; then the optional bias.
Status infer_qlinear_conv(ir::InferContext& c) {
  for (const int i : {0, 3}) WALLE_TRY(eight_bits(c, i));
  for (const int i : {1, 2, 6, 7}) WALLE_TRY(spreads(c, i, Shape{}, true));
  for (const int i : {4, 5}) WALLE_TRY(per_channel(c, i, 3));
  return infer_as(c, "Conv", 3, c.dtype(7));
}

Status lower_matmul_integer(LowerContext& c) {
  // float64: 2^53 / (255 * 255) terms are exact, float32 would be exact only for some 250.
  const Ref a = centred(c, c.in(0), c.in(2), DType::float64, false);
  const Ref b = centred(c, c.in(1), c.in(3), DType::float64, true);
  c.result(0, c.cast(c.emit("MatMul", {a, b}), DType::int32));
  return {};
}

// A weight's zero point per output channel.
Ref centred_weight(LowerContext& c, Ref w, Ref zero, DType work) {
  const Ref x = c.cast(w, work);
  if (zero < 0 || c.failed()) return x;
  return c.sub(x, along_axis(c, c.cast(zero, work), 0, c.shape(w).rank()));
}

Status lower_conv_integer(LowerContext& c) {
  const Shape image = c.shape(c.in(0));
  // Said explicitly, it is what kernels take.
  if (image.rank() == 4 && !(canonical_window(c.attrs(), image) && c.attrs().has("group"))) {
    const Shape filters = c.shape(c.in(1));
    WALLE_ASSIGN(const Window window, resolve_window(c.attrs(), image, {filters.begin() + 2, filters.end()}));
    ir::Attributes a = c.attrs();
    a.set("group", a.get_int("group", 1));
    window.write(a);
    c.result(0, c.emit("ConvInteger", {c.in(0), c.in(1), c.in(2), c.in(3)}, a));
    return {};
  }
  const Ref x = centred(c, c.in(0), c.in(2), DType::float64, true);
  const Ref w = centred_weight(c, c.in(1), c.in(3), DType::float64);
  c.result(0, c.cast(c.emit("Conv", {x, w}, c.attrs()), DType::int32));
  return {};
}

// All scales in one factor before the sum meets them, as ONNX Runtime has it: ONNX does not say in which
// order they are applied, and another one rounds some results to the code beside.
Ref requantized(LowerContext& c, Ref sum, Ref scale) {
  const Ref factor = c.div(scale, scale_operand(c, c.in(6), true));
  return quantized(c, c.mul(sum, factor), c.reshape(c.in(7), Shape{}), c.out_dtype(0));
}

// In integers, but for float8, which has none.
Ref exact_product(LowerContext& c) {
  if (tensor::is_float8(c.dtype(c.in(0))) || tensor::is_float8(c.dtype(c.in(3)))) {
    const Ref a = centred(c, c.in(0), c.in(2), DType::float32, false);
    return c.emit("MatMul", {a, centred(c, c.in(3), c.in(5), DType::float32, true)});
  }
  const Ref sum = c.emit("MatMulInteger", {c.in(0), c.in(3), c.in(2), c.in(5)});
  return c.cast(sum, DType::float32);
}

Status lower_qlinear_matmul(LowerContext& c) {
  const Ref scale = c.mul(scale_operand(c, c.in(1), false), scale_operand(c, c.in(4), true));
  c.result(0, requantized(c, exact_product(c), scale));
  return {};
}

// As kernels take it: two spatial axes, of which one may be added, and everything said explicitly.
Status lower_qlinear_conv(LowerContext& c) {
  const Shape x = c.shape(c.in(0)), w = c.shape(c.in(3));
  WALLE_ASSIGN(Window window, resolve_window(c.attrs(), x, {w.begin() + 2, w.end()}));
  std::vector<Ref> inputs;
  for (int i = 0; i < c.input_count(); ++i) inputs.push_back(c.in(i));
  if (x.rank() == 3) {
    inputs[0] = c.reshape(inputs[0], Shape::of({x.dim(0), x.dim(1), 1, x.dim(2)}));
    inputs[3] = c.reshape(inputs[3], Shape::of({w.dim(0), w.dim(1), 1, w.dim(2)}));
    window.insert_axis();
  }
  ir::Attributes a = c.attrs();
  a.set("group", a.get_int("group", 1));
  window.write(a);
  const Ref y = c.emit("QuantizedConv", inputs, a);
  c.result(0, x.rank() == 3 ? c.reshape(y, c.out_shape(0)) : y);
  return {};
}

ir::Cost product_cost(const ir::Attributes&, std::span<const ir::InferInput> in,
                      std::span<const ir::InferOutput> out) {
  const double macs = static_cast<double>(out[0].shape.elements()) * static_cast<double>(in[0].shape.back());
  return {2 * macs, bytes_of(in, out)};
}

constexpr ir::OpDef row(std::string_view name, ir::Arity in, ir::InferFn infer, ir::LowerFn lower,
                        ir::CostFn cost = nullptr) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = in,
          .infer = infer,
          .lower = lower,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation};
}
constexpr std::array kRows{
    row("MatMulInteger", {2, 4}, infer_matmul_integer, lower_matmul_integer, product_cost),
    row("ConvInteger", {2, 4}, infer_conv_integer, lower_conv_integer),
    row("QLinearMatMul", {8, 8}, infer_qlinear_matmul, lower_qlinear_matmul),
    row("QLinearConv", {8, 9}, infer_qlinear_conv, lower_qlinear_conv)};
}  // namespace

extern const std::span<const ir::OpDef> kIntegerLayersOps = kRows;

}  // namespace walle::ops
