#include "ops/composite/tree_paths.h"

#include <cmath>
#include <utility>

namespace walle::ops {

namespace {
// Paths times nodes: the size of the table the decomposition multiplies with, 64 MB in float32.
constexpr size_t kMaxTable = size_t{1} << 24;
constexpr int64_t kMaxTargets = int64_t{1} << 20;
// Nodes, leaves and entries are numbered with 32 bits in kernels.
constexpr size_t kMaxEntries = size_t{1} << 28;
constexpr int kModes = static_cast<int>(TreeMode::member) + 1;

Error wrong(Text given, Text expected) {
  return model_error(given, expected, "TreeEnsemble", "check the attributes");
}

Result<std::vector<double>> numbers(const ir::Attributes& attrs, const char* name) {
  const Tensor* t = attrs.get_tensor(name);
  if (!t) return wrong({"no attribute ", name}, "a tensor");
  return t->to_f64();
}

// The sets of the member nodes, in order, each ended by a NaN.
Status read_members(const ir::Attributes& attrs, TreeEnsemble& e) {
  std::vector<double> values;
  if (attrs.has("membership_values")) {
    WALLE_ASSIGN(values, numbers(attrs, "membership_values"));
  }
  e.members.resize(e.mode.size());
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

Status read_leaves(const ir::Attributes& attrs, TreeEnsemble& e) {
  WALLE_ASSIGN(e.leaf_weight, numbers(attrs, "leaf_weights"));
  e.leaf_target = attrs.get_ints("leaf_targetids");
  e.targets = attrs.get_int("n_targets", 1);
  const size_t entries = e.leaf_weight.size();
  if (entries != e.leaf_target.size() || entries > kMaxEntries || e.targets < 1 || e.targets > kMaxTargets)
    return wrong("leaf attributes of different lengths, or no targets", "one target per leaf weight");
  for (int64_t t : e.leaf_target)
    if (t < 0 || t >= e.targets) return wrong({"leaf target ", t}, {"0 to ", e.targets - 1});
  // Without the attribute each leaf has one entry, ONNX's form.
  const std::vector<int64_t> counts =
      attrs.get_ints("leaf_counts", std::vector<int64_t>(attrs.has("leaf_counts") ? 0 : entries, 1));
  e.leaf_start.push_back(0);
  // Against what is left, so that sums of a file's numbers cannot overflow.
  for (int64_t count : counts) {
    const int64_t left = static_cast<int64_t>(entries) - e.leaf_start.back();
    if (count < 0 || count > left)
      return wrong("leaf_counts beyond the leaf_weights", "counts that add up to their number");
    e.leaf_start.push_back(e.leaf_start.back() + count);
  }
  if (e.leaf_start.back() != static_cast<int64_t>(entries))
    return wrong({"leaf_counts that add up to ", e.leaf_start.back()}, {entries, ", one per leaf weight"});
  return {};
}

Status read_edges(const ir::Attributes& attrs, const std::string& branch, size_t nodes,
                  std::vector<TreeEdge>& out) {
  const std::vector<int64_t> target = attrs.get_ints("nodes_" + branch + "nodeids");
  const std::vector<int64_t> is_leaf = attrs.get_ints("nodes_" + branch + "leafs");
  if (target.size() != nodes || is_leaf.size() != nodes)
    return wrong({"nodes_", branch, "... of ", target.size(), " and ", is_leaf.size(), " entries"},
                 {nodes, ", one per node"});
  out.reserve(nodes);
  for (size_t i = 0; i < nodes; ++i) out.push_back({target[i], is_leaf[i] != 0});
  return {};
}

// From every root, each node once. Branches may meet again (LightGBM's categories share what follows them),
// but a node on the way to itself would never end.
Status check_trees(const TreeEnsemble& e) {
  enum class Seen : uint8_t { no, above, done };
  std::vector<Seen> seen(e.feature.size(), Seen::no);
  std::vector<TreeEdge> todo;
  for (int64_t root : e.roots) todo.push_back({root, false});
  while (!todo.empty()) {
    const TreeEdge edge = todo.back();
    const size_t bound = edge.leaf ? e.leaf_start.size() - 1 : e.feature.size();
    if (edge.target < 0 || static_cast<size_t>(edge.target) >= bound)
      return wrong({edge.leaf ? "leaf " : "node ", edge.target}, {"an index below ", bound});
    const size_t at = edge.target;
    if (edge.leaf || seen[at] != Seen::no) {
      if (!edge.leaf) seen[at] = Seen::done;  // second time on top: everything below it is
      todo.pop_back();
      continue;
    }
    seen[at] = Seen::above;
    // Depth first with an own stack: a hostile chain of 2^28 nodes must not overflow the thread's.
    for (const TreeEdge& next : {e.no[at], e.yes[at]}) {
      // Unknown targets are pushed unmarked; the bounds check above refuses them when they come up.
      const bool known = !next.leaf && next.target >= 0 && static_cast<size_t>(next.target) < seen.size();
      if (known && seen[next.target] == Seen::above)
        return wrong({"node ", next.target, " below itself"}, "trees");
      if (!known || seen[next.target] == Seen::no) todo.push_back(next);
    }
  }
  return {};
}
}  // namespace

Result<TreeEnsemble> read_tree_ensemble(const ir::Attributes& attrs) {
  TreeEnsemble e;
  e.feature = attrs.get_ints("nodes_featureids");
  WALLE_ASSIGN(e.split, numbers(attrs, "nodes_splits"));
  WALLE_ASSIGN(const std::vector<double> modes, numbers(attrs, "nodes_modes"));
  const size_t n = e.feature.size();
  if (e.split.size() != n || modes.size() != n || n == 0 || n > kMaxEntries)
    return wrong({e.split.size(), " splits and ", modes.size(), " modes"}, {n, ", one per node"});
  WALLE_TRY(read_edges(attrs, "true", n, e.yes));
  WALLE_TRY(read_edges(attrs, "false", n, e.no));
  WALLE_TRY(read_leaves(attrs, e));
  // Shorter or absent: NaN then takes the false branch, ONNX's default.
  const std::vector<int64_t> missing = attrs.get_ints("nodes_missing_value_tracks_true");
  for (size_t i = 0; i < n; ++i) {
    // Written so that NaN fails: modes come as a tensor of any dtype.
    if (!(modes[i] >= 0 && modes[i] < kModes)) return wrong({"node mode ", modes[i]}, {"0 to ", kModes - 1});
    e.mode.push_back(static_cast<TreeMode>(modes[i]));
    e.missing_is_true.push_back(i < missing.size() && missing[i] != 0);
  }
  e.roots = attrs.get_ints("tree_roots");
  if (e.roots.empty()) return wrong("no tree_roots", "at least one tree");
  WALLE_TRY(read_members(attrs, e));
  WALLE_TRY(check_trees(e));
  return e;
}

Result<std::vector<TreePath>> tree_paths(const TreeEnsemble& e) {
  struct Pending {
    TreeEdge edge;
    std::vector<TreeStep> steps;
  };
  std::vector<TreePath> paths;
  size_t copied = 0;
  for (int64_t root : e.roots) {
    std::vector<Pending> todo{{{root, false}, {}}};
    while (!todo.empty()) {
      Pending p = std::move(todo.back());
      todo.pop_back();
      if (p.edge.leaf) {
        paths.push_back({std::move(p.steps), p.edge.target});
        // Asked while paths are made: shared branches can give exponentially many.
        if (paths.size() * e.feature.size() > kMaxTable)
          return wrong({e.feature.size(), " nodes"}, "an ensemble whose nodes times leaves stay below 2^24");
        continue;
      }
      const size_t at = p.edge.target;
      // The true branch is pushed last and walked first; the order of paths does not matter to sums of
      // booleans.
      for (bool taken : {false, true}) {
        std::vector<TreeStep> steps = p.steps;
        steps.push_back({p.edge.target, taken});
        copied += steps.size();  // a chain of n nodes copies n^2 / 2 of them
        if (copied > kMaxTable)
          return wrong("trees whose paths have more than 2^24 steps", "shallower trees");
        todo.push_back({taken ? e.yes[at] : e.no[at], std::move(steps)});
      }
    }
  }
  return paths;
}

}  // namespace walle::ops
