// The decision trees of a TreeEnsemble as paths from a root to a leaf, checked.
#pragma once

#include <vector>

#include "ir/attributes.h"

namespace walle::ops {

enum class TreeMode : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };

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
  std::vector<double> leaf_weight;
  std::vector<int64_t> leaf_target;
  std::vector<TreePath> paths;
  int64_t targets = 0;
  int64_t trees = 0;
};

// Without `paths`, which take time quadratic in the depth, when only the checks are wanted.
Result<TreeEnsemble> read_tree_ensemble(const ir::Attributes& attrs, bool paths = true);

}  // namespace walle::ops
