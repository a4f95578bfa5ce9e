// Decisions on disk: what was kept comes back, and nothing else ever does.
#include "search/plan_cache.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fakes.h"
#include "search/make_plan.h"
#include "search/recall.h"

namespace walle::search {
namespace {

const ir::OpDef kA{.name = "A"};

Decisions some() { return {{1, 77, {0, 2.5}}, {0, 78, {0}}, {2, 79, {0.5, 0.25, 0.125}}}; }

TEST(PlanCache, ReadsWhatItWrote) {
  EXPECT_EQ(decode(5, encode(5, some())), some());
  EXPECT_EQ(decode(5, encode(5, {})), Decisions());
  EXPECT_FALSE(decode(6, encode(5, some()))) << "another key";
}

TEST(PlanCache, EveryFlippedBitAndEveryCutIsNoticed) {
  const std::string bytes = encode(5, some());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(decode(5, damaged)) << "byte " << i << " bit " << bit;
    }
    EXPECT_FALSE(decode(5, bytes.substr(0, i))) << "cut at " << i;
  }
  EXPECT_FALSE(decode(5, bytes + '\0'));
}

TEST(PlanCache, RefusesDecisionsThatCannotBe) {
  EXPECT_FALSE(decode(5, encode(5, {{2, 0, {1, 1}}}))) << "no such choice";
  EXPECT_FALSE(decode(5, encode(5, {{0, 0, {}}}))) << "no choices";
  EXPECT_FALSE(decode(5, encode(5, {{0, 0, {-1}}})));
  EXPECT_FALSE(decode(5, encode(5, {{0, 0, {std::numeric_limits<double>::quiet_NaN()}}})));
}

// A program of three nodes on a backend with two ways.
struct Machine {
  ops::Program p;
  Fake a{"a", "A"};
  std::vector<const backends::Backend*> backends{&a};

  explicit Machine(int64_t elements = 250) {
    p.values.push_back({DType::float32, Shape{elements}, std::nullopt});
    p.inputs = {0};
    for (int i = 0; i < 3; ++i) {
      p.values.push_back({DType::float32, Shape{elements}, std::nullopt});
      p.nodes.push_back({&kA, {}, {i}, {i + 1}, "node", {}, {}});
    }
    p.outputs = {3};
  }
  Plan plan(const SearchOptions& options) {
    auto made = make_plan(p, backends, options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    return made.ok() ? std::move(*made) : Plan();
  }
};

std::vector<std::string> algorithms(const Plan& plan) {
  std::vector<std::string> out;
  for (const Step& s : plan.steps) out.push_back(s.chosen.candidate.algorithm);
  return out;
}

TEST(PlanCache, IsAskedFirstAndKeepsWhatWasSearched) {
  base::FaultEnv env;
  const PlanCache cache(env, "/plans");
  Machine m;
  const Plan searched = m.plan({.cache = &cache});
  EXPECT_EQ(searched.source, PlanSource::kept);
  const Plan recalled = m.plan({.cache = &cache});
  EXPECT_EQ(recalled.source, PlanSource::cache);
  EXPECT_EQ(algorithms(recalled), algorithms(searched));
  EXPECT_EQ(recalled.predicted_ms, searched.predicted_ms);
  EXPECT_EQ(recalled.arena_bytes(), searched.arena_bytes());
  EXPECT_EQ(m.plan({}).source, PlanSource::search);
}

TEST(PlanCache, KeyHoldsWhatDecides) {
  const Machine m, larger(251);
  const SearchOptions plain;
  const uint64_t key = plan_key(m.p, m.backends, plain);
  EXPECT_EQ(key, plan_key(Machine().p, m.backends, plain)) << "the same on every run";
  EXPECT_NE(key, plan_key(larger.p, m.backends, plain));
  EXPECT_NE(key, plan_key(m.p, m.backends, {.threads = 2}));
  EXPECT_NE(key, plan_key(m.p, m.backends, {.search = false}));
  EXPECT_NE(key, plan_key(m.p, m.backends, {.tune = 2}));
  EXPECT_NE(key, plan_key(m.p, m.backends, {.allowed = {.error = kStrictError}}));
  EXPECT_NE(key, plan_key(m.p, m.backends, {.allowed = {.arithmetic = backends::Arithmetic::bfloat16}}));
  const Fake b("b", "A");
  EXPECT_NE(key, plan_key(m.p, {&b}, plain));
  const CostModel other(cost_tables().front(), {"scalar", 1, 1, 1, 1, 1, 1});
  EXPECT_NE(key, plan_key(m.p, m.backends, {.costs = &other}));
}

// The file of another program under this one's key: sizes fit, choices do not.
TEST(PlanCache, DecisionsOfOtherKernelsAreNotTaken) {
  base::FaultEnv env;
  const PlanCache cache(env, "/plans");
  Machine m;
  const Plan plain = m.plan({});
  const uint64_t key = plan_key(m.p, m.backends, {});
  const NodeDecision foreign{0, 12345, {0, 0}};
  ASSERT_TRUE(cache.keep(key, {foreign, foreign, foreign}).ok());
  const Plan mended = m.plan({.cache = &cache});
  EXPECT_EQ(mended.source, PlanSource::mended);
  EXPECT_EQ(algorithms(mended), algorithms(plain));
  EXPECT_EQ(m.plan({.cache = &cache}).source, PlanSource::cache);
}

TEST(PlanCache, EveryDamagedFileCostsASearchAndNothingElse) {
  base::FaultEnv env;
  const PlanCache cache(env, "/plans");
  Machine m;
  const Plan plain = m.plan({.cache = &cache});
  const std::string path = cache.path_of(plan_key(m.p, m.backends, {}));
  const std::string whole = *env.read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(~damaged[i]);
    ASSERT_TRUE(env.replace_file(path, damaged).ok());
    const Plan plan = m.plan({.cache = &cache});
    EXPECT_EQ(plan.source, PlanSource::mended) << "byte " << i;
    EXPECT_EQ(algorithms(plan), algorithms(plain)) << "byte " << i;
    EXPECT_EQ(*env.read_file(path), whole) << "mended";
  }
}

TEST(PlanCache, AFolderThatCannotBeWrittenIsNoError) {
  base::FaultEnv env;
  env.set_read_only(true);
  const PlanCache cache(env, "/plans");
  Machine m;
  const Plan plan = m.plan({.cache = &cache});
  EXPECT_EQ(plan.source, PlanSource::not_kept);
  EXPECT_EQ(algorithms(plan), algorithms(m.plan({})));
  base::FaultEnv full;
  full.limit_disk(8);
  const PlanCache small(full, "/plans");
  EXPECT_EQ(m.plan({.cache = &small}).source, PlanSource::not_kept);
}

TEST(PlanCache, StaysBounded) {
  base::FaultEnv env;
  const PlanCache cache(env, "/plans");
  for (uint64_t i = 0; i < kMostPlans + 20; ++i) {
    const uint64_t key = i * 0x9e3779b97f4a7c15ull;
    ASSERT_TRUE(cache.keep(key, some()).ok());
    ASSERT_EQ(cache.find(key).found, PlanCache::Found::whole) << "what was kept last is there";
  }
  EXPECT_EQ(env.list_files("/plans")->size(), kMostPlans);
}

}  // namespace
}  // namespace walle::search
