// Costs of devices: placement and copies follow what was measured of launches and of the ways between
// memories.
#include "search/transfers.h"

#include <limits>

#include <gtest/gtest.h>

#include "fakes.h"
#include "search/copies.h"
#include "search/make_plan.h"

namespace walle::search {
namespace {

using backends::DeviceProfile;
using backends::Transfer;
using backends::Way;

const ir::OpDef kA{.name = "A"}, kB{.name = "B"}, kC{.name = "C"};
constexpr double kUs = 1000;  // nanoseconds

DeviceProfile device(double launch, std::vector<Way> ways) {
  return {.isa = "", .launch = launch, .ways = std::move(ways)};
}
Way way(std::string memory, double start, double byte = 0.1) {
  return {.memory = std::move(memory), .in = {start, byte}, .out = {start, byte}};
}

// A kernel of a device: `ms` of work behind one launch.
class Launched final : public Fake {
 public:
  Launched(std::string_view name, std::string_view op, backends::Memory& memory, double ms)
      : Fake(name, op, memory), ms_(ms) {}
  std::vector<backends::Candidate> candidates(const backends::NodeView&, int) const override {
    backends::Features f = taking(ms_);
    f[backends::Quantity::launches] = 1;
    return {{"launched", {}, f, 0, 0}};
  }

 private:
  double ms_;
};

// Runs everything on the host in `ms`.
class Hosted final : public Fake {
 public:
  explicit Hosted(double ms) : Fake("host", "*"), ms_(ms) {}
  std::vector<backends::Candidate> candidates(const backends::NodeView&, int) const override {
    return {{"hosted", {}, taking(ms_), 0, 0}};
  }

 private:
  double ms_;
};

// A chain of operators over values of 1,000 bytes.
ops::Program chain(const std::vector<const ir::OpDef*>& ops) {
  ops::Program p;
  const auto value = [&] {
    p.values.push_back({DType::float32, Shape{250}, std::nullopt});
    return static_cast<ops::Ref>(p.values.size() - 1);
  };
  p.inputs = {value()};
  for (const ir::OpDef* op : ops) {
    const ops::Ref out = value();
    p.nodes.push_back({op, {}, {out - 1}, {out}, "node", {}, {}});
  }
  p.outputs = {static_cast<ops::Ref>(p.values.size() - 1)};
  return p;
}

// Like "%0:0>1, B": copies by value and memories, nodes by backend and operator.
std::string steps_of(const ops::Program& p, const Plan& plan) {
  std::string out;
  for (const Step& s : plan.steps) {
    out += out.empty() ? "" : ", ";
    if (s.is_copy())
      out += "%" + std::to_string(s.copy.value) + ":" + std::to_string(s.copy.from) + ">" +
             std::to_string(s.copy.to);
    else
      out += std::string(s.chosen.backend->name()) + "." + std::string(p.nodes[s.node].op->name);
  }
  return out;
}

std::string planned(const ops::Program& p, const std::vector<const backends::Backend*>& backends,
                    DeviceProfiles devices) {
  const CostModel costs(cost_tables().front(), std::move(devices));
  auto plan = make_plan(p, backends, {.costs = &costs});
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message());
  double sum = 0;
  for (const Step& s : plan->steps) sum += s.cost_ms();
  EXPECT_DOUBLE_EQ(plan->predicted_ms, sum);
  return steps_of(p, *plan);
}

TEST(Transfers, AreWhatWasMeasuredOrAnEstimate) {
  FakeMemory b("b"), c("c");
  const Fake on_b("gpu", "B", b), on_c("npu", "C", c);
  const std::vector<PlannedMemory> memories{
      {.memory = &backends::host_memory()}, {.memory = &b}, {.memory = &c}};
  const Way measured{.memory = "host", .in = {5 * kUs, 0.5}, .out = {7 * kUs, 0.25}};
  const CostModel costs(cost_tables().front(), {{"gpu", device(0, {measured, way("c", 1)})}});
  const Transfers t(costs, {&on_b, &on_c}, memories);
  EXPECT_DOUBLE_EQ(t.ms(0, 1, 1000), 5.5e-3);
  EXPECT_DOUBLE_EQ(t.ms(1, 0, 1000), 7.25e-3);
  EXPECT_NEAR(t.ms(0, 2, 1000), costs.copy_ms(1000), 1e-12) << "nobody measured it";
  EXPECT_NEAR(t.ms(2, 0, 1'000'000'000), costs.copy_ms(1'000'000'000), 1e-6);
  EXPECT_EQ(t.ms(1, 2, 1), std::numeric_limits<double>::infinity())
      << "a profile names a way that neither memory has";
  EXPECT_NEAR(Transfers(costs).ms(0, 1, 1000), costs.copy_ms(1000), 1e-12);
}

TEST(Transfers, AWayWithoutAPriceIsOneCopy) {
  FakeMemory b("b");
  ReachingMemory c("c", {&b});
  const Fake on_b("gpu", "B", b), on_c("npu", "C", c);
  const std::vector<PlannedMemory> memories{
      {.memory = &backends::host_memory()}, {.memory = &b}, {.memory = &c}};
  const CostModel costs(cost_tables().front());
  const Transfers t(costs, {&on_b, &on_c}, memories);
  EXPECT_NEAR(t.ms(1, 2, 1000), costs.copy_ms(1000), 1e-12);
  EXPECT_NEAR(t.ms(2, 1, 1000), costs.copy_ms(1000), 1e-12) << "either may do it";
}

TEST(DirectWays, ACheapOneIsTakenBeforeTwoHopsThroughTheHost) {
  FakeMemory b("b");
  ReachingMemory c("c", {&b});
  const Fake on_b("gpu", "B", b), on_c("npu", "C", c);
  const ops::Program p = chain({&kB, &kC});
  const auto with = [&](double start) {
    return planned(p, {&on_b, &on_c},
                   {{"gpu", device(0, {way("host", 20 * kUs)})},
                    {"npu", device(0, {way("host", 20 * kUs), way("b", start)})}});
  };
  EXPECT_EQ(with(30 * kUs), "%0:0>1, gpu.B, %1:1>2, npu.C, %2:2>0");
  EXPECT_EQ(with(50 * kUs), "%0:0>1, gpu.B, %1:1>0, %1:0>2, npu.C, %2:2>0") << "two hops are cheaper";
  FakeMemory far("c");
  const Fake apart("npu", "C", far);
  EXPECT_EQ(planned(p, {&on_b, &apart}, {{"npu", device(0, {way("b", 1)})}}),
            "%0:0>1, gpu.B, %1:1>0, %1:0>2, npu.C, %2:2>0")
      << "what a file says does not make a way";
}

TEST(DirectWays, AreTakenFromWhoeverHoldsTheValue) {
  FakeMemory b("b");
  ReachingMemory c("c", {&b});
  const Fake on_host("cpu", "A"), on_b("gpu", "B", b), on_c("npu", "C", c);
  // %1 is made on the first device, read on the second and then on the host.
  ops::Program p = chain({&kB, &kC});
  p.values.push_back({DType::float32, Shape{250}, std::nullopt});
  p.nodes.push_back({&kA, {}, {1, 2}, {3}, "node", {}, {}});
  p.outputs = {3};
  const CostModel costs(cost_tables().front(),
                        {{"npu", device(0, {way("host", 25 * kUs), way("b", 5 * kUs)})}});
  auto plan = make_plan(p, {&on_host, &on_b, &on_c}, {.costs = &costs});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(steps_of(p, *plan), "%0:0>1, gpu.B, %1:1>2, %1:1>0, npu.C, %2:2>0, cpu.A");
  EXPECT_EQ(plan->steps[2].copy.device(), 2);
  EXPECT_TRUE(plan->steps[2].copy.across());
  EXPECT_EQ(plan->at(2, 1).home, Home::arena);
}

TEST(Launches, ADearOneKeepsSmallOperatorsOnTheHost) {
  FakeMemory b("b");
  const Hosted host(0.1);
  const Launched gpu("gpu", "*", b, 0.01);
  const ops::Program p = chain({&kA, &kB, &kC});
  const auto with = [&](double launch) {
    return planned(p, {&host, &gpu}, {{"gpu", device(launch, {way("host", 10 * kUs)})}});
  };
  EXPECT_EQ(with(5 * kUs), "%0:0>1, gpu.A, gpu.B, gpu.C, %3:1>0");
  EXPECT_EQ(with(100 * kUs), "host.A, host.B, host.C");
}

TEST(Launches, ArePricedPerBackend) {
  const CostModel costs(cost_tables().front(), {{"gpu", device(100 * kUs, {})}});
  backends::Features f = taking(1);
  f[backends::Quantity::launches] = 2;
  EXPECT_DOUBLE_EQ(costs.ms(f, "gpu") - costs.ms(taking(1), "gpu"), 0.2);
  EXPECT_DOUBLE_EQ(costs.ms(f, "npu"), costs.ms(f)) << "the estimate";
  EXPECT_NE(costs.fingerprint(), CostModel(cost_tables().front()).fingerprint());
}

TEST(Placement, OfTwoDevicesTakesTheOneThatIsCheaperToReach) {
  FakeMemory b("b"), c("c");
  const Launched gpu("gpu", "A", b, 0.5), npu("npu", "A", c, 0.45);
  const ops::Program p = chain({&kA});
  const auto with = [&](double gpu_start, double npu_start) {
    return planned(
        p, {&gpu, &npu},
        {{"gpu", device(kUs, {way("host", gpu_start)})}, {"npu", device(kUs, {way("host", npu_start)})}});
  };
  EXPECT_EQ(with(10 * kUs, 10 * kUs), "%0:0>2, npu.A, %1:2>0");
  EXPECT_EQ(with(10 * kUs, 50 * kUs), "%0:0>1, gpu.A, %1:1>0");
}

}  // namespace
}  // namespace walle::search
