// Memories that lay values out otherwise: what crosses is priced as they say, takes the room they ask for,
// and is never a view of what they have taken apart.
#include <algorithm>

#include <gtest/gtest.h>

#include "fakes.h"
#include "search/make_plan.h"

namespace walle::search {
namespace {

const ir::OpDef kA{.name = "A"}, kB{.name = "B"};

// Values of rank 2 take twice the room and `ms` to convert; others lie row-major.
class Wide final : public backends::Memory {
 public:
  explicit Wide(double ms) : ms_(ms) {}
  std::string_view name() const override { return "wide"; }
  Result<backends::Handle> allocate(int64_t) override { return internal_error("never run", "test"); }
  void free(backends::Handle) override {}
  Status copy_in(backends::Handle, const void*, int64_t) override { return {}; }
  Status copy_out(void*, backends::Handle, int64_t) override { return {}; }
  Status copy_within(backends::Handle, backends::Handle, int64_t) override { return {}; }
  Status flush() override { return {}; }
  void discard(backends::Handle, int64_t) override {}
  int64_t bytes_of(DType dtype, const Shape& shape) const override {
    return (row_major(dtype, shape) ? 1 : 2) * shape.elements() * dtype_size(dtype);
  }
  bool row_major(DType, const Shape& shape) const override { return shape.rank() != 2; }
  std::optional<backends::Features> conversion(DType, const Shape&, int threads) const override {
    return taking(ms_, threads);
  }

 private:
  double ms_;
};

// x -> A -> A -> B, where B runs in the wide memory alone and A on both: on a tie it stays on the host.
struct Chain {
  explicit Chain(double ms) : memory(ms) {
    for (int i = 0; i < 4; ++i) p.values.push_back({DType::float32, Shape{16, 16}, std::nullopt});
    p.inputs = {0};
    p.outputs = {3};
    p.nodes.push_back({&kA, {}, {0}, {1}, "first", {}, {}});
    p.nodes.push_back({&kA, {}, {1}, {2}, "second", {}, {}});
    p.nodes.push_back({&kB, {}, {2}, {3}, "third", {}, {}});
  }
  Plan plan(const SearchOptions& options = {}) {
    const std::vector<const backends::Backend*> backends{&a, &wide};
    auto made = make_plan(p, backends, options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    return std::move(made).value();
  }

  ops::Program p;
  Wide memory;
  Fake a{"a", "A"};
  Fake wide{"wide", "*", memory};
};

TEST(Layouts, ConversionsArePricedByTheMemory) {
  Chain chain(3);
  const Plan plan = chain.plan();
  ASSERT_EQ(plan.steps.size(), 5u);  // two nodes, their result in, the third node, its result out
  for (const size_t copy : {2, 4}) {
    EXPECT_TRUE(plan.steps[copy].is_copy());
    EXPECT_DOUBLE_EQ(plan.steps[copy].cost_ms(), 3);
  }
  EXPECT_DOUBLE_EQ(plan.predicted_ms, 3 * 2 + 2 * 3);
}

TEST(Layouts, ThreadsShareAConversion) {
  Chain chain(3);
  SearchOptions options;
  options.threads = 2;
  EXPECT_DOUBLE_EQ(chain.plan(options).steps[2].cost_ms(), 1.5);
}

TEST(Layouts, ValuesTakeTheRoomThatTheMemoryAsksFor) {
  Chain chain(3);
  const Plan plan = chain.plan();
  ASSERT_EQ(plan.memories.size(), 2u);
  // Two values at a time, twice their size, and a workspace of 64 bytes.
  EXPECT_EQ(plan.memories[1].arena_bytes, 2 * 2 * 16 * 16 * 4 + 64);
}

TEST(Layouts, AMemoryThatNobodyTookIsNotPlanned) {
  Chain chain(3);
  chain.p.nodes.back().op = &kA;
  chain.memory = Wide(100);
  EXPECT_EQ(chain.plan().memories.size(), 1u);
}

// A node that reads a view runs where the viewed value lies row-major.
TEST(Layouts, WhatIsTakenApartHasNoViews) {
  for (const bool plain : {false, true}) {
    Chain chain(0);
    const Shape root = plain ? Shape{4, 8, 8} : Shape{16, 16};
    const Shape view = plain ? Shape{2, 8, 16} : Shape{8, 32};
    chain.p = {};
    for (const Shape& shape : {root, root, view, view})
      chain.p.values.push_back({DType::float32, shape, std::nullopt});
    chain.p.inputs = {0};
    chain.p.outputs = {3};
    chain.p.nodes.push_back({&kA, {}, {0}, {1}, "made", {}, {}});
    chain.p.nodes.push_back({&ops::raster_op(), {}, {1}, {2}, "view", raster::Raster{}, {}});
    chain.p.nodes.back().raster->regions = {raster::contiguous_region(0, 256)};
    chain.p.nodes.push_back({&kA, {}, {2}, {3}, "read", {}, {}});
    std::vector<std::string_view> able;
    const Plan plan = chain.plan();
    EXPECT_EQ(plan.aliases, 1);
    for (const Step& s : plan.steps) {
      if (s.is_copy() || chain.p.nodes[s.node].origin.text() != "read") continue;
      able.push_back(s.chosen.backend->name());
      for (const Choice& c : s.losers) able.push_back(c.backend->name());
    }
    EXPECT_EQ(std::ranges::count(able, "wide"), plain ? 2 : 0);
    EXPECT_EQ(std::ranges::count(able, "a"), 2);
  }
}

}  // namespace
}  // namespace walle::search
