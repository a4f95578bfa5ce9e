// Transpose: axes reordered by `perm` (default: reversed). One region: source strides permuted.
#include <algorithm>

#include "ops/lower.h"

namespace walle::ops {

namespace {
Result<std::vector<int>> permutation(const ir::Attributes& attrs, int rank) {
  std::vector<int64_t> perm = attrs.get_ints("perm");
  // ONNX's default: reversed, as NumPy's .T.
  if (perm.empty())
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  std::vector<int> out;
  std::vector<bool> seen(rank, false);
  for (int64_t p : perm) {
    // `seen` last: it is indexed by what was just checked.
    if (p < 0 || p >= rank || seen[p] || std::ssize(perm) != rank)
      return model_error({"perm of ", perm.size(), " entries with ", p}, {"a permutation of 0..", rank - 1},
                         "attribute perm", "correct perm");
    seen[p] = true;
    out.push_back(static_cast<int>(p));
  }
  if (std::ssize(out) != rank)
    return model_error("an empty perm", "a permutation of the axes", "attribute perm", "correct perm");
  return out;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<int> perm, permutation(c.attrs(), c.rank(0)));
  Shape out;
  for (int p : perm) out.push_back(c.shape(0).dim(p));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape from = c.shape(x).strides();
  WALLE_ASSIGN(const std::vector<int> perm, permutation(c.attrs(), from.rank()));
  Shape stride;
  for (int p : perm) stride.push_back(from.dim(p));
  const Shape& out = c.out_shape(0);
  const Shape to = out.strides();
  raster::Raster r;
  r.regions.push_back(raster::strided_box(0, out, 0, stride, 0, to));
  c.result(0, c.raster(std::move(r), c.dtype(x), out, {x}));
  return {};
}
}  // namespace

extern const ir::OpDef kTransposeOp{
    .name = "Transpose", .op_class = ir::OpClass::transform, .infer = infer, .lower = lower};

}  // namespace walle::ops
