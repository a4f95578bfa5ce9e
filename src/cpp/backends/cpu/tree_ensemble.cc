// TreeEnsemble on the CPU, claimed whole: the table of kernels/tree made of the checked attributes.
//
// The kernel asks one kind of question, x <= split, so that a step has no branch. The other comparisons are
// written as one or more of it here, once per session.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/cpu/cpu_op.h"
#include "kernels/tree/tree.h"
#include "ops/composite/tree_paths.h"

namespace walle::backends::cpu {

namespace {
using ops::TreeEdge;
using ops::TreeEnsemble;
using ops::TreeMode;

bool supports(const NodeView& node) {
  // A post-transform is lowered to operators of its own around an ensemble without one.
  const bool plain = node.attrs().get_int("post_transform", 0) == 0;
  return plain && (node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64);
}

// Writes a forest's nodes, each question as one or more of x <= split.
template <class T>
class Table {
 public:
  explicit Table(const TreeEnsemble& e)
      : e_(e), node_at_(e.feature.size(), -1), leaf_at_(e.leaf_start.size() - 1, -1) {}

  kernels::Forest<T> make() {
    forest_.leaf_start.assign(e_.leaf_start.begin(), e_.leaf_start.end());
    forest_.target.assign(e_.leaf_target.begin(), e_.leaf_target.end());
    forest_.weight = e_.leaf_weight;
    forest_.targets = e_.targets;
    std::vector<std::pair<int, int32_t>> trees;  // depth, root
    for (int64_t root : e_.roots) {
      const int depth = add_tree(root);
      trees.emplace_back(depth, node_at_[root]);
    }
    // The kernel walks several trees at once, until the deepest ends: neighbours should be of equal depth.
    std::ranges::stable_sort(trees, {}, &std::pair<int, int32_t>::first);
    for (const auto& [depth, root] : trees) forest_.roots.push_back(root);
    return std::move(forest_);
  }

 private:
  struct Pending {
    TreeEdge edge;
    int32_t at;  // where its first entry stands
    int depth;
  };

  // The greatest number before v, so that x < v is x <= below(v).
  static T below(T v) { return std::nextafter(v, -std::numeric_limits<T>::infinity()); }

  // 32 bits for the size of a node (kernels/tree/tree.h); the attributes of a file cannot hold so many trees.
  int32_t reserve() {
    forest_.nodes.emplace_back();
    forest_.if_nan.push_back(0);
    return static_cast<int32_t>(forest_.nodes.size() - 1);
  }

  // The entry where an edge leads; what is met for the first time is put down as still to be written.
  int32_t entry_of(const TreeEdge& edge, int depth) {
    int32_t& at = (edge.leaf ? leaf_at_ : node_at_)[edge.target];
    if (at < 0) {  // trees may share nodes: a file decides what an edge leads to
      at = reserve();
      todo_.push_back({edge, at, depth});
    }
    return at;
  }

  // Breadth first, so that the nodes every row meets lie together. Returns the depth.
  int add_tree(int64_t root) {
    todo_.clear();
    entry_of({root, false}, 1);
    int depth = 1;
    for (size_t i = 0; i < todo_.size(); ++i) {
      const Pending p = todo_[i];
      depth = std::max(depth, p.depth);
      if (p.edge.leaf) {
        put(p.at, std::numeric_limits<T>::quiet_NaN(), 0, p.at, static_cast<int32_t>(p.edge.target), p.at);
        continue;
      }
      const int64_t node = p.edge.target;
      const int32_t no = entry_of(e_.no[node], p.depth + 1);
      const int32_t yes = entry_of(e_.yes[node], p.depth + 1);
      ask(node, p.at, yes, no);
    }
    return depth;
  }

  void put(int32_t at, T split, int64_t feature, int32_t above, int32_t to, int32_t nan) {
    forest_.nodes[at] = {split, static_cast<int32_t>(feature), {above, to}};
    forest_.if_nan[at] = nan;
  }

  // Entry `at` (and new ones behind it) sends a row to `yes` or `no` as node `node` does.
  void ask(int64_t node, int32_t at, int32_t yes, int32_t no) {
    const int64_t f = e_.feature[node];
    const TreeMode mode = e_.mode[node];
    // NaN differs from every number; of all comparisons only != is true of it.
    const int32_t nan = e_.missing_is_true[node] || mode == TreeMode::not_equal ? yes : no;
    const auto split = static_cast<T>(e_.split[node]);
    if (split != split && mode != TreeMode::member) {  // nothing compares with NaN
      const int32_t to = mode == TreeMode::not_equal ? yes : no;
      put(at, split, f, to, to, nan);
      return;
    }
    switch (mode) {
      case TreeMode::less_equal: put(at, split, f, no, yes, nan); break;
      case TreeMode::less: below_split(at, split, f, no, yes, nan); break;
      case TreeMode::greater_equal: below_split(at, split, f, yes, no, nan); break;
      case TreeMode::greater: put(at, split, f, yes, no, nan); break;
      case TreeMode::equal: ask_equal(at, split, f, yes, no, nan); break;
      case TreeMode::not_equal: ask_equal(at, split, f, no, yes, nan); break;
      case TreeMode::member: ask_member(e_.members[node], at, f, yes, no, nan); break;
    }
  }

  // x < split, which is x <= the number before it; nothing is before -inf.
  void below_split(int32_t at, T split, int64_t f, int32_t above, int32_t to, int32_t nan) {
    if (split == -std::numeric_limits<T>::infinity()) to = above;
    put(at, below(split), f, above, to, nan);
  }

  // x <= split and not x < split.
  void ask_equal(int32_t at, T split, int64_t f, int32_t same, int32_t other, int32_t nan) {
    const int32_t second = reserve();
    put(at, split, f, other, second, nan);
    below_split(second, split, f, same, other, nan);
  }

  // One question per member, in a row; who answers none of them with yes gets to the last entry,
  // which asks nothing.
  void ask_member(const std::vector<double>& set, int32_t at, int64_t f, int32_t yes, int32_t no,
                  int32_t nan) {
    for (double v : set) {
      const int32_t next = reserve();
      ask_equal(at, static_cast<T>(v), f, yes, next, nan);
      at = next;
    }
    put(at, T{0}, f, no, no, nan);
  }

  const TreeEnsemble& e_;
  std::vector<int32_t> node_at_;  // the entry of each node, -1 while it has none
  std::vector<int32_t> leaf_at_;
  std::vector<Pending> todo_;
  kernels::Forest<T> forest_;
};

// Eight trees walk side by side (kernels/tree/tree.cc), hence the name.
void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "tree_flat_x8", threads));
}

template <class T>
std::unique_ptr<Kernel> kernel(const NodeView& node, const TreeEnsemble& e) {
  kernels::Forest<T> forest = Table<T>(e).make();
  forest.how = static_cast<kernels::TreeSum>(node.attrs().get_int("aggregate_function", 1));
  const Shape shape = node.shape(0);
  return make_kernel([forest = std::move(forest), shape](const HostArgs& a) -> Status {
    kernels::run_forest(forest, shape[0], shape[1], a.input<T>(0), a.output<T>(0), a.threads);
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const TreeEnsemble e, ops::read_tree_ensemble(node.attrs()));
  if (node.dtype(0) == DType::float64) return kernel<double>(node, e);
  return kernel<float>(node, e);
}
}  // namespace

extern const CpuOp kTreeEnsembleCpu{
    .op = "TreeEnsemble", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
