// Reductions with an elementary combining step: one atomic
// operator (Reduce) of the kinds of tensor/kinds/reduce.inc.
#include <algorithm>
#include <array>

#include "base/unreached.h"
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/axis.h"
#include "ops/rules/cost.h"
#include "ops/rules/formula.h"
#include "ops/rules/movement.h"
#include "ops/rules/views.h"
#include "tensor/kinds.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  return {static_cast<double>(in[0].shape.elements()),
          bytes_of(in[0].shape, in[0].dtype) + bytes_of(out[0].shape, out[0].dtype)};
}

// What the formulas of tensor/kinds/reduce.inc are about: x as [kept, n] with the reduced axes last, g and y
// as [kept, 1].
struct Rows {
  LowerContext& c;
  Term x, y, g;
  double n;

  Term summed(const Term& rows) const { return {c, c.reduce("ReduceSum", rows.ref(), {1}, true)}; }

  // Elements that are the result share its gradient.
  Term shared(const Term& gradient, const Term& chosen) const {
    const Term one(c, c.cast(chosen.ref(), x.dtype()));
    return gradient * one / summed(one);
  }

  // Running products from both ends and not y / x, because one x may be 0.
  Term product_of_others(const Term& rows) const {
    const Ref axis = c.ints({1});
    const auto before = [&](int64_t reverse) {
      ir::Attributes a{{"exclusive", int64_t{1}}, {"reverse", reverse}};
      return Term(c, c.emit("CumProd", {rows.ref(), axis}, std::move(a)));
    };
    return before(0) * before(1);
  }

  Term gradient(ReduceKind kind) const {
    switch (kind) {
#define WALLE_REDUCE(kind, name, numeric, gradient) \
  case ReduceKind::kind: return gradient;
#include "tensor/kinds/reduce.inc"
    }
    return base::unreached(Term(0));
  }
};

Status gradient(GradientContext& c) {
  const Shape in = c.out_shape(0);
  WALLE_ASSIGN(const std::vector<int64_t> given, ints_of(c, 1));
  WALLE_ASSIGN(const std::vector<int> axes,
               reduce_axes(given, in.rank(), c.attrs().get_int("noop_with_empty_axes", 0) != 0));
  std::vector<int64_t> order;
  Shape turned;
  for (const bool last : {false, true})
    for (int i = 0; i < in.rank(); ++i)
      if ((std::ranges::find(axes, i) != axes.end()) == last) {
        order.push_back(i);
        turned.push_back(in[i]);
      }
  const int64_t kept = c.shape(c.dy(0)).elements();
  const int64_t n = in.elements() / std::max<int64_t>(kept, 1);
  const Shape one{kept, 1};
  const Rows rows{.c = c,
                  .x = {c, c.reshape(c.transpose(c.in(0), order), Shape{kept, n})},
                  .y = {c, c.reshape(c.y(0), one)},
                  .g = {c, c.reshape(c.dy(0), one)},
                  .n = static_cast<double>(n)};
  const auto kind = tensor::reduce_kind(c.node().op->name);
  if (!kind) return internal_error("no reduce kind", c.node().op->name);
  const Ref wide = expand_to(c, rows.gradient(*kind).ref(), Shape{kept, n});
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  c.result(0, c.transpose(c.reshape(wide, turned), back));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::NumericClass numeric) {
  return {.name = name,
          .inputs = {1, 2},
          .infer = infer_reduce,
          .cost = cost,
          .numeric = numeric,
          .family = "Reduce",
          .gradient = gradient};
}

constexpr std::array kRows{
#define WALLE_REDUCE(kind, name, numeric, ...) row(name, ir::NumericClass::numeric),
#include "tensor/kinds/reduce.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kReduceOps = kRows;

}  // namespace walle::ops
