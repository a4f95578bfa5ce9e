// The flat forest beside the same trees walked a node at a time, and beside what they mean by hand.
#include "kernels/tree/tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "seed.h"

namespace walle::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int kFeatures = 5;

// A random tree below entry `at` of a table, at most `depth` branches deep.
void grow(Forest<float>& f, std::mt19937& rng, size_t at, int depth) {
  std::uniform_real_distribution<float> number(-1, 1);
  if (depth == 0 || rng() % 8 == 0) {
    const auto leaf = static_cast<int32_t>(f.leaf_start.size() - 1);
    for (uint32_t k = 0; k < 1 + rng() % 3; ++k) {
      f.target.push_back(static_cast<int32_t>(rng() % static_cast<uint32_t>(f.targets)));
      f.weight.push_back(number(rng));
    }
    f.leaf_start.push_back(static_cast<int32_t>(f.weight.size()));
    f.nodes[at] = {kNaN, 0, {static_cast<int32_t>(at), leaf}};
    return;
  }
  const auto no = static_cast<int32_t>(f.nodes.size());
  f.nodes.resize(f.nodes.size() + 2);
  f.if_nan.resize(f.nodes.size());
  f.nodes[at] = {number(rng), static_cast<int32_t>(rng() % kFeatures), {no, no + 1}};
  f.if_nan[at] = no + static_cast<int32_t>(rng() % 2);
  grow(f, rng, static_cast<size_t>(no), depth - 1);
  grow(f, rng, static_cast<size_t>(no) + 1, depth - 1);
}

Forest<float> random_forest(std::mt19937& rng, int trees, int depth, int64_t targets, TreeSum how) {
  Forest<float> f;
  f.targets = targets;
  f.how = how;
  f.leaf_start.push_back(0);
  for (int t = 0; t < trees; ++t) {
    f.roots.push_back(static_cast<int32_t>(f.nodes.size()));
    f.nodes.emplace_back();
    f.if_nan.push_back(0);
    grow(f, rng, f.nodes.size() - 1, depth);
  }
  return f;
}

TEST(Tree, FlatEqualsNodeByNode) {
  std::mt19937 rng(test_seed());
  for (int trial = 0; trial < 200; ++trial) {
    const auto how = static_cast<TreeSum>(rng() % 4);
    const int64_t targets = 1 + rng() % 3;
    const Forest<float> f =
        random_forest(rng, 1 + static_cast<int>(rng() % 30), 1 + trial % 12, targets, how);
    const auto rows = static_cast<int64_t>(1 + rng() % 150);
    std::vector<float> x(static_cast<size_t>(rows * kFeatures));
    std::uniform_real_distribution<float> number(-1, 1);
    for (float& v : x) v = trial % 3 == 0 && rng() % 10 == 0 ? kNaN : number(rng);
    std::vector<float> flat(static_cast<size_t>(rows * targets)), plain(flat.size());
    run_forest(f, rows, kFeatures, x.data(), flat.data(), 1 + static_cast<int>(rng() % 3));
    run_forest_reference(f, rows, kFeatures, x.data(), plain.data());
    ASSERT_EQ(flat, plain) << "trial " << trial;
  }
}

TEST(Tree, OneQuestionByHand) {
  Forest<double> f;
  f.nodes = {{0.5, 1, {1, 2}}, {NAN, 0, {1, 0}}, {NAN, 0, {2, 1}}};
  f.if_nan = {2, 1, 2};
  f.roots = {0};
  f.leaf_start = {0, 1, 2};
  f.target = {0, 0};
  f.weight = {10, 20};
  const std::vector<double> x{9, 0.4, 9, 0.5, 9, 0.6, 9, NAN, NAN, 0.6};
  std::vector<double> y(5);
  run_forest(f, 5, 2, x.data(), y.data(), 1);
  EXPECT_EQ(y, (std::vector<double>{20, 20, 10, 20, 10}));
}

}  // namespace
}  // namespace walle::kernels
