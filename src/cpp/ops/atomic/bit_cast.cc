// BitCast: the same bits as another dtype of the same size, attribute `to` (a DType number).
#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const int64_t to = c.attrs().get_int("to", 0);
  // ONNX opset 26. As many bits per element, or the shape would have to change with the dtype.
  const bool known = to > 0 && to < tensor::kDTypeCount;
  if (!known || tensor::dtype_bits(static_cast<DType>(to)) != tensor::dtype_bits(c.dtype(0)))
    return model_error({"to=", to, " for ", dtype_name(c.dtype(0))}, "a dtype of as many bits", "BitCast",
                       "correct `to`");
  c.output(0, static_cast<DType>(to), c.shape(0));
  return {};
}
}  // namespace

extern const ir::OpDef kBitCastOp{
    .name = "BitCast", .infer = infer, .no_gradient = "bits of a number are no function with a slope"};

}  // namespace walle::ops
