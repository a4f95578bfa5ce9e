// OneHot: a comparison of the indices with 0 .. depth - 1 that selects between on and off. Indices outside
// [-depth, depth) select off everywhere, as ONNX says.
#include "base/limits.h"
#include "ops/lower.h"

namespace walle::ops {

namespace {
Result<int64_t> depth_of(const Tensor& value) {
  WALLE_ASSIGN(const std::vector<double> depth, value.to_f64());
  // Depth may be a float in files; NaN fails the comparison.
  if (depth.size() != 1 || !(depth[0] >= 1) || depth[0] > static_cast<double>(base::kMaxTensorBytes))
    return model_error({"a depth of ", depth.empty() ? Text("nothing") : Text(depth[0])},
                       "one number of 1 or more", "input depth", "correct the depth");
  return static_cast<int64_t>(depth[0]);
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const Tensor* value, c.need(1));
  WALLE_ASSIGN(const int64_t depth, depth_of(*value));
  if (c.shape(2).rank() != 1 || c.shape(2)[0] != 2)
    return model_error({"values ", c.shape(2).text()}, "[off, on]", "input values", "give two values");
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), c.rank(0) + 1));
  std::vector<Dim> out;
  for (int a = 0; a < c.rank(0); ++a) out.push_back(c.shape(0).dim(a));
  out.insert(out.begin() + axis, depth);
  WALLE_ASSIGN(const Shape shape, checked_shape(out, c.dtype(2), "OneHot"));
  c.output(0, c.dtype(2), shape);
  return {};
}

Status lower(LowerContext& c) {
  const Shape out = c.out_shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), out.rank()));
  const int64_t depth = out[axis];
  if (!c.may_tabulate(depth, kNumberWork)) return {};
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < depth; ++i) classes.push_back(i);
  Shape along;
  Shape unit;
  for (int a = 0; a < out.rank(); ++a) {
    along.push_back(a == axis ? depth : int64_t{1});
    unit.push_back(a == axis ? Dim(1) : out.dim(a));
  }
  // Negative indices count from the end; those out of range equal no class and give `off` everywhere.
  // ONNX lets indices be of any number type.
  const Ref index = c.cast(c.in(0), DType::int64);
  const Ref zero = c.scalar(DType::int64, 0);
  const Ref wrapped =
      c.emit("Where", {c.emit("Less", {index, zero}),
                       c.add(index, c.scalar(DType::int64, static_cast<double>(depth))), index});
  const Ref hit = c.emit("Equal", {c.reshape(wrapped, unit), c.reshape(c.ints(std::move(classes)), along)});
  const auto value = [&](int64_t i) {
    return c.reshape(c.emit("Slice", {c.in(2), c.ints({i}), c.ints({i + 1})}), Shape{});
  };
  c.result(0, c.emit("Where", {hit, value(1), value(0)}));
  return {};
}
}  // namespace

extern const ir::OpDef kOneHotOp{
    .name = "OneHot", .op_class = ir::OpClass::composite, .inputs = {3, 3}, .infer = infer, .lower = lower};

}  // namespace walle::ops
