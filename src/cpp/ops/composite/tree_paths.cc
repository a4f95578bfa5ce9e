#include "ops/composite/tree_paths.h"

#include <cmath>
#include <utility>

namespace walle::ops {

namespace {
// Paths times nodes: the size of the table the decomposition multiplies with, 64 MB in float32.
constexpr size_t kMaxTable = size_t{1} << 24;
constexpr int64_t kMaxTargets = 1 << 20;
constexpr int kModes = static_cast<int>(TreeMode::member) + 1;

Error wrong(const std::string& given, const std::string& expected) {
  return model_error(given, expected, "TreeEnsemble", "check the attributes");
}

Result<std::vector<double>> numbers(const ir::Attributes& attrs, const char* name) {
  const Tensor* t = attrs.get_tensor(name);
  if (!t) return wrong(std::string("no attribute ") + name, "a tensor");
  return t->to_f64();
}

struct Edges {
  std::vector<int64_t> target, is_leaf;
};

// Walks every tree once; a node met twice would be a cycle or a shared sub-tree.
class PathWalk {
 public:
  PathWalk(TreeEnsemble& e, const Edges& yes, const Edges& no, bool keep)
      : e_(e), yes_(yes), no_(no), keep_(keep), seen_(e.feature.size(), false) {}

  Status from(int64_t root) {
    std::vector<Pending> todo{{root, false, {}}};
    while (!todo.empty()) {
      Pending p = std::move(todo.back());
      todo.pop_back();
      const size_t bound = p.leaf ? e_.leaf_weight.size() : e_.feature.size();
      if (p.target < 0 || std::cmp_greater_equal(p.target, bound))
        return wrong(std::string(p.leaf ? "leaf " : "node ") + std::to_string(p.target),
                     "an index below " + std::to_string(bound));
      if (p.leaf) {
        e_.paths.push_back({std::move(p.steps), p.target});
        if (e_.paths.size() * e_.feature.size() > kMaxTable)
          return wrong(std::to_string(e_.feature.size()) + " nodes",
                       "an ensemble whose nodes times leaves stay below 2^24");
        continue;
      }
      if (seen_[p.target]) return wrong("node " + std::to_string(p.target) + " reached twice", "trees");
      seen_[p.target] = true;
      WALLE_TRY(follow_both(p, todo));
    }
    return {};
  }

 private:
  struct Pending {
    int64_t target;
    bool leaf;
    std::vector<TreeStep> steps;
  };

  Status follow_both(const Pending& p, std::vector<Pending>& todo) {
    for (bool taken : {false, true}) {
      const Edges& edge = taken ? yes_ : no_;
      std::vector<TreeStep> steps;
      if (keep_) {
        steps = p.steps;
        steps.push_back({p.target, taken});
      }
      steps_ += steps.size();  // a chain of n nodes copies n^2 / 2 of them
      if (steps_ > kMaxTable) return wrong("trees whose paths have more than 2^24 steps", "shallower trees");
      todo.push_back({edge.target[p.target], edge.is_leaf[p.target] != 0, std::move(steps)});
    }
    return {};
  }

  TreeEnsemble& e_;
  const Edges& yes_;
  const Edges& no_;
  bool keep_;
  std::vector<bool> seen_;
  size_t steps_ = 0;
};

// The sets of the member nodes, in order, each ended by a NaN.
Status read_members(const ir::Attributes& attrs, TreeEnsemble& e) {
  std::vector<double> values;
  if (attrs.has("membership_values")) {
    WALLE_ASSIGN(values, numbers(attrs, "membership_values"));
  }
  size_t at = 0;
  for (size_t i = 0; i < e.mode.size(); ++i) {
    if (e.mode[i] != TreeMode::member) continue;
    for (; at < values.size() && !std::isnan(values[at]); ++at) e.members[i].push_back(values[at]);
    if (at >= values.size())
      return wrong("too few membership_values", "a set ended by NaN for every node of mode MEMBER");
    ++at;
  }
  return {};
}
}  // namespace

Result<TreeEnsemble> read_tree_ensemble(const ir::Attributes& attrs, bool paths) {
  TreeEnsemble e;
  e.feature = attrs.get_ints("nodes_featureids");
  WALLE_ASSIGN(e.split, numbers(attrs, "nodes_splits"));
  WALLE_ASSIGN(const std::vector<double> modes, numbers(attrs, "nodes_modes"));
  WALLE_ASSIGN(e.leaf_weight, numbers(attrs, "leaf_weights"));
  e.leaf_target = attrs.get_ints("leaf_targetids");
  e.targets = attrs.get_int("n_targets", 1);
  const Edges yes{attrs.get_ints("nodes_truenodeids"), attrs.get_ints("nodes_trueleafs")};
  const Edges no{attrs.get_ints("nodes_falsenodeids"), attrs.get_ints("nodes_falseleafs")};
  const std::vector<int64_t> missing = attrs.get_ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> roots = attrs.get_ints("tree_roots");
  const size_t n = e.feature.size();
  for (size_t size : {e.split.size(), modes.size(), yes.target.size(), yes.is_leaf.size(), no.target.size(),
                      no.is_leaf.size()})
    if (size != n || n == 0)
      return wrong(std::to_string(size) + " entries in a nodes_ attribute",
                   std::to_string(n) + ", one per node");
  if (e.leaf_weight.size() != e.leaf_target.size() || e.targets < 1 || e.targets > kMaxTargets ||
      roots.empty())
    return wrong("leaf attributes of different lengths, or no targets or roots",
                 "one target per leaf, at least one tree");
  for (int64_t t : e.leaf_target)
    if (t < 0 || t >= e.targets)
      return wrong("leaf target " + std::to_string(t), "0 to " + std::to_string(e.targets - 1));
  for (size_t i = 0; i < n; ++i) {
    if (!(modes[i] >= 0 && modes[i] < kModes))
      return wrong("node mode " + std::to_string(modes[i]), "0 to " + std::to_string(kModes - 1));
    e.mode.push_back(static_cast<TreeMode>(modes[i]));
    e.missing_is_true.push_back(i < missing.size() && missing[i] != 0);
  }
  e.members.resize(n);
  e.trees = static_cast<int64_t>(roots.size());
  WALLE_TRY(read_members(attrs, e));
  PathWalk walk(e, yes, no, paths);
  for (int64_t root : roots) WALLE_TRY(walk.from(root));
  return e;
}

}  // namespace walle::ops
