// Golden plans: how many copies are left after merging, and that a random graph of movement operators
// computes the same with and without it.
#include "ops/passes/merge_rasters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "ops/lower.h"
#include "ops/registry.h"
#include "raster/reference.h"
#include "seed.h"

namespace walle::ops {
namespace {

// Builds programs from the operator table, the way lowering a model does.
class Builder {
 public:
  Builder() : lowering_(program_, {}) {}

  Ref input(const Shape& shape) {
    const Ref r = lowering_.add_value(DType::int32, shape);
    program_.inputs.push_back(r);
    return r;
  }
  std::vector<Ref> many(const char* op, const std::vector<Ref>& inputs, const ir::Attributes& attributes,
                        int outputs) {
    auto r = lowering_.apply(*find_op(op), attributes, inputs, outputs, "");
    EXPECT_TRUE(r.ok()) << op << ": " << (r.ok() ? "" : r.error().message());
    return r.ok() ? *r : std::vector<Ref>(static_cast<size_t>(outputs), kNoRef);
  }
  Ref one(const char* op, const std::vector<Ref>& inputs, const ir::Attributes& attributes = {}) {
    return many(op, inputs, attributes, 1)[0];
  }
  Ref ints(const std::vector<int64_t>& v) { return lowering_.add_constant(*Tensor::vector_i64(v)); }
  Ref transpose(Ref r, std::vector<int64_t> perm) {
    return one("Transpose", {r}, {{"perm", std::move(perm)}});
  }
  Ref reshape(Ref r, const std::vector<int64_t>& dims) { return one("Reshape", {r, ints(dims)}); }
  Program& program() { return program_; }
  const Shape& shape(Ref r) const { return program_.at(r).shape; }

  // The plan after merging, printed.
  std::string merged(std::vector<Ref> outputs, const MergeOptions& options = {}) {
    program_.outputs = std::move(outputs);
    EXPECT_TRUE(merge_rasters(program_, options).ok());
    return dump(program_);
  }

 private:
  Program program_;
  Lowering lowering_;
};

TEST(MergePlans, CancellingTransposesLeaveNothing) {
  Builder b;
  const Ref x = b.input({2, 3, 4});
  const Ref y = b.transpose(b.transpose(x, {2, 0, 1}), {1, 2, 0});
  EXPECT_EQ(b.merged({y}), "");
  EXPECT_EQ(b.program().outputs[0], x);
}

TEST(MergePlans, ThreeTransposesLeaveOneCopy) {
  Builder b;
  const Ref x = b.input({2, 3, 4, 5});
  const Ref y = b.transpose(b.transpose(b.transpose(x, {0, 2, 3, 1}), {3, 1, 0, 2}), {1, 0, 3, 2});
  EXPECT_EQ(b.merged({y}),
            "  %3 int32[4, 3, 5, 2] = raster(%0) {src0+0 -> +0 size[4,3,5,2] ss[5,20,1,60] ds[30,10,2,1]}\n");
}

TEST(MergePlans, TransposeReshapeTransposeLeavesOneCopy) {
  Builder b;
  const Ref x = b.input({4, 8, 6});
  const Ref y = b.transpose(b.reshape(b.transpose(x, {0, 2, 1}), {4, 6, 2, 4}), {0, 2, 1, 3});
  const std::string plan = b.merged({y});
  EXPECT_LE(count_copies(b.program()), 1) << plan;
  EXPECT_EQ(b.program().nodes.size(), 1u) << plan;
}

TEST(MergePlans, SplitReorderConcatLeavesOneCopy) {
  Builder b;
  const Ref x = b.input({3, 32, 5});
  std::vector<Ref> parts = b.many("Split", {x}, {{"axis", int64_t{1}}}, 16);
  std::vector<Ref> mixed;
  for (size_t i = 0; i < parts.size(); ++i) mixed.push_back(parts[(i % 4) * 4 + i / 4]);
  const Ref y = b.one("Concat", mixed, {{"axis", int64_t{1}}});
  // 4 x 4 blocks of 2 x 5 elements, exchanged: one strided region.
  EXPECT_EQ(
      b.merged({y}),
      "  %17 int32[3, 32, 5] = raster(%0) {src0+0 -> +0 size[3,4,4,10] ss[160,10,40,1] ds[160,40,10,1]}\n");
}

TEST(MergePlans, SplitConcatInOrderLeavesNothing) {
  Builder b;
  const Ref x = b.input({3, 7, 5});
  const std::vector<Ref> parts = b.many("Split", {x, b.ints({1, 4, 2})}, {{"axis", int64_t{1}}}, 3);
  EXPECT_EQ(b.merged({b.one("Concat", parts, {{"axis", int64_t{1}}})}), "");
}

TEST(MergePlans, TwoPadsAndConcatAreOneCopy) {
  Builder b;
  const Ref x = b.input({1, 4, 6, 6});
  const Ref pads = b.ints({0, 0, 1, 1, 0, 0, 1, 1});
  const Ref relu = b.one("Relu", {x});
  const Ref y =
      b.one("Concat", {b.one("Pad", {x, pads}), b.one("Pad", {relu, pads})}, {{"axis", int64_t{1}}});
  const std::string plan = b.merged({y});
  EXPECT_EQ(count_copies(b.program()), 1) << plan;
  EXPECT_EQ(b.program().nodes.size(), 2u) << plan;
}

TEST(MergePlans, EqualRastersAreComputedOnce) {
  Builder b;
  const Ref x = b.input({3, 4});
  const Ref a = b.one("Relu", {b.transpose(x, {1, 0})});
  const Ref c = b.one("Neg", {b.transpose(x, {1, 0})});
  b.merged({a, c});
  EXPECT_EQ(count_copies(b.program()), 1);
}

TEST(MergePlans, EachPartCanBeSwitchedOff) {
  const auto copies = [](const MergeOptions& options) {
    Builder b;
    const Ref x = b.input({3, 4});
    b.merged({b.transpose(b.transpose(x, {1, 0}), {1, 0})}, options);
    return b.program().nodes.size();
  };
  EXPECT_EQ(copies({.vertical = false}), 2u);
  EXPECT_EQ(copies({.identity = false}), 1u);
  EXPECT_EQ(copies({}), 0u);
}

TEST(MergePlans, ChannelShuffleAndCropChainsLeaveOneCopy) {
  Builder b;
  const Ref x = b.input({1, 8, 6, 6});
  const Ref shuffled = b.reshape(b.transpose(b.reshape(x, {1, 2, 4, 6, 6}), {0, 2, 1, 3, 4}), {1, 8, 6, 6});
  const Ref half = b.one("Slice", {shuffled, b.ints({4}), b.ints({8}), b.ints({1})});
  const Ref wide = b.one("Tile", {half, b.ints({1, 1, 2, 1})});
  const Ref deep = b.one("SpaceToDepth", {wide}, {{"blocksize", int64_t{2}}});
  const std::string plan = b.merged({deep});
  EXPECT_EQ(count_copies(b.program()), 1) << plan;
}

// ---- the same numbers with and without merging

std::vector<Tensor> run(const Program& p, const std::vector<Tensor>& inputs) {
  std::vector<std::optional<Tensor>> values(p.values.size());
  for (size_t i = 0; i < p.values.size(); ++i) values[i] = p.values[i].constant;
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(p.inputs[i])] = inputs[i];
  for (const ProgramNode& n : p.nodes) {
    const ProgramValue& v = p.at(n.outputs[0]);
    Tensor out = *Tensor::zeros(v.dtype, v.shape);
    std::vector<const void*> sources;
    for (Ref r : n.inputs) sources.push_back(values[static_cast<size_t>(r)]->data());
    EXPECT_TRUE(
        raster::copy_reference(*n.raster, v.dtype, sources.data(), out.mutable_data(), v.shape.elements())
            .ok());
    values[static_cast<size_t>(n.outputs[0])] = std::move(out);
  }
  std::vector<Tensor> outputs;
  for (Ref r : p.outputs) outputs.push_back(*values[static_cast<size_t>(r)]);
  return outputs;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : rng_(seed) {}

  void build(Builder& b) {
    values_.push_back(b.input(shape()));
    values_.push_back(b.input(shape()));
    for (int i = 0; i < 10; ++i)
      values_.push_back(
          step(b, values_[static_cast<size_t>(pick(0, static_cast<int64_t>(values_.size()) - 1))]));
  }
  std::vector<Ref> outputs() const { return {values_[values_.size() - 1], values_[values_.size() - 3]}; }
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

 private:
  Shape shape() {
    Shape s;
    for (int64_t i = pick(1, 4); i > 0; --i) s.push_back(pick(1, 5));
    return s;
  }
  std::vector<int64_t> per_axis(int rank, int64_t low, int64_t high) {
    std::vector<int64_t> v;
    for (int i = 0; i < rank; ++i) v.push_back(pick(low, high));
    return v;
  }
  Ref step(Builder& b, Ref x) {
    const Shape s = b.shape(x);
    const int rank = s.rank();
    const int64_t axis = pick(0, rank - 1);
    const int64_t dim = s[static_cast<int>(axis)];
    switch (s.elements() > 400 ? 0 : pick(0, 8)) {
      case 0:
        return b.one("Slice",
                     {x, b.ints({pick(0, dim - 1)}), b.ints({dim}), b.ints({axis}), b.ints({pick(1, 2)})});
      case 1:
        return b.one("Slice", {x, b.ints({dim - 1}), b.ints({-100}), b.ints({axis}), b.ints({-pick(1, 2)})});
      case 2: return b.one("Flatten", {x}, {{"axis", axis}});
      case 3:
        return b.one("Pad", {x, b.ints(per_axis(2 * rank, 0, 2))},
                     {{"mode", std::string(modes_[pick(0, 2)])}});
      case 4: return b.one("Tile", {x, b.ints(per_axis(rank, 1, 2))});
      case 5: return b.reshape(x, {dim, -1});
      case 6: return b.one("Concat", {x, x}, {{"axis", axis}});
      case 7: return rank < 5 ? b.one("Unsqueeze", {x, b.ints({axis})}) : x;
      default: {
        std::vector<int64_t> perm;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), rng_);
        return b.transpose(x, perm);
      }
    }
  }

  std::mt19937 rng_;
  std::vector<Ref> values_;
  const char* modes_[3] = {"constant", "edge", "wrap"};
};

TEST(MergePlans, RandomGraphsComputeTheSame) {
  const uint32_t first = test_seed();
  size_t before = 0, after = 0;
  for (uint32_t seed = first; seed < first + 1500; ++seed) {
    Builder b;
    RandomGraph g(seed);
    g.build(b);
    b.program().outputs = g.outputs();
    std::vector<Tensor> inputs;
    for (Ref r : b.program().inputs) {
      Tensor t = *Tensor::zeros(DType::int32, b.shape(r));
      for (int32_t& v : t.as_mutable<int32_t>()) v = static_cast<int32_t>(g.pick(1, 1 << 30));
      inputs.push_back(std::move(t));
    }
    remove_dead_nodes(b.program());
    const std::vector<Tensor> plain = run(b.program(), inputs);
    before += b.program().nodes.size();
    const std::string plan = dump(b.program());
    const std::string merged = b.merged(b.program().outputs);
    after += b.program().nodes.size();
    const std::vector<Tensor> same = run(b.program(), inputs);
    for (size_t i = 0; i < plain.size(); ++i)
      ASSERT_TRUE(plain[i].identical(same[i])) << "WALLE_TEST_SEED=" << seed << "\n"
                                               << plan << "merged to\n"
                                               << merged;
  }
  std::cout << "seed " << first << ": " << before << " rasters merged to " << after << "\n";
  EXPECT_LT(after * 2, before);
}

}  // namespace
}  // namespace walle::ops
