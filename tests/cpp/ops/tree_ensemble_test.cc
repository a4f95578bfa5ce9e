// TreeEnsemble: every comparison at its edge, claimed by the CPU and as a formula, and models that are no
// trees.
#include <cmath>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "run_op.h"

namespace walle::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ir::Attributes one_question(int mode, double split, bool missing_is_true,
                            const std::vector<double>& members) {
  ir::Attributes a{{"nodes_featureids", Ints{0}},
                   {"nodes_splits", floats(Shape{1}, {split})},
                   {"nodes_modes", tensor(DType::uint8, Shape{1}, {static_cast<double>(mode)})},
                   {"nodes_missing_value_tracks_true", Ints{missing_is_true ? 1 : 0}},
                   {"nodes_truenodeids", Ints{0}},
                   {"nodes_trueleafs", Ints{1}},
                   {"nodes_falsenodeids", Ints{1}},
                   {"nodes_falseleafs", Ints{1}},
                   {"tree_roots", Ints{0}},
                   {"leaf_targetids", Ints{0, 0}},
                   {"leaf_weights", floats(Shape{2}, {1, 0})},
                   {"n_targets", int64_t{1}}};
  if (!members.empty())
    a.set("membership_values", floats(Shape{static_cast<int64_t>(members.size())}, members));
  return a;
}

// run_op with the CPU's kernel in place of the formula.
Result<std::vector<Tensor>> run_claimed(const ir::Attributes& attributes, const Tensor& x) {
  Program program;
  LowerOptions options{nullptr, runtime::fold_program, base::kMaxTensorBytes};
  options.claims = [](const ir::OpDef& op, auto&&...) { return op.name == "TreeEnsemble"; };
  Lowering lowering(program, options);
  WALLE_ASSIGN(const std::vector<Ref> made,
               lowering.apply(*find_op("TreeEnsemble"), attributes, {lowering.add_constant(x)}, 1, "node"));
  if (!program.at(made[0]).constant) return internal_error("it was not computed", "test");
  return std::vector<Tensor>{*program.at(made[0]).constant};
}

bool holds(int mode, float x, float split, bool missing_is_true, const std::vector<double>& members) {
  if (missing_is_true && std::isnan(x)) return true;
  switch (mode) {
    case 0: return x <= split;
    case 1: return x < split;
    case 2: return x >= split;
    case 3: return x > split;
    case 4: return x == split;
    case 5: return x != split;
    default:
      for (double m : members)
        if (x == static_cast<float>(m)) return true;
      return false;
  }
}

TEST(TreeEnsemble, EveryComparisonAtItsEdge) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<double> edges{
      0,         -0.0,       1,   std::nextafter(1.0F, 2.0F), std::nextafter(1.0F, 0.0F), -1, tiny, -tiny,
      kInfinity, -kInfinity, kNaN};
  const Tensor x = floats(Shape{static_cast<int64_t>(edges.size()), 1}, edges);
  const std::vector<double> members{1, -0.0, kInfinity, kNaN};
  for (int mode = 0; mode <= 6; ++mode)
    for (double split : edges)
      for (bool missing : {false, true}) {
        SCOPED_TRACE("mode " + std::to_string(mode) + ", split " + std::to_string(split));
        const std::vector<double> set = mode == 6 ? members : std::vector<double>{};
        const ir::Attributes a = one_question(mode, split, missing, set);
        const auto formula = run_op("TreeEnsemble", a, {x});
        const auto kernel = run_claimed(a, x);
        ASSERT_TRUE(formula.ok() && kernel.ok());
        for (size_t i = 0; i < edges.size(); ++i) {
          const bool want =
              holds(mode, static_cast<float>(edges[i]), static_cast<float>(split), missing, set);
          EXPECT_EQ((*formula)[0].as<float>()[i], want ? 1 : 0) << "formula at " << edges[i];
          EXPECT_EQ((*kernel)[0].as<float>()[i], want ? 1 : 0) << "kernel at " << edges[i];
        }
      }
}

TEST(TreeEnsemble, BranchesMayMeetAgainButNotGoRound) {
  ir::Attributes a = one_question(0, 0.5, false, {});
  a.set("nodes_featureids", Ints{0, 0, 0});
  a.set("nodes_splits", floats(Shape{3}, {0, 1, 2}));
  a.set("nodes_modes", tensor(DType::uint8, Shape{3}, {0, 0, 0}));
  a.set("nodes_missing_value_tracks_true", Ints{0, 0, 0});
  a.set("nodes_truenodeids", Ints{2, 0, 0});  // 0 and 1 both lead to 2
  a.set("nodes_trueleafs", Ints{0, 1, 1});
  a.set("nodes_falsenodeids", Ints{1, 2, 1});
  a.set("nodes_falseleafs", Ints{0, 0, 1});
  const Tensor x = floats(Shape{4, 1}, {-1, 0.5, 1.5, 3});
  for (const auto& got : {run_op("TreeEnsemble", a, {x}), run_claimed(a, x)}) {
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ(*(*got)[0].to_f64(), (std::vector<double>{1, 1, 1, 0}));
  }
  a.set("nodes_falsenodeids", Ints{1, 2, 0});
  a.set("nodes_falseleafs", Ints{0, 0, 0});
  EXPECT_FALSE(run_op("TreeEnsemble", a, {x}).ok());
}

TEST(TreeEnsemble, LeavesOfSeveralTargets) {
  ir::Attributes a = one_question(0, 0, false, {});
  a.set("leaf_targetids", Ints{0, 2, 1});
  a.set("leaf_weights", floats(Shape{3}, {1, 2, 3}));
  a.set("leaf_counts", Ints{2, 1});
  a.set("n_targets", int64_t{3});
  const Tensor x = floats(Shape{2, 1}, {-1, 1});
  for (const auto& got : {run_op("TreeEnsemble", a, {x}), run_claimed(a, x)}) {
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ(*(*got)[0].to_f64(), (std::vector<double>{1, 0, 2, 0, 3, 0}));
  }
  for (const Ints& wrong : {Ints{2}, Ints{2, 2}, Ints{-1, 4}, Ints{3, 0, 0, 1}}) {
    a.set("leaf_counts", wrong);
    EXPECT_FALSE(run_op("TreeEnsemble", a, {x}).ok());
  }
}

}  // namespace
}  // namespace walle::ops
