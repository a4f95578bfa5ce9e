// TensorScatter: a cache with some positions along one axis replaced, from a place per sample on; what runs
// over the end comes round with mode "circular". ScatterElements with computed positions.
#include "ops/lower.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Result<int> axis_of(const ir::Attributes& attrs, const Shape& cache) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(attrs.get_int("axis", -2), cache.rank()));
  // Opset 24, made for key-value caches [batch, heads, sequence, size]: axis 0 is the batch that the places
  // belong to.
  if (axis > 0) return axis;
  return model_error({"axis ", axis}, "an axis behind the batch", "TensorScatter", "correct axis");
}

Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 2));
  WALLE_ASSIGN(const int axis, axis_of(c.attrs(), c.shape(0)));
  Shape expected = c.shape(0);
  if (c.rank(1) == c.rank(0)) expected.set(axis, c.shape(1).dim(axis));
  const bool places = !c.has(2) || (c.dtype(2) == DType::int64 && c.shape(2).rank() == 1 &&
                                    c.shape(2).dim(0) == expected.dim(0));
  const std::string mode = c.attrs().get_string("mode", "linear");
  if (c.shape(1) != expected || expected.dim(axis) > c.shape(0).dim(axis) || !places ||
      (mode != "linear" && mode != "circular"))
    return model_error(
        {"update ", c.shape(1).text(), " for a cache ", c.shape(0).text(), ", mode ", mode},
        "an update that differs from the cache in its length along the axis only, an int64 place "
        "per sample, mode linear or circular",
        "TensorScatter", "check the inputs");
  return infer_same(c);
}

Status lower(LowerContext& c) {
  const Shape cache = c.shape(c.in(0));
  const Shape update = c.shape(c.in(1));
  WALLE_ASSIGN(const int axis, axis_of(c.attrs(), cache));
  Shape along;
  Shape per_sample;
  for (int i = 0; i < cache.rank(); ++i) {
    along.push_back(i == axis ? update.dim(axis) : Dim(1));
    per_sample.push_back(i == 0 ? cache.dim(0) : Dim(1));
  }
  Ref places = c.reshape(iota(c, DType::int64, update.dim(axis)), along);
  if (c.has(2)) places = c.add(places, c.reshape(c.in(2), per_sample));
  if (c.attrs().get_string("mode", "linear") == "circular")
    // Mod of Python, so that places before the start come round as well.
    places = c.emit("Mod", {places, c.scalar(DType::int64, static_cast<double>(cache[axis]))});
  c.result(0, c.emit("ScatterElements", {c.in(0), expand_to(c, places, update), c.in(1)},
                     {{"axis", static_cast<int64_t>(axis)}}));
  return {};
}
}  // namespace

extern const ir::OpDef kTensorScatterOp{.name = "TensorScatter",
                                        .op_class = ir::OpClass::composite,
                                        .inputs = {2, 3},
                                        .infer = infer,
                                        .lower = lower};

}  // namespace walle::ops
