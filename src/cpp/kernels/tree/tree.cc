#include "kernels/tree/tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
// Trees walked side by side. A step waits some 15 cycles for its two loads; eight of them in flight hide most
// of that, and more do not fit into the registers.
constexpr size_t kLanes = 8;
// Steps between two looks at whether all lanes have reached a leaf.
constexpr int kSteps = 4;
// Rows that go through a group of trees before the next group is loaded.
constexpr int64_t kBlock = 64;
// Steps of a thread below which waking it costs more than it does.
constexpr int64_t kGrainTrees = 20000;

using Lanes = std::array<int32_t, kLanes>;

template <class T>
int32_t leaf_of(const Forest<T>& f, int32_t node) {
  return f.nodes[node].next[1];
}

// All lanes to their leaves. With fewer than kLanes trees left the rest repeat the last one.
template <class T>
void walk(const TreeNode<T>* nodes, const T* row, Lanes& at) {
  bool moved = true;
  while (moved) {
    for (int step = 1; step < kSteps; ++step)
      for (int32_t& a : at) {
        // No branch: the comparison is an index. A mispredicted one would cost as much as the loads do.
        const TreeNode<T>& n = nodes[a];
        a = n.next[row[n.feature] <= n.split ? 1 : 0];
      }
    moved = false;
    for (int32_t& a : at) {
      const TreeNode<T>& n = nodes[a];
      const int32_t to = n.next[row[n.feature] <= n.split ? 1 : 0];
      moved |= to != a;
      a = to;
    }
  }
}

// The same for a row with a NaN somewhere, one tree at a time.
template <class T>
// x <= split is false for NaN, but the model says which way it goes; asking that in walk() would cost every
// row.
int32_t walk_missing(const Forest<T>& f, const T* row, int32_t at) {
  for (;;) {
    const TreeNode<T>& n = f.nodes[at];
    const T x = row[n.feature];
    const int32_t to = n.next[0] == at ? at : x != x ? f.if_nan[at] : n.next[x <= n.split ? 1 : 0];
    if (to == at) return at;
    at = to;
  }
}

double nothing(TreeSum how) {
  if (how == TreeSum::min) return std::numeric_limits<double>::infinity();
  return how == TreeSum::max ? -std::numeric_limits<double>::infinity() : 0.0;
}

template <class T>
void add_leaf(const Forest<T>& f, int32_t leaf, double* sums) {
  const size_t l = leaf;
  for (int32_t e = f.leaf_start[l]; e < f.leaf_start[l + 1]; ++e) {
    double& sum = sums[f.target[e]];
    const double w = f.weight[e];
    switch (f.how) {
      case TreeSum::min: sum = std::min(sum, w); break;
      case TreeSum::max: sum = std::max(sum, w); break;
      case TreeSum::average:
      case TreeSum::sum: sum += w; break;
    }
  }
}

template <class T>
T finished(const Forest<T>& f, double sum) {
  if (f.how == TreeSum::average) sum /= static_cast<double>(f.roots.size());
  if (f.how == TreeSum::min || f.how == TreeSum::max)
    if (std::isinf(sum)) sum = 0;  // no tree spoke of this target
  return static_cast<T>(sum);
}

template <class T>
bool has_nan(const T* row, int64_t features) {
  bool found = false;
  for (int64_t i = 0; i < features; ++i) found |= row[i] != row[i];
  return found;
}

template <class T>
void run_block(const Forest<T>& f, int64_t rows, int64_t features, const T* x, T* y) {
  std::array<bool, kBlock> missing{};
  for (int64_t r = 0; r < rows; ++r) missing[r] = has_nan(x + r * features, features);
  std::vector<double> sums(rows * f.targets, nothing(f.how));
  for (size_t tree = 0; tree < f.roots.size(); tree += kLanes) {
    const size_t count = std::min(kLanes, f.roots.size() - tree);
    Lanes roots;
    for (size_t l = 0; l < kLanes; ++l) roots[l] = f.roots[tree + std::min(l, count - 1)];
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * features;
      Lanes at = roots;
      if (missing[r])
        for (int32_t& a : at) a = walk_missing(f, row, a);
      else
        walk(f.nodes.data(), row, at);
      // In the order of trees: float sums then do not depend on how lanes are grouped.
      for (size_t l = 0; l < count; ++l) add_leaf(f, leaf_of(f, at[l]), sums.data() + r * f.targets);
    }
  }
  for (int64_t i = 0; i < rows * f.targets; ++i) y[i] = finished(f, sums[i]);
}

template <class T>
void run(const Forest<T>& f, int64_t rows, int64_t features, const T* x, T* y, int threads) {
  const int64_t blocks = base::ceil_div(rows, kBlock);
  const int64_t trees = static_cast<int64_t>(f.roots.size());
  const int64_t grain = std::max<int64_t>(1, kGrainTrees / (trees * kBlock));
  parallel_ranges(blocks, grain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kBlock;
      run_block(f, std::min(kBlock, rows - first), features, x + first * features, y + first * f.targets);
    }
  });
}

template <class T>
void run_reference(const Forest<T>& f, int64_t rows, int64_t features, const T* x, T* y) {
  std::vector<double> sums(f.targets);
  for (int64_t r = 0; r < rows; ++r) {
    std::ranges::fill(sums, nothing(f.how));
    for (int32_t root : f.roots)
      add_leaf(f, leaf_of(f, walk_missing(f, x + r * features, root)), sums.data());
    for (int64_t t = 0; t < f.targets; ++t) y[r * f.targets + t] = finished(f, sums[t]);
  }
}
}  // namespace

void run_forest(const Forest<float>& forest, int64_t rows, int64_t features, const float* x, float* y,
                int threads) {
  run(forest, rows, features, x, y, threads);
}
void run_forest(const Forest<double>& forest, int64_t rows, int64_t features, const double* x, double* y,
                int threads) {
  run(forest, rows, features, x, y, threads);
}
void run_forest_reference(const Forest<float>& forest, int64_t rows, int64_t features, const float* x,
                          float* y) {
  run_reference(forest, rows, features, x, y);
}
void run_forest_reference(const Forest<double>& forest, int64_t rows, int64_t features, const double* x,
                          double* y) {
  run_reference(forest, rows, features, x, y);
}

}  // namespace walle::kernels
