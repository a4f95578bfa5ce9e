// Where operators run: the dynamic programming against every possible placement, and what a node nobody runs
// is told.
#include "search/placement.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace walle::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Runs whatever its name says, at a cost of its own.
class Fake final : public backends::Backend {
 public:
  Fake(std::string_view name, std::string_view op) : name_(name), op_(op) {}
  std::string_view name() const override { return name_; }
  bool supports(const backends::NodeView& node) const override { return node.op().name == op_ || op_ == "*"; }
  std::vector<backends::Candidate> candidates(const backends::NodeView&, int threads) const override {
    return {{"slow", {}, 8.0 / threads, 0, 0}, {"fast", {{"tile", 4}}, 2.0 / threads, 64, 1}};
  }
  Result<std::unique_ptr<backends::Kernel>> prepare(const backends::NodeView&, const backends::Candidate&,
                                                    backends::PrepareContext&) const override {
    return internal_error("never run", "test");
  }

 private:
  std::string_view name_, op_;
};

double total(const std::vector<std::vector<double>>& costs, const std::vector<double>& bytes,
             const std::vector<const backends::Backend*>& backends, const std::vector<int>& placed) {
  double sum = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    sum += costs[i][static_cast<size_t>(placed[i])];
    if (i > 0)
      sum += transfer_ms(*backends[static_cast<size_t>(placed[i - 1])],
                         *backends[static_cast<size_t>(placed[i])], bytes[i]);
  }
  return sum;
}

TEST(Placement, IsTheCheapestOfAll) {
  const Fake a("a", "*"), b("b", "*"), c("c", "*");
  const std::vector<const backends::Backend*> backends{&a, &b, &c};
  const auto seed = std::random_device()();
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> cost(0, 0.2), size(0, 500000);
  for (int round = 0; round < 100; ++round) {
    const size_t n = 1 + rng() % 5;
    std::vector<std::vector<double>> costs(n);
    std::vector<double> bytes(n);
    for (size_t i = 0; i < n; ++i) {
      bytes[i] = size(rng);
      for (int k = 0; k < 3; ++k) costs[i].push_back(rng() % 4 ? cost(rng) : kNever);
      costs[i][rng() % 3] = cost(rng);  // somebody runs it
    }
    const auto placed = place(costs, bytes, backends);
    double best = kNever;
    std::vector<int> other(n, 0);
    for (size_t code = 0, all = static_cast<size_t>(std::pow(3, n)); code < all; ++code) {
      for (size_t i = 0, rest = code; i < n; ++i, rest /= 3) other[i] = static_cast<int>(rest % 3);
      best = std::min(best, total(costs, bytes, backends, other));
    }
    ASSERT_NEAR(total(costs, bytes, backends, placed), best, 1e-9) << "seed " << seed;
  }
  EXPECT_TRUE(place({}, {}, backends).empty());
}

TEST(Placement, HandingOverCosts) {
  const Fake a("a", "*"), b("b", "*");
  EXPECT_EQ(transfer_ms(a, a, 1e9), 0);
  EXPECT_GT(transfer_ms(a, b, 0), 0);
  EXPECT_GT(transfer_ms(a, b, 1e9), transfer_ms(a, b, 1e6));
  // One operator is a little cheaper elsewhere, but not by as much as going there and back.
  EXPECT_EQ(place({{1, 9}, {1, 0.999}, {1, 9}}, {0, 1e6, 1e6}, {&a, &b}), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(place({{1, 9}, {9, 0.999}, {1, 9}}, {0, 1e6, 1e6}, {&a, &b}), (std::vector<int>{0, 1, 0}));
}

ops::Program one_node(const ir::OpDef& op) {
  ops::Program p;
  p.values.push_back({DType::bfloat16, Shape{2, 3}, std::nullopt});
  p.values.push_back({DType::bfloat16, Shape{2, 3}, std::nullopt});
  p.nodes.push_back({&op, {}, {0}, {1}, "origin", {}, {}});
  p.inputs = {0};
  p.outputs = {1};
  return p;
}

const ir::OpDef kRelu{.name = "Relu"};
const ir::OpDef kOdd{.name = "Odd"};

TEST(Choices, ListEveryCandidateOfEveryBackend) {
  const Fake some("some", "Relu"), none("none", "Else");
  const ops::Program p = one_node(kRelu);
  const auto choices = choices_for(p, p.nodes[0], {&none, &some}, 2);
  ASSERT_TRUE(choices.ok());
  ASSERT_EQ(choices->size(), 2u);
  for (const Choice& c : *choices) EXPECT_EQ(c.backend, &some);
}

TEST(Choices, ANodeNobodyRunsIsDescribed) {
  const Fake some("some", "Relu");
  const ops::Program p = one_node(kOdd);
  const auto choices = choices_for(p, p.nodes[0], {&some}, 1);
  ASSERT_FALSE(choices.ok());
  EXPECT_EQ(choices.error().group(), base::ErrorGroup::backend);
  for (const char* part : {"Odd(bfloat16[2, 3])", "origin"})
    EXPECT_NE(choices.error().message().find(part), std::string::npos) << choices.error().message();
  EXPECT_FALSE(make_plan(p, {&some}, {}).ok());
}

TEST(Plan, TakesTheCheapestWithSearchAndTheFirstWithout) {
  const Fake some("some", "Relu");
  const ops::Program p = one_node(kRelu);
  const auto searched = make_plan(p, {&some}, {});
  const auto plain = make_plan(p, {&some}, {.search = false});
  ASSERT_TRUE(searched.ok() && plain.ok());
  EXPECT_EQ(searched->steps[0].chosen.candidate.algorithm, "fast");
  EXPECT_EQ(searched->predicted_ms, 2.0);
  ASSERT_EQ(searched->steps[0].losers.size(), 1u);
  EXPECT_EQ(searched->steps[0].losers[0].candidate.algorithm, "slow");
  EXPECT_EQ(plain->steps[0].chosen.candidate.algorithm, "slow");
  EXPECT_EQ(make_plan(p, {&some}, {.threads = 2})->predicted_ms, 1.0);
}

}  // namespace
}  // namespace walle::search
