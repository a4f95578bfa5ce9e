// What the math operators refuse, and what their decompositions come down to.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/composite/einsum_plan.h"
#include "ops/lower.h"
#include "ops/passes/widen.h"
#include "ops/registry.h"

namespace walle::ops {
namespace {

class Builder {
 public:
  explicit Builder(LowerOptions options = {}) : lowering_(program_, std::move(options)) {}

  Ref input(DType dtype, const Shape& shape) { return lowering_.add_value(dtype, shape); }
  Ref ints(const std::vector<int64_t>& v) { return lowering_.add_constant(*Tensor::vector_i64(v)); }
  Ref number(double v) { return lowering_.add_constant(*Tensor::scalar<float>(static_cast<float>(v))); }
  Result<std::vector<Ref>> apply(const char* op, const std::vector<Ref>& inputs,
                                 const ir::Attributes& attributes = {}, int outputs = 1) {
    return lowering_.apply(*find_op(op), attributes, inputs, outputs, "node");
  }
  // The message of a refusal; empty when nothing was refused.
  std::string refusal(const char* op, const std::vector<Ref>& inputs, const ir::Attributes& attributes = {}) {
    const auto r = apply(op, inputs, attributes);
    return r.ok() ? "" : r.error().message();
  }
  std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const ProgramNode& n : program_.nodes) names.emplace_back(n.op->name);
    return names;
  }
  Program& program() { return program_; }

 private:
  Program program_;
  Lowering lowering_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(MathRules, RefusalsNameWhatWasGiven) {
  Builder b;
  const Ref x = b.input(DType::float32, {2, 3});
  EXPECT_TRUE(has(b.refusal("Add", {x, b.input(DType::float32, {4})}), "[4]"));
  EXPECT_TRUE(has(b.refusal("Add", {x, b.input(DType::int32, {3})}), "int32"));
  EXPECT_TRUE(has(b.refusal("ReduceSum", {x, b.ints({0, -2})}), "axis -2 twice"));
  EXPECT_TRUE(has(b.refusal("ReduceSum", {x, b.ints({7})}), "7"));
  EXPECT_TRUE(has(b.refusal("Softmax", {x}, {{"axis", int64_t{5}}}), "5"));
  EXPECT_TRUE(has(b.refusal("ArgMax", {b.input(DType::float32, {2, 0})}, {{"axis", int64_t{1}}}), "[2, 0]"));
  EXPECT_TRUE(has(b.refusal("Cast", {x}, {{"to", int64_t{99}}}), "to=99"));
  EXPECT_TRUE(has(b.refusal("TopK", {x, b.ints({4})}), "k=4"));
  EXPECT_TRUE(has(b.refusal("TopK", {x, b.ints({-1})}), "k=-1"));
  EXPECT_TRUE(
      has(b.refusal("GroupNormalization", {x, b.input(DType::float32, {3}), b.input(DType::float32, {3})},
                    {{"num_groups", int64_t{0}}}),
          "num_groups=0"));
  EXPECT_TRUE(has(b.refusal("Gemm", {x, x}), "[2, 3]"));
  EXPECT_TRUE(has(b.refusal("Det", {x}), "[2, 3]"));
  EXPECT_TRUE(has(b.refusal("DFT", {b.input(DType::float32, {1, 0, 1})}), "length 0"));
  EXPECT_TRUE(has(b.refusal("DFT", {b.input(DType::float32, {1, 104729, 1})}), "104729"));
  EXPECT_TRUE(has(b.refusal("HannWindow", {b.ints({int64_t{1} << 40})}), "1099511627776"));
  EXPECT_TRUE(
      has(b.refusal("RandomNormal", {}, {{"shape", std::vector<int64_t>{1 << 30, 1 << 30}}}), "bytes"));
  EXPECT_TRUE(has(b.refusal("RandomNormal", {}, {{"shape", std::vector<int64_t>{-1}}}), "-1"));
  EXPECT_TRUE(has(b.refusal("QuantizeLinear", {x, b.input(DType::float32, {2})}), "[2]"));
  EXPECT_TRUE(
      has(b.refusal("DequantizeLinear", {b.input(DType::int8, {2, 3}), b.input(DType::float32, {2, 2})},
                    {{"block_size", int64_t{-3}}}),
          "block_size=-3"));
  EXPECT_TRUE(has(b.refusal("Adam", {b.number(1), b.ints({1}), x, x}), "4 inputs"));
  EXPECT_TRUE(has(b.refusal("TreeEnsemble", {x}), "nodes_splits"));
}

TEST(MathRules, CyclicTreesAreRefused) {
  Builder b;
  const auto one = [](double v) { return *Tensor::from<double>(Shape{1}, std::vector<double>{v}); };
  const std::vector<int64_t> zero{0}, leaf{1};
  const ir::Attributes cyclic{{"nodes_featureids", zero}, {"nodes_splits", one(1)},
                              {"nodes_modes", one(0)},    {"leaf_weights", one(1)},
                              {"leaf_targetids", zero},   {"nodes_truenodeids", zero},
                              {"nodes_trueleafs", zero},  {"nodes_falsenodeids", zero},
                              {"nodes_falseleafs", leaf}, {"tree_roots", zero}};
  EXPECT_TRUE(
      has(b.refusal("TreeEnsemble", {b.input(DType::float32, {2, 1})}, cyclic), "node 0 below itself"));
}

TEST(Decompositions, ConstantBoundsAndExponentsBecomeOneCheapNode) {
  Builder b;
  const Ref x = b.input(DType::float32, {4});
  ASSERT_TRUE(b.apply("Clip", {x, b.number(0), b.number(6)}).ok());
  ASSERT_TRUE(b.apply("Pow", {x, b.number(2)}).ok());
  ASSERT_TRUE(b.apply("Pow", {x, b.number(0.5)}).ok());
  EXPECT_EQ(b.ops(), (std::vector<std::string>{"Clamp", "Mul", "Sqrt"}));
}

TEST(Decompositions, InferenceDropoutIsNothing) {
  Builder b;
  const Ref x = b.input(DType::float32, {4});
  const auto r = b.apply("Dropout", {x});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ((*r)[0], x);
  EXPECT_TRUE(b.ops().empty());
}

TEST(Decompositions, MixedPowerComputesFractionsInDouble) {
  Builder b;
  const auto r = b.apply("Pow", {b.input(DType::int32, {2}), b.input(DType::float32, {2})});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(b.program().at((*r)[0]).dtype, DType::int32);
  EXPECT_EQ(b.ops(), (std::vector<std::string>{"Cast", "Cast", "Power", "Cast"}));
}

TEST(Einsum, ParsesWhatTheStandardAllows) {
  const auto plan = parse_einsum(" ...ij , ...jk ", {{5, 2, 3}, {3, 4}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->output.size(), 3u);
  EXPECT_EQ(plan->size.at('k'), 4);
  for (const char* bad : {"ij,jk->iz", "ij,jk->ii", "ij", "i1,jk", "......ij,jk", "ij,kl", "->", "ijk,jk"}) {
    const auto r = parse_einsum(bad, {{2, 3}, {3, 4}});
    EXPECT_EQ(r.ok(), std::string(bad) == "ij,kl") << bad;
  }
  EXPECT_FALSE(parse_einsum("ij,ij", {{2, 3}, {3, 3}}).ok());
}

TEST(Einsum, SharedLabelsBecomeOneProduct) {
  Builder b;
  ASSERT_TRUE(b.apply("Einsum", {b.input(DType::float32, {5, 2, 3}), b.input(DType::float32, {5, 3, 4})},
                      {{"equation", std::string("bij,bjk->bik")}})
                  .ok());
  EXPECT_EQ(b.ops(), (std::vector<std::string>{"MatMul"}));
}

TEST(Dft, LongLengthsSplitInsteadOfBuildingAHugeTable) {
  Builder b;
  ASSERT_TRUE(b.apply("DFT", {b.input(DType::float32, {1, 4096, 1})}).ok());
  for (const ProgramValue& v : b.program().values)
    if (v.constant) {
      EXPECT_LE(v.shape.elements(), 4 * 4096) << v.shape.text();
    }
}

TEST(Widen, RefusedNodesComputeInFloat32AndShareTheirTwins) {
  Builder b;
  Program& p = b.program();
  const Ref x = b.input(DType::float16, {4});
  p.inputs = {x};
  const Ref y = (*b.apply("Exp", {x}))[0];
  const Ref z = (*b.apply("Add", {y, x}))[0];
  p.outputs = {z};
  ASSERT_TRUE(widen_floats(p, [](const Program&, const ProgramNode&) { return false; }).ok());
  remove_dead_nodes(p);
  // One Cast of x, no narrowing between Exp and Add, one Cast of the result.
  EXPECT_EQ(b.ops(), (std::vector<std::string>{"Cast", "Exp", "Add", "Cast"}));
  EXPECT_EQ(p.at(z).dtype, DType::float16);
}

TEST(Widen, SupportedNodesStayAndConstantsAreConverted) {
  Builder b;
  Program& p = b.program();
  const Ref x = b.input(DType::bfloat16, {2});
  p.values.push_back({DType::bfloat16, Shape{}, *Tensor::scalar(tensor::BFloat16(1.5f))});
  const Ref half = static_cast<Ref>(p.values.size() - 1);
  const Ref y = (*b.apply("Mul", {x, half}))[0];
  const Ref z = (*b.apply("Neg", {y}))[0];
  p.outputs = {z};
  ASSERT_TRUE(widen_floats(p, [](const Program&, const ProgramNode& n) { return n.op->name == "Neg"; }).ok());
  EXPECT_EQ(b.ops(), (std::vector<std::string>{"Cast", "Mul", "Cast", "Neg"}));
  const Ref wide = p.nodes[1].inputs[1];
  ASSERT_TRUE(p.at(wide).constant);
  EXPECT_EQ(p.at(wide).constant->as<float>()[0], 1.5f);
}

}  // namespace
}  // namespace walle::ops
