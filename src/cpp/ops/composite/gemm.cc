// Gemm: alpha * A' B' + beta * C, with A' and B' optionally transposed.
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  // ONNX Gemm takes matrices alone; MatMul has the batches.
  if (c.rank(0) != 2 || c.rank(1) != 2)
    return model_error({"ranks ", c.rank(0), " and ", c.rank(1)}, "two matrices", "Gemm", "use MatMul");
  const bool ta = c.attrs().get_int("transA", 0) != 0;
  const bool tb = c.attrs().get_int("transB", 0) != 0;
  Shape out;
  out.push_back(c.shape(0).dim(ta ? 1 : 0));
  out.push_back(c.shape(1).dim(tb ? 0 : 1));
  if (c.shape(0).dim(ta ? 0 : 1) != c.shape(1).dim(tb ? 1 : 0))
    return model_error({"shapes ", c.shape(0).text(), " and ", c.shape(1).text()},
                       "inner dimensions that agree", "Gemm", "check transA and transB");
  if (c.has(2)) {
    const auto fits = tensor::broadcast(out, c.shape(2));
    if (!fits.ok() || *fits != out)
      return model_error({"C of shape ", c.shape(2).text()}, {"a shape that broadcasts to ", out.text()},
                         "Gemm", "reshape C");
  }
  c.output(0, c.dtype(0), out);
  return {};
}

Ref scaled(LowerContext& c, Ref r, const char* attribute) {
  const double factor = c.attrs().get_float(attribute, 1);
  // Exporters write alpha = beta = 1; a product by 1 would still be a pass over C.
  return factor == 1 ? r : c.mul(r, c.scalar(c.dtype(r), factor));
}

Status lower(LowerContext& c) {
  // A transposed constant is folded while planning: the weights of PyTorch's Linear (transB = 1) cost nothing
  // at run time.
  const Ref a = c.attrs().get_int("transA", 0) ? c.transpose(c.in(0), {1, 0}) : c.in(0);
  const Ref b = c.attrs().get_int("transB", 0) ? c.transpose(c.in(1), {1, 0}) : c.in(1);
  // C is left out when beta is 0: it may hold NaN.
  const Ref product = scaled(c, c.emit("MatMul", {a, b}), "alpha");
  c.result(0, c.has(2) && c.attrs().get_float("beta", 1) != 0 ? c.add(product, scaled(c, c.in(2), "beta"))
                                                              : product);
  return {};
}
}  // namespace

extern const ir::OpDef kGemmOp{.name = "Gemm",
                               .op_class = ir::OpClass::composite,
                               .inputs = {2, 3},
                               .infer = infer,
                               .lower = lower,
                               .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
