// Det: determinants of the matrices in the last two axes. Atomic because pivoting chooses rows by value.
#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2])
    return model_error({"shape ", x.text()}, "square matrices in the last two axes", "Det",
                       "check the input");
  c.output(0, c.dtype(0), x.sub(0, x.rank() - 2));
  return {};
}
}  // namespace

extern const ir::OpDef kDetOp{.name = "Det",
                              .infer = infer,
                              .numeric = ir::NumericClass::accumulation,
                              .no_gradient = "it takes the inverse of the matrix, which no operator gives"};

}  // namespace walle::ops
