// Every spelling of the erf form of Gelu becomes one operator that computes the same; what only looks like
// it stays as it is.
#include "ops/passes/fuse_gelu.h"

#include <gtest/gtest.h>

#include <functional>

#include "ops/lower.h"
#include "ops/passes/fuse_epilogue.h"
#include "ops/registry.h"

namespace walle::ops {
namespace {

class Builder {
 public:
  explicit Builder(DType dtype = DType::float32) : dtype_(dtype), lowering_(program_, {}) {
    x = lowering_.add_value(dtype, Shape{2, 3});
    program_.inputs.push_back(x);
  }
  Ref number(double value) {
    return lowering_.add_constant(dtype_ == DType::float32 ? *Tensor::scalar(static_cast<float>(value))
                                                           : *Tensor::scalar(value));
  }
  Ref op(const char* name, std::initializer_list<Ref> inputs) {
    auto made = lowering_.apply(*find_op(name), {}, inputs, 1, name);
    EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message());
    return made.ok() ? (*made)[0] : kNoRef;
  }
  // 1 + Erf(x / sqrt 2)
  Ref twice_share() { return op("Add", {op("Erf", {op("Div", {x, number(1.41421356)})}), number(1)}); }

  // The operators left once `outputs` are all that is asked for, in order.
  std::string fused(std::vector<Ref> outputs) {
    program_.outputs = std::move(outputs);
    EXPECT_TRUE(fuse_gelu(program_).ok());
    std::string names;
    for (const ProgramNode& node : program_.nodes)
      names += (names.empty() ? "" : " ") + std::string(node.op->name);
    return names;
  }
  const Program& program() const { return program_; }

  Ref x = kNoRef;

 private:
  DType dtype_;
  Program program_;
  Lowering lowering_;
};

struct Spelling {
  const char* name;
  std::function<Ref(Builder&)> make;
};

class Spelled : public testing::TestWithParam<Spelling> {};

TEST_P(Spelled, BecomesOneGeluOfTheSameInput) {
  Builder b;
  const Ref y = GetParam().make(b);
  EXPECT_EQ(b.fused({y}), "Gelu");
  EXPECT_EQ(b.program().nodes[0].inputs, std::vector<Ref>{b.x});
  EXPECT_EQ(b.program().nodes[0].outputs, std::vector<Ref>{y});
}

INSTANTIATE_TEST_SUITE_P(
    Gelu, Spelled,
    testing::Values(
        Spelling{
            "TimesXThenHalf",
            [](Builder& b) { return b.op("Mul", {b.op("Mul", {b.x, b.twice_share()}), b.number(0.5)}); }},
        Spelling{
            "HalfThenTimesX",
            [](Builder& b) { return b.op("Mul", {b.x, b.op("Mul", {b.number(0.5), b.twice_share()})}); }},
        Spelling{
            "HalfOfXByMul",
            [](Builder& b) { return b.op("Mul", {b.op("Mul", {b.number(0.5), b.x}), b.twice_share()}); }},
        Spelling{"HalfOfXByDiv",
                 [](Builder& b) { return b.op("Mul", {b.twice_share(), b.op("Div", {b.x, b.number(2)})}); }},
        Spelling{"FourDigitsAndAProduct",
                 [](Builder& b) {
                   const Ref erf = b.op("Erf", {b.op("Mul", {b.number(0.7071), b.x})});
                   return b.op("Mul", {b.op("Mul", {b.x, b.op("Add", {b.number(1), erf})}), b.number(0.5)});
                 }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(FuseGelu, LeavesWhatHasAnotherReader) {
  Builder b;
  const Ref share = b.twice_share();
  const Ref y = b.op("Mul", {b.op("Mul", {b.x, share}), b.number(0.5)});
  EXPECT_EQ(b.fused({y, share}), "Div Erf Add Mul Mul");
}

TEST(FuseGelu, LeavesOtherNumbers) {
  Builder b;
  const Ref wrong_half = b.op("Mul", {b.op("Mul", {b.x, b.twice_share()}), b.number(0.501)});
  EXPECT_EQ(b.fused({wrong_half}), "Div Erf Add Mul Mul");
}

TEST(FuseGelu, LeavesAProductWithAnotherValue) {
  Builder b;
  const Ref other = b.op("Abs", {b.x});
  const Ref y = b.op("Mul", {b.op("Mul", {other, b.twice_share()}), b.number(0.5)});
  EXPECT_EQ(b.fused({y}), "Abs Div Erf Add Mul Mul");
}

TEST(FuseGelu, LeavesFloat64) {
  Builder b(DType::float64);
  const Ref y = b.op("Mul", {b.op("Mul", {b.x, b.twice_share()}), b.number(0.5)});
  EXPECT_EQ(b.fused({y}), "Div Erf Add Mul Mul");
}

// The pass list runs it: folding epilogues alone leaves the five nodes.
TEST(FuseGelu, IsAPassOfItsOwn) {
  Builder b;
  const Ref y = b.op("Mul", {b.op("Mul", {b.x, b.twice_share()}), b.number(0.5)});
  Program program = b.program();
  program.outputs = {y};
  ASSERT_TRUE(fuse_epilogues(program).ok());
  EXPECT_EQ(program.nodes.size(), 5u);
}

}  // namespace
}  // namespace walle::ops
