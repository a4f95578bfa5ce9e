// MatMul with NumPy semantics (np.matmul): batches broadcast, rank-1 operands are vectors.
// The atomic form the kernels see has rank >= 2 on both sides; vectors get a unit axis around it.
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 2));
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  const auto wrong = [&] {
    return model_error({"shapes ", a.text(), " and ", b.text()}, "inner dimensions that agree", "MatMul",
                       "transpose or reshape one operand");
  };
  if (a.rank() == 0 || b.rank() == 0) return wrong();
  const int64_t inner = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  if (a.back() != inner) return wrong();
  // The last two axes are the matrices, those before them broadcast; a vector has none before.
  WALLE_ASSIGN(Shape out,
               tensor::broadcast(a.sub(0, std::max(a.rank() - 2, 0)), b.sub(0, std::max(b.rank() - 2, 0))));
  // The unit axis of a vector operand goes again (np.matmul).
  if (a.rank() > 1) out.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) out.push_back(b.back());
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const double macs = static_cast<double>(out[0].shape.elements()) * static_cast<double>(in[0].shape.back());
  return {2 * macs, bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kMatMulOp{.name = "MatMul",
                                 .inputs = {2, 2},
                                 .infer = infer,
                                 .cost = cost,
                                 .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
