// Gradient of a graph, in reverse mode. Attributes `body`, a graph of all inputs, and `wrt`: the gradients
// of the sum of the body's first result by its first `wrt` inputs come first, then the body's results: the
// loss and whatever else a step of training wants of the same pass.
//
// A graph in an attribute and not the nodes before this one: what is differentiated is closed, so that it
// can be lowered to atoms whatever backends claim elsewhere, folding an initializer does not fold what
// depends on it, and plans that end between x and y do not cut it.
#include "ops/gradient.h"
#include "ops/inline_graph.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const auto body = c.attrs().get_graph("body");
  const int64_t wrt = c.attrs().get_int("wrt", 0);
  if (!body || body->outputs.empty() || std::ssize(body->inputs) != c.input_count())
    return model_error({"no graph of ", c.input_count(), " inputs"},
                       "a body that takes what the node does and gives a result", "attribute body",
                       "convert the model again");
  if (wrt < 1 || wrt > c.input_count())
    return model_error({"wrt=", wrt}, {"1 to ", c.input_count()}, "attribute wrt", "convert the model again");
  for (int i = 0; i < wrt; ++i) {
    const DType dtype = c.has(i) ? c.dtype(i) : DType::undefined;
    if (!differentiable(dtype))
      return model_error({"x of ", dtype_name(dtype)}, "floats", {"input ", i},
                         "differentiate by values that are floats");
    c.output(i, c.dtype(i), c.shape(i));
  }
  return {};  // the body's results are known once it is lowered
}

// Values that stand for the x while the body is lowered: a constant x must not be folded, and one that is
// given twice has two gradients.
std::vector<Ref> stand_ins(LowerContext& c, int64_t wrt) {
  std::vector<Ref> refs;
  for (int i = 0; i < c.input_count(); ++i)
    refs.push_back(i < wrt ? c.lowering().add_value(c.dtype(c.in(i)), c.shape(c.in(i))) : c.in(i));
  return refs;
}

Status lower(LowerContext& c) {
  const auto body = c.attrs().get_graph("body");
  const auto wrt = static_cast<size_t>(c.attrs().get_int("wrt", 0));
  Lowering& lowering = c.lowering();
  const size_t first = lowering.program().nodes.size();
  const std::vector<Ref> inputs = stand_ins(c, wrt);
  std::vector<Ref> results;
  {
    const Lowering::Unclaimed atoms(lowering);
    WALLE_ASSIGN(results, inline_graph(lowering, *body, inputs));
  }
  if (results[0] < 0)
    return model_error("a body whose result is not computed", "a value", "attribute body",
                       "convert the model again");
  const std::vector<Ref> xs(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(wrt));
  WALLE_ASSIGN(std::vector<Ref> all, differentiate(lowering, first, results[0], xs, c.origin()));
  all.insert(all.end(), results.begin(), results.end());
  const auto real = [&](Ref r) {
    for (size_t i = 0; i < wrt; ++i)
      if (r == xs[i]) return c.in(static_cast<int>(i));
    return r;
  };
  std::vector<ProgramNode>& nodes = lowering.program().nodes;
  for (size_t n = first; n < nodes.size(); ++n)
    for (Ref& r : nodes[n].inputs) r = real(r);
  for (size_t i = 0; i < all.size(); ++i) c.result(static_cast<int>(i), real(all[i]));
  return {};
}
}  // namespace

extern const ir::OpDef kGradientOp{.name = "Gradient",
                                   .op_class = ir::OpClass::composite,
                                   .inputs = {1, -1},
                                   .outputs = {1, -1},
                                   .infer = infer,
                                   .lower = lower,
                                   .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
