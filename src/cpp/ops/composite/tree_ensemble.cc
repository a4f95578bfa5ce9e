// TreeEnsemble (ai.onnx.ml 5) as tensor arithmetic, after Nakandala et al., "A Tensor Compiler for Unified
// Machine Learning Prediction Serving" (OSDI 2020): all conditions at once, one product that counts the
// conditions each path agrees with.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/composite/tree_paths.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
enum Aggregate { kAverage, kSum, kMin, kMax };
constexpr int64_t kProbit = 4;  // the last of the post transforms

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const TreeEnsemble e, read_tree_ensemble(c.attrs()));
  const auto wrong = [](Text given, Text expected) {
    return model_error(given, expected, "TreeEnsemble", "check the node");
  };
  if (c.rank(0) != 2 || !tensor::is_float(c.dtype(0)))
    return wrong({"input of shape ", c.shape(0).text()}, "floats of [batch, features]");
  for (int64_t f : e.feature)
    if (f < 0 || f >= c.shape(0)[1]) return wrong({"feature ", f}, {"0 to ", c.shape(0)[1] - 1});
  const int64_t aggregate = c.attrs().get_int("aggregate_function", kSum);
  const int64_t post = c.attrs().get_int("post_transform", 0);
  if (aggregate < 0 || aggregate > kMax || post < 0 || post > kProbit)
    return wrong({"aggregate_function ", aggregate, ", post_transform ", post},
                 "AVERAGE, SUM, MIN or MAX; NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
  c.output(0, c.dtype(0), Shape{c.shape(0)[0], e.targets});
  return {};
}

// [batch, nodes] truth of one mode's comparison, for all nodes.
Ref compared(LowerContext& c, const TreeEnsemble& e, TreeMode mode, Ref x, Ref split) {
  switch (mode) {
    case TreeMode::less_equal: return c.emit("LessOrEqual", {x, split});
    case TreeMode::less: return c.emit("Less", {x, split});
    case TreeMode::greater_equal: return c.emit("GreaterOrEqual", {x, split});
    case TreeMode::greater: return c.emit("Greater", {x, split});
    case TreeMode::equal: return c.emit("Equal", {x, split});
    case TreeMode::not_equal: return c.emit("Not", {c.emit("Equal", {x, split})});
    case TreeMode::member: break;
  }
  size_t widest = 1;
  for (const auto& set : e.members) widest = std::max(widest, set.size());
  if (!c.may_tabulate(static_cast<int64_t>(widest * e.members.size()), kNumberWork)) return kNoRef;
  // What is left of a row is NaN, which equals nothing.
  std::vector<double> table(widest * e.members.size(), std::numeric_limits<double>::quiet_NaN());
  for (size_t node = 0; node < e.members.size(); ++node)
    for (size_t k = 0; k < e.members[node].size(); ++k)
      table[k * e.members.size() + node] = e.members[node][k];
  const Shape sets{static_cast<int64_t>(widest), static_cast<int64_t>(e.members.size())};
  const Shape rows = c.shape(x);
  const Ref equal =
      c.emit("Equal", {c.reshape(x, Shape{rows[0], 1, rows[1]}), constant_of(c, c.dtype(x), sets, table)});
  return c.reduce("ReduceMax", equal, {1}, false);
}

Ref mask(LowerContext& c, const std::vector<bool>& bits) {
  const std::vector<double> values(bits.begin(), bits.end());
  return c.cast(constant_of(c, DType::uint8, Shape{static_cast<int64_t>(bits.size())}, values),
                DType::boolean);
}

// [batch, nodes]: 1 where a node's condition holds.
Ref conditions(LowerContext& c, const TreeEnsemble& e) {
  const Ref x = c.emit("Gather", {c.in(0), c.ints(e.feature)}, {{"axis", int64_t{1}}});
  const Ref split = constant_of(c, c.dtype(x), Shape{static_cast<int64_t>(e.split.size())}, e.split);
  Ref truth = kNoRef;
  for (int m = 0; m <= static_cast<int>(TreeMode::member); ++m) {
    const auto mode = static_cast<TreeMode>(m);
    // Most forests have one mode, XGBoost's `<` or scikit-learn's `<=`: one comparison for all nodes.
    if (std::ranges::find(e.mode, mode) == e.mode.end()) continue;
    std::vector<bool> own;
    for (TreeMode other : e.mode) own.push_back(other == mode);
    // Every mode compares all nodes and a mask takes its own: gathering each mode's nodes would scatter the
    // results back.
    const Ref mine = c.emit("And", {compared(c, e, mode, x, split), mask(c, own)});
    truth = truth < 0 ? mine : c.emit("Or", {truth, mine});
  }
  if (std::ranges::find(e.missing_is_true, true) != e.missing_is_true.end())
    truth = c.emit("Or", {truth, c.emit("And", {c.emit("IsNaN", {x}), mask(c, e.missing_is_true)})});
  return c.cast(truth, DType::float32);
}

// [batch, paths]: true for the path each tree takes. A path is taken when as many of its conditions hold as
// it wants, and none of those it does not want.
Ref taken_paths(LowerContext& c, const TreeEnsemble& e, const std::vector<TreePath>& all) {
  const size_t nodes = e.feature.size();
  const size_t paths = all.size();
  if (!c.may_tabulate(static_cast<int64_t>(nodes * paths), kFlagWork)) return kNoRef;
  std::vector<double> signs(nodes * paths, 0.0);
  std::vector<double> wanted(paths, 0.0);
  for (size_t p = 0; p < paths; ++p) {
    for (const TreeStep& step : all[p].steps) {
      // +1 for a condition that must hold, -1 for one that must not: the product counts to `wanted` only on
      // the path itself.
      signs[step.node * paths + p] = step.taken ? 1 : -1;
      wanted[p] += step.taken ? 1 : 0;
    }
  }
  const auto columns = static_cast<int64_t>(paths);
  const Ref counted = c.emit(
      "MatMul",
      {conditions(c, e), constant_of(c, DType::float32, Shape{static_cast<int64_t>(nodes), columns}, signs)});
  return c.emit("Equal", {counted, constant_of(c, DType::float32, Shape{columns}, wanted)});
}

// [paths, targets]: what each path's leaf says; `none` where it says nothing.
std::vector<double> weights_of(const TreeEnsemble& e, const std::vector<TreePath>& all, int64_t how,
                               double none) {
  std::vector<double> weights(all.size() * e.targets, none);
  for (size_t p = 0; p < all.size(); ++p) {
    const size_t leaf = all[p].leaf;
    for (int64_t i = e.leaf_start[leaf]; i < e.leaf_start[leaf + 1]; ++i) {
      double& w = weights[p * e.targets + e.leaf_target[i]];
      if (how == kMin)
        w = std::min(w, e.leaf_weight[i]);
      else if (how == kMax)
        w = std::max(w, e.leaf_weight[i]);
      else
        w += e.leaf_weight[i];
    }
  }
  return weights;
}

Ref aggregated(LowerContext& c, const TreeEnsemble& e, const std::vector<TreePath>& all) {
  const auto paths = static_cast<int64_t>(all.size());
  const int64_t how = c.attrs().get_int("aggregate_function", kSum);
  const bool extreme = how == kMin || how == kMax;
  if (!c.may_tabulate(paths * e.targets, kNumberWork)) return kNoRef;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double none = how == kMin ? kInfinity : how == kMax ? -kInfinity : 0.0;
  // Sums of leaves in double: boosting adds up thousands of small numbers.
  const Ref table = constant_of(c, DType::float64, Shape{paths, e.targets}, weights_of(e, all, how, none));
  const Ref taken = taken_paths(c, e, all);
  if (!extreme) {
    const Ref sum = c.emit("MatMul", {c.cast(taken, DType::float64), table});
    const auto trees = static_cast<double>(e.roots.size());
    return how == kAverage ? c.div(sum, c.scalar(DType::float64, trees)) : sum;
  }
  const Ref chosen = c.emit(
      "Where", {c.reshape(taken, Shape{c.out_shape(0)[0], paths, 1}), table, c.scalar(DType::float64, none)});
  const Ref best = c.reduce(how == kMin ? "ReduceMin" : "ReduceMax", chosen, {1}, false);
  // Infinite where no tree spoke of the target.
  return c.emit("Where", {c.emit("IsInf", {best}), c.scalar(DType::float64, 0), best});
}

Status lower(LowerContext& c) {
  // As a node of its own, so that a backend that runs forests whole need not know the transforms.
  if (const int64_t post = c.attrs().get_int("post_transform", 0); post != 0) {
    ir::Attributes plain = c.attrs();
    plain.set("post_transform", int64_t{0});
    c.result(0, c.emit("PostTransform", {c.emit("TreeEnsemble", {c.in(0)}, plain)}, {{"kind", post}}));
    return {};
  }
  WALLE_ASSIGN(const TreeEnsemble e, read_tree_ensemble(c.attrs()));
  WALLE_ASSIGN(const std::vector<TreePath> paths, tree_paths(e));
  c.result(0, c.cast(aggregated(c, e, paths), c.out_dtype(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kTreeEnsembleOp{.name = "TreeEnsemble",
                                       .op_class = ir::OpClass::composite,
                                       .infer = infer,
                                       .lower = lower,
                                       .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
