// TopK: the k greatest (or least) elements along one axis, sorted, with their positions.
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), c.rank(0)));
  // k decides the shape, so its value is needed while planning (ONNX 10 made it an input).
  WALLE_ASSIGN(const std::vector<int64_t> k, c.need_i64(1));
  Shape out = c.shape(0);
  if (k.size() != 1 || k[0] < 0 || k[0] > out.dim(axis))
    return model_error({"k=", k.size() == 1 ? Text(k[0]) : Text{k.size(), " numbers"}},
                       {"one number from 0 to ", out.dim(axis).value()}, "TopK input 1", "correct k");
  out.set(axis, k[0]);
  c.output(0, c.dtype(0), out);
  c.output(1, DType::int64, out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  constexpr double kComparisons = 8;  // per element, of a heap of a few entries
  const auto n = static_cast<double>(in[0].shape.elements());
  return {kComparisons * n, n * static_cast<double>(dtype_size(in[0].dtype) + dtype_size(DType::int64))};
}

// To where the values came from; which ones are chosen does not vary.
Status gradient(GradientContext& c) {
  ir::Attributes along{{"axis", c.attrs().get_int("axis", -1)}};
  Ref places = c.y(1);
  if (places < 0) places = c.emit_many("TopK", {c.in(0), c.in(1)}, c.attrs(), 2)[1];
  const Ref nothing = zeros(c, c.out_dtype(0), c.out_shape(0));
  c.result(0, c.emit("ScatterElements", {nothing, places, c.dy(0)}, std::move(along)));
  return {};
}
}  // namespace

extern const ir::OpDef kTopKOp{
    .name = "TopK", .inputs = {2, 2}, .outputs = {1, 2}, .infer = infer, .cost = cost, .gradient = gradient};

}  // namespace walle::ops
