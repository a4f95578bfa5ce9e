// ArrayFeatureExtractor (ai.onnx.ml): columns of the last axis by index.
#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  Shape out = c.shape(0);
  if (out.rank() == 0 || (c.dtype(1) != DType::int32 && c.dtype(1) != DType::int64))
    return model_error({"data of shape ", out.text()}, "at least one axis, and integer indices",
                       "ArrayFeatureExtractor", "check the inputs");
  out[out.rank() - 1] = c.shape(1).elements();
  if (out.rank() == 1) out = Shape{1, out[0]};  // a vector counts as one row
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  // Indices of any shape count as a list (the ML operator's definition).
  const Ref index = c.reshape(c.in(1), Shape{c.shape(c.in(1)).elements()});
  c.result(0, c.reshape(c.emit("Gather", {c.in(0), index}, {{"axis", int64_t{-1}}}), c.out_shape(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kArrayFeatureExtractorOp{.name = "ArrayFeatureExtractor",
                                                .op_class = ir::OpClass::composite,
                                                .inputs = {2, 2},
                                                .infer = infer,
                                                .lower = lower};

}  // namespace walle::ops
