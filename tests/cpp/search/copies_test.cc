// Copies between memories: each value once per memory that needs it, after its maker; one arena per memory.
#include <gtest/gtest.h>

#include "fakes.h"
#include "search/copies.h"
#include "search/make_plan.h"

namespace walle::search {
namespace {

const ir::OpDef kA{.name = "A"}, kB{.name = "B"}, kC{.name = "C"};

// A program over values of one shape; every operator runs on the backend of its name alone.
struct Builder {
  ops::Program p;
  Shape shape{250};  // 1,000 bytes, 1,024 in an arena

  ops::Ref input() {
    p.inputs.push_back(value());
    return p.inputs.back();
  }
  ops::Ref value() {
    p.values.push_back({DType::float32, shape, std::nullopt});
    return static_cast<ops::Ref>(p.values.size() - 1);
  }
  ops::Ref node(const ir::OpDef& op, const std::vector<ops::Ref>& inputs) {
    const ops::Ref out = value();
    p.nodes.push_back({&op, {}, inputs, {out}, "node of %" + std::to_string(out), {}, {}});
    return out;
  }
};

struct Machine {
  FakeMemory device_b{"b"}, device_c{"c"};
  Fake a{"a", "A"}, b{"b", "B", device_b}, c{"c", "C", device_c};
  std::vector<const backends::Backend*> backends{&a, &b, &c};

  Plan plan(const ops::Program& p) {
    auto made = make_plan(p, backends, {});
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    return std::move(made).value();
  }
};

// Like "A, %1:0>1, B": nodes by operator, copies by value and memories.
std::string steps_of(const ops::Program& p, const Plan& plan) {
  std::string out;
  for (const Step& s : plan.steps) {
    out += out.empty() ? "" : ", ";
    if (s.is_copy())
      out += "%" + std::to_string(s.copy.value) + ":" + std::to_string(s.copy.from) + ">" +
             std::to_string(s.copy.to);
    else
      out += p.nodes[static_cast<size_t>(s.node)].op->name;
  }
  return out;
}

// Reads on the host and writes in its own memory.
class Between final : public Fake {
 public:
  using Fake::Fake;
  backends::Memory& source() const override { return backends::host_memory(); }
};

TEST(Copies, WhatReadsElsewhereNeedsNoCopy) {
  Machine m;
  const Between c{"between", "C", m.device_b};
  m.backends = {&m.a, &m.b, &c};
  Builder g;
  const ops::Ref x = g.input();
  const ops::Ref y = g.node(kB, {g.node(kC, {x})});
  g.p.outputs = {y};
  const Plan plan = m.plan(g.p);
  EXPECT_EQ(steps_of(g.p, plan), "C, B, %2:1>0");
  EXPECT_EQ(plan.steps[0].source, kHost);
  EXPECT_EQ(plan.steps[0].memory, 1);
  EXPECT_EQ(plan.at(kHost, x).home, Home::input);
  EXPECT_EQ(plan.at(1, x).home, Home::nowhere);
  // And what it reads comes to the host first.
  Builder back;
  const ops::Ref z = back.node(kC, {back.node(kB, {back.input()})});
  back.p.outputs = {z};
  EXPECT_EQ(steps_of(back.p, m.plan(back.p)), "%0:0>1, B, %1:1>0, C, %2:1>0");
}

TEST(Copies, AForkCrossesOncePerMemory) {
  Machine m;
  Builder g;
  const ops::Ref x = g.input();
  const ops::Ref v = g.node(kA, {x});
  const ops::Ref left = g.node(kB, {v, v});
  const ops::Ref right = g.node(kB, {v});
  const ops::Ref far = g.node(kC, {v});
  g.p.outputs = {g.node(kA, {left, right, far, v})};
  const Plan plan = m.plan(g.p);
  EXPECT_EQ(steps_of(g.p, plan), "A, %1:0>1, %1:0>2, B, %2:1>0, B, %3:1>0, C, %4:2>0, A");
  for (const Step& s : plan.steps) EXPECT_EQ(s.copy.bytes, s.is_copy() ? 1000 : 0);
}

TEST(Copies, BetweenDevicesGoThroughTheHostAndServeItToo) {
  Machine m;
  Builder g;
  const ops::Ref v = g.node(kB, {g.input()});
  const ops::Ref w = g.node(kC, {v});
  g.p.outputs = {g.node(kA, {v, w})};
  EXPECT_EQ(steps_of(g.p, m.plan(g.p)), "%0:0>1, B, %1:1>0, %1:0>2, C, %2:2>0, A");
}

TEST(Copies, InputsWaitForTheirReaderAndResultsLeaveAtOnce) {
  Machine m;
  Builder g;
  const ops::Ref x = g.input(), y = g.input();
  const ops::Ref v = g.node(kB, {x});
  const ops::Ref w = g.node(kB, {v, y});
  g.p.outputs = {v, w};
  const Plan plan = m.plan(g.p);
  EXPECT_EQ(steps_of(g.p, plan), "%0:0>1, B, %2:1>0, %1:0>1, B, %3:1>0");
  EXPECT_EQ(plan.at(kHost, v).home, Home::output);
  EXPECT_EQ(plan.at(1, v).home, Home::arena);
  EXPECT_EQ(plan.steps[0].copy.maker, -1);
  EXPECT_EQ(plan.steps[2].copy.maker, 0);
  EXPECT_EQ(plan.steps[5].copy.maker, 1);
}

TEST(Copies, ConstantsAndViewsOfThemNeedNoStep) {
  Machine m;
  Builder g;
  const ops::Ref c = g.value();
  g.p.at(c).constant = *Tensor::zeros(DType::float32, g.shape);
  g.p.values.push_back({DType::float32, Shape{50}, std::nullopt});
  const auto part = static_cast<ops::Ref>(g.p.values.size() - 1);
  ops::ProgramNode view{&ops::raster_op(), {}, {c}, {part}, "view", raster::Raster{}, {}};
  view.raster->regions = {raster::contiguous_region(0, 50, 100)};
  g.p.nodes.push_back(std::move(view));
  g.p.outputs = {g.node(kB, {g.input(), part})};
  const Plan plan = m.plan(g.p);
  EXPECT_EQ(steps_of(g.p, plan), "%2:0>1, B, %3:1>0");
  EXPECT_EQ(plan.at(1, part).home, Home::constant);
  EXPECT_EQ(plan.at(1, part).offset, 400);
  EXPECT_EQ(plan.at(1, c).root, c);
}

// A view is read where its root was copied to: the root's bytes, once for all its views.
TEST(Copies, ViewsShareTheCopyOfTheirRoot) {
  Machine m;
  Builder g;
  const ops::Ref v = g.node(kA, {g.input()});
  std::vector<ops::Ref> parts;
  for (const int64_t start : {0, 100}) {
    g.p.values.push_back({DType::float32, Shape{100}, std::nullopt});
    parts.push_back(static_cast<ops::Ref>(g.p.values.size() - 1));
    ops::ProgramNode view{&ops::raster_op(), {}, {v}, {parts.back()}, "view", raster::Raster{}, {}};
    view.raster->regions = {raster::contiguous_region(0, 100, start)};
    g.p.nodes.push_back(std::move(view));
  }
  g.p.outputs = {g.node(kB, parts)};
  const Plan plan = m.plan(g.p);
  EXPECT_EQ(steps_of(g.p, plan), "A, %1:0>1, B, %4:1>0");
  EXPECT_EQ(plan.at(1, parts[1]).offset, plan.at(1, parts[0]).offset + 400);
}

TEST(Copies, CostWhatThePlanPredicts) {
  Machine m;
  Builder g;
  g.p.outputs = {g.node(kA, {g.node(kB, {g.input()})})};
  const Plan plan = m.plan(g.p);
  double sum = 0;
  for (const Step& s : plan.steps) {
    sum += s.cost_ms();
    EXPECT_EQ(s.cost_ms(), s.is_copy() ? reference_costs().copy_ms(1000) : 2.0);
  }
  EXPECT_DOUBLE_EQ(plan.predicted_ms, sum);
  EXPECT_DOUBLE_EQ(sum, 2 * 2.0 + 2 * reference_costs().copy_ms(1000));
  EXPECT_GT(reference_costs().copy_ms(0), 0);
  EXPECT_GT(reference_costs().copy_ms(1'000'000'000), reference_costs().copy_ms(1'000'000));
}

TEST(Arenas, EveryMemoryHasOne) {
  Machine m;
  Builder g;
  const ops::Ref v = g.node(kB, {g.input()});
  const ops::Ref w = g.node(kA, {v});
  g.p.outputs = {g.node(kB, {v, w})};
  const Plan plan = m.plan(g.p);
  ASSERT_EQ(plan.memories.size(), 2u) << "nothing runs in the third";
  EXPECT_EQ(plan.memories[0].memory, &backends::host_memory());
  EXPECT_EQ(plan.memories[1].memory, &m.device_b);
  EXPECT_EQ(plan.memories[0].arena_bytes, 2 * 1024 + 64) << "v and w, and A's scratch";
  EXPECT_EQ(plan.memories[1].arena_bytes, 3 * 1024 + 64) << "x or w, v and a result, and B's scratch";
  EXPECT_EQ(plan.arena_bytes(), plan.memories[0].arena_bytes + plan.memories[1].arena_bytes);
}

TEST(Arenas, EachHasTheLimit) {
  Machine m;
  Builder g;
  g.shape = Shape{int64_t{1} << 32};  // 16 GiB each, 32 GiB an arena
  const ops::Ref x = g.input();
  const ops::Ref v = g.node(kB, {x});
  g.p.outputs = {g.node(kA, {x}), g.node(kB, {v, g.node(kB, {v})})};
  const auto plan = make_plan(g.p, m.backends, {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().group(), base::ErrorGroup::resource);
  EXPECT_NE(plan.error().message().find("bytes of b memory"), std::string::npos) << plan.error().message();
}

TEST(Memories, AreCountedOnceAndBounded) {
  FakeMemory shared("shared");
  const Fake one("one", "A", shared), two("two", "B", shared);
  Builder g;
  g.p.outputs = {g.node(kB, {g.node(kA, {g.input()})})};
  const auto plan = make_plan(g.p, {&one, &two}, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->memories.size(), 2u);
  EXPECT_EQ(steps_of(g.p, *plan), "%0:0>1, A, B, %2:1>0");

  std::vector<FakeMemory> many(kMaxMemories, FakeMemory("m"));
  std::vector<Fake> fakes;
  std::vector<const backends::Backend*> all;
  for (FakeMemory& memory : many) fakes.emplace_back("f", "*", memory);
  for (const Fake& fake : fakes) all.push_back(&fake);
  EXPECT_FALSE(make_plan(g.p, all, {}).ok());
}

}  // namespace
}  // namespace walle::search
