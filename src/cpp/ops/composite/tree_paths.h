// The decision trees of a TreeEnsemble, checked, and the same as paths from a root to a leaf.
#pragma once

#include <vector>

#include "ir/attributes.h"

namespace walle::ops {

enum class TreeMode : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };

// Where a branch leads: a node, or a leaf.
struct TreeEdge {
  int64_t target = 0;
  bool leaf = false;
};

struct TreeStep {
  int64_t node = 0;
  bool taken = false;  // the branch of a true condition
};

struct TreePath {
  std::vector<TreeStep> steps;
  int64_t leaf = 0;
};

struct TreeEnsemble {
  std::vector<int64_t> feature;  // per node
  std::vector<TreeMode> mode;
  std::vector<double> split;
  std::vector<bool> missing_is_true;
  std::vector<std::vector<double>> members;  // per node; of mode member
  std::vector<TreeEdge> yes, no;
  std::vector<int64_t> roots;       // one node per tree
  std::vector<int64_t> leaf_start;  // leaf l speaks of the entries [leaf_start[l], leaf_start[l + 1])
  std::vector<double> leaf_weight;  // per entry
  std::vector<int64_t> leaf_target;
  int64_t targets = 0;
};

// Every index in range, no node below itself; branches may meet again. Besides ONNX's attributes it knows
// leaf_counts, the number of (target, weight) pairs of each leaf; one each without it. Forests of several
// classes give every leaf one weight per class, and a tree per class would be walked as often.
Result<TreeEnsemble> read_tree_ensemble(const ir::Attributes& attrs);

// The paths of all trees; an error where their table (nodes times paths) would be too large to compute with.
Result<std::vector<TreePath>> tree_paths(const TreeEnsemble& e);

}  // namespace walle::ops
