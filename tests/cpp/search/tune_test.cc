// Measured search: what runs fastest wins, whatever was predicted; each question is measured once.
#include "search/tune.h"

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fakes.h"
#include "search/make_plan.h"

namespace walle::search {
namespace {

const ir::OpDef kA{.name = "A"};

// Its kernels sleep: the one that is predicted to be fast for 3 ms, the other not at all. A third, which is
// predicted to be next, fails.
class Sleeper final : public Fake {
 public:
  Sleeper() : Fake("sleeper", "A") {}
  std::vector<backends::Candidate> candidates(const backends::NodeView&, int threads) const override {
    return {{"slow", {}, taking(2, threads), 0, 0},
            {"fast", {}, taking(1, threads), 64, 1},
            {"broken", {}, taking(1.5, threads), 0, 2},
            {"hopeless", {}, taking(100, threads), 0, 3}};
  }
  Result<std::unique_ptr<backends::Kernel>> prepare(const backends::NodeView&, const backends::Candidate& c,
                                                    backends::PrepareContext&) const override {
    ++prepared[static_cast<size_t>(c.choice)];
    return backends::make_kernel([choice = c.choice](const backends::HostArgs& a) -> Status {
      if (choice == 2) return internal_error("made-up operands", "test");
      if (choice == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      a.output<float>(0)[0] = a.input<float>(0)[0];
      return {};
    });
  }
  mutable std::array<int, 4> prepared{};
};

ops::Program three_nodes() {
  ops::Program p;
  p.values.push_back({DType::float32, Shape{64}, std::nullopt});
  p.inputs = {0};
  for (int i = 0; i < 3; ++i) {
    // The last one is of another shape: another question.
    p.values.push_back({DType::float32, Shape{i == 2 ? 32 : 64}, std::nullopt});
    p.nodes.push_back({&kA, {}, {i}, {i + 1}, "node", {}, {}});
  }
  p.outputs = {3};
  return p;
}

TEST(Tune, MeasuredBeatsPredicted) {
  const Sleeper backend;
  const ops::Program p = three_nodes();
  const auto predicted = make_plan(p, {&backend}, {});
  const auto tuned = make_plan(p, {&backend}, {.tune = 3});
  ASSERT_TRUE(predicted.ok() && tuned.ok());
  for (const Step& s : predicted->steps) EXPECT_EQ(s.chosen.candidate.algorithm, "fast");
  for (const Step& s : tuned->steps) {
    EXPECT_EQ(s.chosen.candidate.algorithm, "slow") << "it is not";
    EXPECT_GT(s.chosen.measured_ms, 0);
    EXPECT_LT(s.chosen.measured_ms, s.chosen.predicted_ms);
    EXPECT_EQ(s.cost_ms(), s.chosen.measured_ms);
    for (const Choice& loser : s.losers)
      if (loser.candidate.algorithm != "fast") {
        EXPECT_EQ(loser.measured_ms, 0) << loser.candidate.algorithm << ": it failed, or nobody tried";
      }
  }
  EXPECT_EQ(backend.prepared, (std::array<int, 4>{2, 2, 2, 0})) << "two questions of three nodes";
}

TEST(Tune, MeasuresAsManyAsAskedFor) {
  const Sleeper backend;
  const ops::Program p = three_nodes();
  ASSERT_TRUE(make_plan(p, {&backend}, {.tune = 1}).ok());
  EXPECT_EQ(backend.prepared, (std::array<int, 4>{0, 2, 0, 0}));
  backend.prepared = {};
  ASSERT_TRUE(make_plan(p, {&backend}, {.tune = 3, .search = false}).ok());
  EXPECT_EQ(backend.prepared, (std::array<int, 4>{})) << "nothing is chosen, so nothing is measured";
}

TEST(Tune, DecisionsAndTimesComeBackFromACache) {
  const Sleeper backend;
  const ops::Program p = three_nodes();
  base::FaultEnv env;
  const PlanCache cache(env, "/plans");
  const auto tuned = make_plan(p, {&backend}, {.tune = 3, .cache = &cache});
  backend.prepared = {};
  const auto recalled = make_plan(p, {&backend}, {.tune = 3, .cache = &cache});
  ASSERT_TRUE(tuned.ok() && recalled.ok());
  EXPECT_EQ(backend.prepared, (std::array<int, 4>{})) << "nothing is measured again";
  EXPECT_EQ(recalled->source, PlanSource::cache);
  for (size_t i = 0; i < tuned->steps.size(); ++i) {
    EXPECT_EQ(recalled->steps[i].chosen.candidate.algorithm, "slow");
    EXPECT_EQ(recalled->steps[i].chosen.measured_ms, tuned->steps[i].chosen.measured_ms);
  }
}

}  // namespace
}  // namespace walle::search
