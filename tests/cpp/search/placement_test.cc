// Where operators run: the dynamic program against every possible placement, and what a node nobody runs is
// told.
#include "search/placement.h"
#include "search/make_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "fakes.h"
#include "seed.h"

namespace walle::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// What a placement costs, counted from the copies the plan would make.
double total(const std::vector<std::vector<double>>& costs, const Flow& flow,
             const std::vector<Place>& places, const std::vector<int>& placed,
             const Transfers& transfers = reference_costs()) {
  double sum = 0;
  std::vector<Place> taken;
  for (size_t i = 0; i < placed.size(); ++i) {
    sum += costs[i][static_cast<size_t>(placed[i])];
    taken.push_back(places[static_cast<size_t>(placed[i])]);
  }
  for (const CopyBefore& c : copies_of(flow, taken, transfers)) sum += c.copy.cost_ms;
  return sum;
}

// Nodes that each make one value and read up to three earlier ones; value 0 and 1 are inputs, and some are
// results.
struct RandomFlow {
  Flow flow;
  std::vector<std::vector<double>> costs;

  RandomFlow(std::mt19937& rng, size_t nodes, size_t backends) {
    std::uniform_real_distribution<double> cost(0, 0.2);
    flow.roots.resize(nodes + 2);
    for (Flow::Root& r : flow.roots) r = {static_cast<int64_t>(rng() % 500000), false, rng() % 4 == 0};
    for (size_t input : {0, 1}) flow.roots[input] = {static_cast<int64_t>(rng() % 500000), true, false};
    for (size_t n = 0; n < nodes; ++n) {
      Flow::Node node;
      for (size_t reads = rng() % 3 + 1; reads > 0; --reads) {
        const auto r = static_cast<ops::Ref>(rng() % (n + 2));
        if (std::ranges::find(node.reads, r) == node.reads.end()) node.reads.push_back(r);
      }
      node.makes = {static_cast<ops::Ref>(n + 2)};
      flow.nodes.push_back(std::move(node));
      std::vector<double> row;
      for (size_t b = 0; b < backends; ++b) row.push_back(rng() % 4 ? cost(rng) : kNever);
      row[rng() % backends] = cost(rng);  // somebody runs it
      costs.push_back(std::move(row));
    }
  }
};

// Three devices that all reach each other, at random prices.
struct RandomWays {
  FakeMemory first{"1"};
  ReachingMemory second{"2", {&first}}, third{"3", {&first, &second}};
  Fake a{"a", "*", first}, b{"b", "*", second}, c{"c", "*", third};
  std::vector<PlannedMemory> memories{
      {.memory = &backends::host_memory()}, {.memory = &first}, {.memory = &second}, {.memory = &third}};

  Transfers transfers(std::mt19937& rng) {
    std::uniform_real_distribution<double> start(1, 60e3);
    const auto way = [&](const char* name) {
      return backends::Way{
          .memory = name, .in = {start(rng), start(rng) / 1e6}, .out = {start(rng), start(rng) / 1e6}};
    };
    const CostModel costs(cost_tables().front(), {{"a", {.ways = {way("host")}}},
                                                  {"b", {.ways = {way("host"), way("1")}}},
                                                  {"c", {.ways = {way("host"), way("1"), way("2")}}}});
    return Transfers(costs, {&a, &b, &c}, memories);
  }
};

TEST(Placement, IsTheCheapestOfAll) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 300; ++round) {
    const size_t n = 1 + rng() % 6;
    // Three devices; the host and two devices; two backends of one device; from the host to a device without
    // a copy; from one device to another.
    const std::vector<Place> places = std::vector<std::vector<Place>>{
        {1, 2, 3}, {0, 1, 2}, {0, 1, 1}, {0, 0, 0}, {0, 1, Place{0, 1}}, {0, Place{2, 1}, 2}}[rng() % 6];
    const RandomFlow f(rng, n, places.size());
    RandomWays ways;
    const Transfers transfers = rng() % 2 ? ways.transfers(rng) : Transfers(reference_costs());
    const Placement placed = place(f.costs, f.flow, places, transfers);
    double best = kNever;
    std::vector<int> other(n, 0);
    for (size_t code = 0, all = static_cast<size_t>(std::pow(3, n)); code < all; ++code) {
      for (size_t i = 0, rest = code; i < n; ++i, rest /= 3) other[i] = static_cast<int>(rest % 3);
      best = std::min(best, total(f.costs, f.flow, places, other, transfers));
    }
    ASSERT_NEAR(placed.cost_ms, best, 1e-9) << "seed " << seed;
    ASSERT_NEAR(total(f.costs, f.flow, places, placed.backend, transfers), best, 1e-9) << "seed " << seed;
  }
  EXPECT_TRUE(place({}, {}, {0, 1}, reference_costs()).backend.empty());
}

// With more living values than the search keeps states for, the result may not be the best, but its cost is.
TEST(Placement, ChargesWhatThePlanMakes) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Place> places{0, 1, 2};
    const RandomFlow f(rng, 150, places.size());
    const Placement placed = place(f.costs, f.flow, places, reference_costs());
    ASSERT_NEAR(placed.cost_ms, total(f.costs, f.flow, places, placed.backend), 1e-6) << "seed " << seed;
    for (uint64_t lot = 0; lot < 10; ++lot)
      ASSERT_LE(placed.cost_ms, total(f.costs, f.flow, places, place_at_random(f.costs, lot)) + 1e-9)
          << "seed " << seed;
  }
}

Flow chain(size_t nodes, int64_t bytes) {
  Flow flow;
  for (size_t n = 0; n < nodes; ++n)
    flow.nodes.push_back({{static_cast<ops::Ref>(n)}, {static_cast<ops::Ref>(n + 1)}});
  flow.roots.resize(nodes + 1, {.bytes = bytes});
  flow.roots.front().given = true;
  flow.roots.back().wanted = true;
  return flow;
}

TEST(Placement, HandingOverCosts) {
  const Flow flow = chain(3, 1'000'000);
  // One operator is a little cheaper elsewhere, but not by as much as going there and back.
  EXPECT_EQ(place({{1, 9}, {1, 0.999}, {1, 9}}, flow, {0, 1}, reference_costs()).backend,
            (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(place({{1, 9}, {9, 0.999}, {1, 9}}, flow, {0, 1}, reference_costs()).backend,
            (std::vector<int>{0, 1, 0}));
  // Backends of one memory hand over for nothing.
  EXPECT_EQ(place({{1, 9}, {1, 0.999}, {1, 9}}, flow, {0, 0}, reference_costs()).backend,
            (std::vector<int>{0, 1, 0}));
}

TEST(Placement, ByLotIsFoundAgainByItsSeed) {
  const std::vector<std::vector<double>> costs(200, {1, kNever, 5});
  const std::vector<int> placed = place_at_random(costs, 7);
  EXPECT_EQ(placed, place_at_random(costs, 7));
  EXPECT_NE(placed, place_at_random(costs, 8));
  EXPECT_EQ(std::ranges::count(placed, 1), 0) << "never where it cannot run";
  EXPECT_GT(std::ranges::count(placed, 0), 50);
  EXPECT_GT(std::ranges::count(placed, 2), 50);
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
  const auto choices = choices_for(p, p.nodes[0], {&none, &some}, 2, reference_costs());
  ASSERT_TRUE(choices.ok());
  ASSERT_EQ(choices->size(), 2u);
  for (const Choice& c : *choices) EXPECT_EQ(c.backend, &some);
}

TEST(Choices, ANodeNobodyRunsIsDescribed) {
  const Fake some("some", "Relu");
  const ops::Program p = one_node(kOdd);
  const auto choices = choices_for(p, p.nodes[0], {&some}, 1, reference_costs());
  ASSERT_FALSE(choices.ok());
  EXPECT_EQ(choices.error().group(), base::ErrorGroup::backend);
  for (const char* part : {"Odd(bfloat16[2, 3])", "origin"})
    EXPECT_NE(choices.error().message().find(part), std::string::npos) << choices.error().message();
  EXPECT_FALSE(make_plan(p, {&some}, {}).ok());
}

// How often it was asked what it can do.
class Counting final : public Fake {
 public:
  using Fake::Fake;
  std::vector<backends::Candidate> candidates(const backends::NodeView& node, int threads) const override {
    ++asked;
    return Fake::candidates(node, threads);
  }
  mutable int asked = 0;
};

TEST(Plan, AsksBackendsOnceForAlikeNodes) {
  const Counting some("some", "Relu");
  ops::Program p = one_node(kRelu);
  for (int i = 0; i < 3; ++i) {
    ops::ProgramNode next = p.nodes.back();
    next.inputs = p.nodes.back().outputs;
    next.outputs = {p.add(p.at(next.inputs[0]))};
    p.nodes.push_back(std::move(next));
  }
  ops::ProgramNode wider = p.nodes.back();
  wider.inputs = {p.add({.dtype = p.at(0).dtype, .shape = Shape{2, 4}})};
  wider.outputs = {p.add(p.at(wider.inputs[0]))};
  p.nodes.push_back(std::move(wider));
  p.inputs.push_back(p.nodes.back().inputs[0]);
  const auto plan = make_plan(p, {&some}, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(some.asked, 2);
  ASSERT_EQ(plan->steps.size(), 5u);
  for (const Step& s : plan->steps) {
    EXPECT_EQ(s.chosen.candidate.algorithm, "fast");
    EXPECT_EQ(s.losers.size(), 1u);
  }
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

TEST(Plan, TakesNothingThatStraysFurtherThanAllowed) {
  const Rough some("some", "Relu");
  const ops::Program p = one_node(kRelu);
  const auto algorithm = [&](double most_error) {
    return make_plan(p, {&some}, {.allowed = {.error = most_error}})->steps[0].chosen.candidate.algorithm;
  };
  EXPECT_EQ(algorithm(kStrictError), "fast");
  EXPECT_EQ(algorithm(kNormalError), "fast");
  EXPECT_EQ(algorithm(9.9), "fast");
  EXPECT_EQ(algorithm(10), "rough") << "the bound is allowed";
  EXPECT_EQ(make_plan(p, {&some}, {})->steps[0].losers.size(), 1u) << "what is forbidden is no loser either";
}

TEST(Plan, RoundsOperandsWhereASessionAllowsItAlone) {
  const Short some("some", "Relu");
  const ops::Program p = one_node(kRelu);
  const auto algorithm = [&](const SearchOptions& options) {
    return make_plan(p, {&some}, options)->steps[0].chosen.candidate.algorithm;
  };
  EXPECT_EQ(algorithm({}), "fast");
  EXPECT_EQ(algorithm({.allowed = {.error = 1e9}}), "fast") << "shorter numbers are no matter of accuracy";
  EXPECT_EQ(algorithm({.allowed = {.arithmetic = backends::Arithmetic::bfloat16}}), "short");
}

TEST(Plan, TakesAReferenceWhereItsBackendHasNothingElse) {
  const Cheap cheap("cheap", "*");
  const ops::Program fast = one_node(kRelu), odd = one_node(kOdd);
  const auto algorithm = [&](const ops::Program& p, bool search) {
    return make_plan(p, {&cheap}, {.search = search})->steps[0].chosen.candidate.algorithm;
  };
  EXPECT_EQ(algorithm(fast, true), "slow");
  EXPECT_EQ(algorithm(odd, true), "definition");
  EXPECT_EQ(algorithm(fast, false), "definition");
}

}  // namespace
}  // namespace walle::search
