// Einsum by contracting operands pairwise: diagonals as strided views, sums over labels nobody needs any
// more, and one batched MatMul (or Mul, when nothing is summed) per pair.
#include <algorithm>
#include <map>
#include <set>

#include "ops/composite/einsum_plan.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Result<EinsumPlan> plan_of(const ir::Attributes& attrs, const std::vector<Shape>& shapes) {
  return parse_einsum(attrs.get_string("equation", ""), shapes);
}

Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  std::vector<Shape> shapes;
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.has(i))
      return model_error({"operand ", i, " left out"}, "a tensor", "Einsum", "connect the input");
    shapes.push_back(c.shape(i));
  }
  WALLE_ASSIGN(const EinsumPlan plan, plan_of(c.attrs(), shapes));
  std::vector<Dim> dims;
  for (int label : plan.output) dims.push_back(plan.size.at(label));
  WALLE_ASSIGN(const Shape out, checked_shape(dims, c.dtype(0), "Einsum"));
  c.output(0, c.dtype(0), out);
  return {};
}

using Labels = std::vector<int>;

struct Operand {
  Ref value = kNoRef;
  Labels labels;  // distinct
};

bool holds(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

class Contraction {
 public:
  Contraction(LowerContext& c, const EinsumPlan& plan) : c_(c), plan_(plan) {}

  Ref run(std::vector<Operand> operands) {
    // A label is summed over as soon as neither a later operand nor the result has it: the intermediate
    // results stay as small as this order allows.
    std::map<int, size_t> last_use;
    for (int label : plan_.output) last_use[label] = operands.size();
    for (size_t k = 0; k < operands.size(); ++k)
      for (int label : operands[k].labels) last_use[label] = std::max(last_use[label], k);
    // From left to right, as written: finding the cheapest order is exponential, and exporters' equations
    // have two operands.
    Operand left = diagonal(operands[0]);
    for (size_t k = 1; k < operands.size(); ++k) {
      // Labels that a later operand or the result still has.
      std::set<int> needed;
      for (const auto& [label, last] : last_use)
        if (last > k) needed.insert(label);
      left = contract(left, diagonal(operands[k]), needed);
    }
    left = sum_out(left, std::set<int>(plan_.output.begin(), plan_.output.end()), {});
    return arranged(left, plan_.output);
  }

 private:
  // Repeated labels become one axis; axes of size 1 are repeated to the label's size.
  Operand diagonal(const Operand& from) {
    if (c_.failed()) return from;
    const Shape shape = c_.shape(from.value);
    const Shape own = shape.strides();
    Operand out;
    Shape size;
    std::vector<Dim> stride;
    for (int i = 0; i < shape.rank(); ++i) {
      const int label = from.labels[i];
      const auto at = std::ranges::find(out.labels, label);
      // An axis of 1 broadcasts over its label (NumPy allows it).
      const Dim step = shape.dim(i) == 1 ? Dim(0) : own.dim(i);
      if (at != out.labels.end()) {
        // The diagonal of two equal labels walks both axes at once: "ii" steps by n + 1.
        stride[at - out.labels.begin()] += step;
        continue;
      }
      out.labels.push_back(label);
      size.push_back(plan_.size.at(label));
      stride.push_back(step);
    }
    out.value = size == shape ? from.value : strided_view(c_, from.value, size, stride, Dim(0));
    return out;
  }

  // Sums over labels that neither `needed` nor `partner` has.
  Operand sum_out(const Operand& x, const std::set<int>& needed, const Labels& partner) {
    std::vector<int64_t> axes;
    Operand out{x.value, {}};
    for (size_t i = 0; i < x.labels.size(); ++i) {
      if (needed.contains(x.labels[i]) || holds(partner, x.labels[i]))
        out.labels.push_back(x.labels[i]);
      else
        axes.push_back(static_cast<int64_t>(i));
    }
    if (!axes.empty()) out.value = c_.reduce("ReduceSum", x.value, axes, false);
    return out;
  }

  Ref arranged(const Operand& x, const Labels& order) {
    std::vector<int64_t> perm;
    for (int label : order) perm.push_back(std::ranges::find(x.labels, label) - x.labels.begin());
    // No node for an order that is there already.
    return std::ranges::is_sorted(perm) ? x.value : c_.transpose(x.value, perm);
  }

  Dim extent(const Labels& labels) const {
    Shape sizes;  // the labels of one operand: at most as many as it has axes
    for (int label : labels) sizes.push_back(plan_.size.at(label));
    return sizes.dim_elements();
  }

  Operand contract(Operand a, Operand b, const std::set<int>& needed) {
    if (c_.failed()) return a;
    // Sums over one operand alone before the product: n + m additions instead of n * m.
    a = sum_out(a, needed, b.labels);
    b = sum_out(b, needed, a.labels);
    Labels batch, summed, rows, columns;
    for (int label : a.labels)
      // Every label of a pair is one of four: batch (kept, in both), summed (not kept), rows (of a alone),
      // columns (of b alone).
      (!holds(b.labels, label) ? rows : needed.contains(label) ? batch : summed).push_back(label);
    for (int label : b.labels)
      if (!holds(a.labels, label)) columns.push_back(label);
    const auto joined = [](std::initializer_list<Labels> parts) {
      Labels all;
      for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    const Dim nb = extent(batch);
    const Dim nr = extent(rows);
    const Dim nk = extent(summed);
    const Dim nc = extent(columns);
    const Ref x = c_.reshape(arranged(a, joined({batch, rows, summed})), Shape::of({nb, nr, nk}));
    const Ref y = c_.reshape(arranged(b, joined({batch, summed, columns})), Shape::of({nb, nk, nc}));
    // Without a sum a product of depth 1 would be a slow outer product.
    const Ref product = summed.empty() ? c_.mul(x, y) : c_.emit("MatMul", {x, y});
    Operand out{kNoRef, joined({batch, rows, columns})};
    Shape shape;
    for (int label : out.labels) {
      if (shape.rank() == base::kMaxRank) {
        c_.fail(model_error({"an intermediate result of more than ", base::kMaxRank, " axes"},
                            {"at most ", base::kMaxRank, " axes"}, "Einsum", "split the equation"));
        return out;
      }
      shape.push_back(plan_.size.at(label));
    }
    out.value = c_.reshape(product, shape);
    return out;
  }

  LowerContext& c_;
  const EinsumPlan& plan_;
};

Status lower(LowerContext& c) {
  std::vector<Shape> shapes;
  for (int i = 0; i < c.input_count(); ++i) shapes.push_back(c.shape(c.in(i)));
  WALLE_ASSIGN(const EinsumPlan plan, plan_of(c.attrs(), shapes));
  std::vector<Operand> operands;
  for (int i = 0; i < c.input_count(); ++i) operands.push_back({c.in(i), plan.inputs[i]});
  c.result(0, Contraction(c, plan).run(std::move(operands)));
  return {};
}
}  // namespace

extern const ir::OpDef kEinsumOp{.name = "Einsum",
                                 .op_class = ir::OpClass::composite,
                                 .inputs = {1, -1},
                                 .infer = infer,
                                 .lower = lower,
                                 .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
