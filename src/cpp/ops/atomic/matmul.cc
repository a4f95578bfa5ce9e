// MatMul with NumPy semantics (np.matmul): batches broadcast, rank-1 operands are vectors.
// The atomic form the kernels see has rank >= 2 on both sides; vectors get a unit axis around it.
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

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
  const Dim inner = b.dim(std::max(b.rank() - 2, 0));
  if (a.dim(a.rank() - 1) != inner) return wrong();
  // The last two axes are the matrices, those before them broadcast; a vector has none before.
  WALLE_ASSIGN(Shape out,
               tensor::broadcast(a.sub(0, std::max(a.rank() - 2, 0)), b.sub(0, std::max(b.rank() - 2, 0))));
  // The unit axis of a vector operand goes again (np.matmul).
  if (a.rank() > 1) out.push_back(a.dim(a.rank() - 2));
  if (b.rank() > 1) out.push_back(b.dim(b.rank() - 1));
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const double macs = static_cast<double>(out[0].shape.elements()) * static_cast<double>(in[0].shape.back());
  return {2 * macs, bytes_of(in, out)};
}

Ref turned(LowerContext& c, Ref r) {
  std::vector<int64_t> perm;
  const int rank = c.shape(r).rank();
  for (int i = 0; i < rank - 2; ++i) perm.push_back(i);
  perm.push_back(rank - 1);
  perm.push_back(rank - 2);
  return c.transpose(r, std::move(perm));
}

// All rows of all matrices as one matrix.
Ref flat(LowerContext& c, Ref r) {
  const Shape shape = c.shape(r);
  return c.reshape(r, Shape{shape.product(0, shape.rank() - 1), shape.back()});
}

Status gradient(GradientContext& c) {
  // Vectors as matrices, which the result then is one of, too.
  Shape a = c.out_shape(0);
  Shape b = c.out_shape(1);
  Shape y = c.shape(c.dy(0));
  if (b.rank() == 1) y.push_back(1);
  if (b.rank() == 1) b.push_back(1);
  if (a.rank() == 1) {
    const int64_t columns = y.back();
    y[y.rank() - 1] = 1;
    y.push_back(columns);
    a = Shape{1, a[0]};
  }
  const Ref g = c.reshape(c.dy(0), y);
  const Ref left = c.reshape(c.in(0), a);
  const Ref right = c.reshape(c.in(1), b);
  if (c.wants(0))
    c.result(0, c.reshape(sum_to(c, c.emit("MatMul", {g, turned(c, right)}), a), c.out_shape(0)));
  if (!c.wants(1)) return {};
  // One matrix that all of a's met takes one product: a batch of them would be summed up afterwards.
  const Ref product = b.rank() == 2 ? c.emit("MatMul", {turned(c, flat(c, left)), flat(c, g)})
                                    : sum_to(c, c.emit("MatMul", {turned(c, left), g}), b);
  c.result(1, c.reshape(product, c.out_shape(1)));
  return {};
}
}  // namespace

extern const ir::OpDef kMatMulOp{.name = "MatMul",
                                 .inputs = {2, 2},
                                 .infer = infer,
                                 .cost = cost,
                                 .numeric = ir::NumericClass::accumulation,
                                 .gradient = gradient};

}  // namespace walle::ops
