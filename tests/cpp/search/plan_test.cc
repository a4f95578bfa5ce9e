// Memory of whole plans: values that live at the same time never share bytes; what needs no copy gets none.
#include "search/make_plan.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "backends/null/null_backend.h"
#include "ops/registry.h"
#include "runtime/backend_list.h"
#include "seed.h"

namespace walle::search {
namespace {

struct Builder {
  ops::Program p;

  ops::Ref value(const Shape& shape) {
    p.values.push_back({DType::float32, shape, std::nullopt});
    return static_cast<ops::Ref>(p.values.size() - 1);
  }
  ops::Ref node(const char* op, const std::vector<ops::Ref>& inputs) {
    const ops::Ref out = value(p.at(inputs[0]).shape);
    p.nodes.push_back({ops::find_op(op), {}, inputs, {out}, op, {}, {}});
    return out;
  }
  ops::Ref raster(ops::Ref from, const raster::Region& region, const Shape& shape) {
    const ops::Ref out = value(shape);
    ops::ProgramNode n{&ops::raster_op(), {}, {from}, {out}, "raster", raster::Raster{}, {}};
    n.raster->regions = {region};
    p.nodes.push_back(std::move(n));
    return out;
  }
};

Plan planned(const ops::Program& p) {
  auto plan = make_plan(p, {&runtime::host_backend()}, {});
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message());
  return std::move(plan).value();
}

int64_t bytes_of(const ops::Program& p, ops::Ref r) {
  return p.at(r).shape.elements() * dtype_size(p.at(r).dtype);
}

// What one step reads and writes in one memory.
struct Access {
  std::vector<ops::Ref> reads, writes;
  int64_t workspace_offset = 0, workspace_bytes = 0;
};

Access access_of(const ops::Program& p, const Step& step, int memory) {
  if (step.is_copy()) {
    if (step.copy.from == memory) return {.reads = {step.copy.value}, .writes = {}};
    if (step.copy.to == memory) return {.reads = {}, .writes = {step.copy.value}};
    return {};
  }
  if (step.memory != memory) return {};
  const ops::ProgramNode& n = p.nodes[static_cast<size_t>(step.node)];
  return {n.inputs, n.outputs, step.workspace_offset, step.chosen.candidate.workspace_bytes};
}

// One arena replayed step by step: what a step reads has been written there, and its results and workspace
// touch nothing that a later step still reads.
void nothing_is_overwritten(const ops::Program& p, const Plan& plan, int memory, const std::string& trace) {
  const int64_t arena_bytes = plan.memories[static_cast<size_t>(memory)].arena_bytes;
  const auto in_arena = [&](ops::Ref r) { return r >= 0 && plan.at(memory, r).home == Home::arena; };
  const auto interval = [&](ops::Ref r) { return std::pair(plan.at(memory, r).offset, bytes_of(p, r)); };
  const auto meet = [](std::pair<int64_t, int64_t> a, std::pair<int64_t, int64_t> b) {
    return a.first < b.first + b.second && b.first < a.first + a.second;
  };
  std::vector<Access> accesses;
  for (const Step& step : plan.steps) accesses.push_back(access_of(p, step, memory));
  std::set<ops::Ref> written;
  for (size_t s = 0; s < accesses.size(); ++s) {
    const Access& now = accesses[s];
    for (ops::Ref r : now.reads) {
      ASSERT_TRUE(r < 0 || plan.at(memory, r).home != Home::nowhere) << trace;
      const bool known = !in_arena(r) || written.contains(plan.at(memory, r).root);
      ASSERT_TRUE(known) << "step " << s << " reads %" << r << "; " << trace;
    }
    std::set<ops::Ref> alive;  // made before, read by this step or a later one
    for (size_t later = s; later < accesses.size(); ++later)
      for (ops::Ref r : accesses[later].reads)
        if (in_arena(r) && written.contains(plan.at(memory, r).root)) alive.insert(plan.at(memory, r).root);
    std::vector<std::pair<int64_t, int64_t>> touched;
    for (ops::Ref r : now.writes)
      if (in_arena(r)) touched.push_back(interval(r));
    if (now.workspace_bytes > 0) touched.emplace_back(now.workspace_offset, now.workspace_bytes);
    for (size_t i = 0; i < touched.size(); ++i) {
      ASSERT_LE(touched[i].first + touched[i].second, arena_bytes) << trace;
      ASSERT_EQ(touched[i].first % 64, 0) << trace;
      for (size_t j = 0; j < i; ++j) ASSERT_FALSE(meet(touched[i], touched[j])) << trace;
      for (ops::Ref v : alive)
        ASSERT_FALSE(meet(touched[i], interval(v))) << "step " << s << " overwrites %" << v << "; " << trace;
    }
    for (ops::Ref r : now.writes)
      if (in_arena(r)) written.insert(r);
  }
}

TEST(Plan, RandomProgramsNeverOverwriteWhatIsStillRead) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const backends::null::NullBackend null(runtime::host_backend());
  const std::vector<const backends::Backend*> two{&runtime::host_backend(), &null};
  for (int round = 0; round < 100; ++round) {
    Builder b;
    const Shape shape{1 + static_cast<int64_t>(rng() % 40), 8};
    std::vector<ops::Ref> known{b.value(shape)};
    b.p.inputs = known;
    const auto any = [&] { return known[known.size() - 1 - rng() % std::min<size_t>(known.size(), 6)]; };
    for (int i = 0; i < 20; ++i) {
      const ops::Ref x = any();
      const Shape& s = b.p.at(x).shape;
      if (rng() % 4 == 0) {  // a view of the first rows, which an alias shares
        const int64_t rows = 1 + static_cast<int64_t>(rng() % static_cast<uint64_t>(s[0]));
        known.push_back(
            b.raster(x, raster::contiguous_region(0, rows * 8, (s[0] - rows) * 8), Shape{rows, 8}));
      } else if (rng() % 3 == 0) {
        known.push_back(b.node("Softmax", {x}));
      } else {
        known.push_back(rng() % 2 ? b.node("Relu", {x}) : b.node("Add", {x, x}));
      }
    }
    b.p.outputs = {known.back(), known[known.size() / 2]};
    ops::remove_dead_nodes(b.p);
    const std::string trace = "seed " + std::to_string(seed) + "\n" + ops::dump(b.p);
    const Plan plan = planned(b.p);
    nothing_is_overwritten(b.p, plan, kHost, trace);
    if (HasFatalFailure()) return;
    EXPECT_LE(plan.arena_bytes(), plan.activation_bytes + 64 * 40);
    const auto split = make_plan(b.p, two, {.random_placement = rng()});
    ASSERT_TRUE(split.ok()) << split.error().message();
    for (const int memory : {0, 1}) {
      nothing_is_overwritten(b.p, *split, memory, trace);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Plan, AChainNeedsTwoBuffers) {
  Builder b;
  ops::Ref x = b.value(Shape{16});
  b.p.inputs = {x};
  for (int i = 0; i < 10; ++i) x = b.node("Relu", {x});
  b.p.outputs = {x};
  const Plan plan = planned(b.p);
  EXPECT_EQ(plan.arena_bytes(), 2 * 64);
  EXPECT_EQ(plan.activation_bytes, 9 * 64) << "the last is the caller's";
}

TEST(Plan, ViewsAreFreeAndOutputsAreTheirOwn) {
  Builder b;
  const ops::Ref x = b.value(Shape{4, 8});
  const ops::Ref rows = b.raster(x, raster::contiguous_region(0, 16, 16), Shape{2, 8});
  const ops::Ref y = b.node("Relu", {rows});
  const ops::Ref copy = b.raster(x, raster::contiguous_region(0, 32), Shape{32});
  b.p.inputs = {x};
  b.p.outputs = {y, copy};
  const Plan plan = planned(b.p);
  EXPECT_EQ(plan.aliases, 1);
  EXPECT_EQ(plan.steps.size(), 2u) << "an output that would be the input is copied";
  const Storage& view = plan.at(kHost, rows);
  EXPECT_EQ(view.home, Home::input);
  EXPECT_EQ(view.root, x);
  EXPECT_EQ(view.offset, 64);
  EXPECT_EQ(plan.at(kHost, copy).home, Home::output);
}

TEST(Plan, MoreMemoryThanAllowedIsRefusedBeforeAnyIsAsked) {
  Builder b;
  std::vector<ops::Ref> values{b.value(Shape{int64_t{1} << 32})};  // 16 GiB each
  b.p.inputs = values;
  for (int i = 0; i < 3; ++i) values.push_back(b.node("Relu", {values.back()}));
  values.push_back(b.node("Add", {values[1], values[2]}));
  values.push_back(b.node("Add", {values[3], values[4]}));
  b.p.outputs = {values.back()};
  const auto plan = make_plan(b.p, {&runtime::host_backend()}, {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().group(), base::ErrorGroup::resource);
}

}  // namespace
}  // namespace walle::search
