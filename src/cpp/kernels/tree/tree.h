// Decision trees as one flat table of nodes that all ask the same question, x <= split: other comparisons are
// rewritten to it when the table is made, so that a step is two loads, a comparison and an index.
#pragma once

#include <cstdint>
#include <vector>

namespace walle::kernels {

// 16 bytes for float: four nodes to a cache line.
template <class T>
struct TreeNode {
  T split;
  int32_t feature;
  // next[x <= split]. A leaf asks whether feature 0 is below NaN, which nothing is, and so stays where it is:
  // next[0] is itself and next[1] the leaf's number.
  int32_t next[2];
};

enum class TreeSum : uint8_t { average, sum, min, max };

template <class T>
struct Forest {
  std::vector<TreeNode<T>> nodes;
  std::vector<int32_t> if_nan;      // per node: where a NaN goes
  std::vector<int32_t> roots;       // by the depth of their trees, so that neighbours end together
  std::vector<int32_t> leaf_start;  // leaf l adds the entries [leaf_start[l], leaf_start[l + 1])
  std::vector<int32_t> target;      // per entry
  std::vector<double> weight;
  int64_t targets = 1;
  TreeSum how = TreeSum::sum;
};

// y[rows, targets] of x[rows, features]; every feature of the forest is below `features`. A target that no
// tree speaks of is 0. Sums are float64 and in the order of the trees for a row, whatever `threads` is.
void run_forest(const Forest<float>& forest, int64_t rows, int64_t features, const float* x, float* y,
                int threads);
void run_forest(const Forest<double>& forest, int64_t rows, int64_t features, const double* x, double* y,
                int threads);

// The same a node at a time: what the tests compare with.
void run_forest_reference(const Forest<float>& forest, int64_t rows, int64_t features, const float* x,
                          float* y);
void run_forest_reference(const Forest<double>& forest, int64_t rows, int64_t features, const double* x,
                          double* y);

}  // namespace walle::kernels
