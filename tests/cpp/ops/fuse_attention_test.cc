// Every spelling of attention becomes one operator; what only looks like it stays as it is.
#include "ops/passes/fuse_attention.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "ops/lower.h"
#include "ops/passes/merge_rasters.h"
#include "ops/registry.h"
#include "ops/rules/attention.h"

namespace walle::ops {
namespace {

class Builder {
 public:
  Builder() : lowering_(program_, {}) {}

  Ref input(const Shape& shape, DType dtype = DType::float32) {
    program_.inputs.push_back(lowering_.add_value(dtype, shape));
    return program_.inputs.back();
  }
  Ref number(float value) { return lowering_.add_constant(*Tensor::scalar(value)); }
  Ref constant(Tensor value) { return lowering_.add_constant(std::move(value)); }
  Ref ints(const std::vector<int64_t>& values) {
    return lowering_.add_constant(*Tensor::from<int64_t>(Shape{std::ssize(values)}, values));
  }
  Ref op(const char* name, std::initializer_list<Ref> inputs, ir::Attributes attributes = {}) {
    auto made = lowering_.apply(*find_op(name), attributes, inputs, 1, name);
    EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message());
    return made.ok() ? (*made)[0] : kNoRef;
  }
  // [2, length, 4 heads of 6] as [2, 4, length, 6], or with the last two axes exchanged.
  Ref heads(int64_t length, bool transposed = false) {
    const Ref apart = op("Reshape", {input(Shape{2, length, 24}), ints({2, length, 4, 6})});
    return op("Transpose", {apart},
              {{"perm", transposed ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3}}});
  }
  Ref joined(Ref mixed, int64_t length) {
    const Ref back = op("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return op("Reshape", {back, ints({2, length, 24})});
  }

  // The operators left once `outputs` are all that is asked for, in order.
  std::string fused(std::vector<Ref> outputs, bool worth = true) {
    program_.outputs = std::move(outputs);
    remove_dead_nodes(program_);
    EXPECT_TRUE(merge_rasters(program_).ok());
    EXPECT_TRUE(fuse_attention(program_, [&](const auto&, auto) { return worth; }).ok());
    std::string names;
    for (const ProgramNode& node : program_.nodes)
      names += (names.empty() ? "" : " ") + std::string(node.op->name);
    return names;
  }
  AttentionSpec spec() const { return attention_spec(program_.nodes.back().attributes); }
  const Program& program() const { return program_; }

 private:
  Program program_;
  Lowering lowering_;
};

struct Spelling {
  const char* name;
  // From the product of Q and K to what goes into the softmax.
  std::function<Ref(Builder&, Ref)> scores;
};

class AttentionSpelled : public testing::TestWithParam<Spelling> {};

TEST_P(AttentionSpelled, BecomesOneOperatorWithoutCopies) {
  Builder b;
  const Ref product = b.op("MatMul", {b.heads(5), b.heads(7, true)});
  const Ref shares = b.op("Softmax", {GetParam().scores(b, product)});
  EXPECT_EQ(b.fused({b.joined(b.op("MatMul", {shares, b.heads(7)}), 5)}), "attention");
  EXPECT_EQ(b.spec().head_count(), 8);
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionSpelled,
    testing::Values(
        Spelling{"Plain", [](Builder&, Ref s) { return s; }},
        Spelling{"Divided", [](Builder& b, Ref s) { return b.op("Div", {s, b.number(2)}); }},
        Spelling{"MaskPerKey",
                 [](Builder& b, Ref s) {
                   return b.op("Add", {b.op("Mul", {b.number(2), s}), b.input(Shape{2, 1, 1, 7})});
                 }},
        Spelling{"BiasPerHead", [](Builder& b, Ref s) { return b.op("Add", {b.input(Shape{4, 5, 7}), s}); }},
        Spelling{"WhereKept",
                 [](Builder& b, Ref s) {
                   return b.op("Where", {b.input(Shape{5, 7}, DType::boolean), s, b.number(-1e9f)});
                 }},
        Spelling{"WhereCovered",
                 [](Builder& b, Ref s) {
                   const Ref biased = b.op("Add", {s, b.input(Shape{2, 1, 5, 7})});
                   return b.op("Where",
                               {b.input(Shape{2, 1, 1, 7}, DType::boolean), b.number(-1e9f), biased});
                 }},
        Spelling{"TwoMasks",
                 [](Builder& b, Ref s) {
                   return b.op("Add", {b.op("Add", {s, b.input(Shape{2, 1, 1, 7})}), b.input(Shape{5, 7})});
                 }},
        Spelling{"Capped",
                 [](Builder& b, Ref s) {
                   const Ref soft = b.op("Tanh", {b.op("Div", {s, b.number(30)})});
                   return b.op("Add", {b.op("Mul", {soft, b.number(30)}), b.input(Shape{5, 7})});
                 }},
        Spelling{"HeadsAsOneAxis",
                 [](Builder& b, Ref s) {
                   const Ref flat =
                       b.op("Add", {b.op("Reshape", {s, b.ints({8, 5, 7})}), b.input(Shape{8, 5, 7})});
                   return b.op("Reshape", {flat, b.ints({2, 4, 5, 7})});
                 }}),
    [](const auto& spelling) { return std::string(spelling.param.name); });

TEST(FuseAttention, ScaleOfQAndKIsTaken) {
  Builder b;
  const Ref q = b.op("Mul", {b.heads(5), b.number(0.5)});
  const Ref k = b.op("Div", {b.heads(7, true), b.number(4)});
  const Ref shares = b.op("Softmax", {b.op("MatMul", {q, k})});
  EXPECT_EQ(b.fused({b.op("MatMul", {shares, b.heads(7)})}), "attention");
  EXPECT_DOUBLE_EQ(b.spec().scale, 0.125);
}

// [5, 7], by what a query sees and what the other scores become.
Tensor mask(const std::function<bool(int64_t q, int64_t key)>& sees, float hidden) {
  std::vector<float> values;
  for (int64_t q = 0; q < 5; ++q)
    for (int64_t key = 0; key < 7; ++key) values.push_back(sees(q, key) ? 0 : hidden);
  return *Tensor::from<float>(Shape{5, 7}, values);
}

AttentionSpec spec_with(Tensor constant, size_t inputs) {
  Builder b;
  const Ref product = b.op("MatMul", {b.heads(5), b.heads(7, true)});
  const Ref shares = b.op("Softmax", {b.op("Add", {product, b.constant(std::move(constant))})});
  EXPECT_EQ(b.fused({b.op("MatMul", {shares, b.heads(7)})}), "attention");
  EXPECT_EQ(b.program().nodes.back().inputs.size(), inputs);
  return b.spec();
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

TEST(FuseAttention, ConstantMasksThatAreBandsAreNotRead) {
  const auto causal = [](int64_t q, int64_t key) { return key <= q + 1; };
  for (const float hidden : {-kInfinity, kLowest}) {
    const KeyBand band = spec_with(mask(causal, hidden), 3).band;
    EXPECT_EQ(band.last, 1);
    EXPECT_EQ(band.first, -KeyBand::kOpen);
    EXPECT_EQ(band.scores(5, 7), 2 + 3 + 4 + 5 + 6);
  }
  const auto window = [](int64_t q, int64_t key) { return q - 2 <= key && key <= q; };
  EXPECT_EQ(spec_with(mask(window, -kInfinity), 3).band.first, -2);
  const auto all = [](int64_t, int64_t) { return true; };
  EXPECT_EQ(spec_with(mask(all, 0), 3).band.last, KeyBand::kOpen);
  // The first queries see nothing: NaN by -infinity, the mean of all by a number.
  const auto late = [](int64_t q, int64_t key) { return key <= q - 2; };
  EXPECT_EQ(spec_with(mask(late, -kInfinity), 3).band.last, -2);
  EXPECT_EQ(spec_with(mask(late, kLowest), 4).band.last, KeyBand::kOpen);
}

TEST(FuseAttention, OtherConstantMasksStay) {
  const auto causal = [](int64_t q, int64_t key) { return key <= q; };
  EXPECT_EQ(spec_with(mask(causal, -1e4f), 4).band.last, KeyBand::kOpen);
  const auto holes = [](int64_t q, int64_t key) { return key <= q && key != 1; };
  EXPECT_EQ(spec_with(mask(holes, -kInfinity), 4).band.last, KeyBand::kOpen);
  const auto blocks = [](int64_t q, int64_t key) { return key / 2 <= q / 2; };
  EXPECT_EQ(spec_with(mask(blocks, -kInfinity), 4).band.last, KeyBand::kOpen);
}

TEST(FuseAttention, ABandIsTakenFromBesideAnotherMask) {
  const auto causal = [](int64_t q, int64_t key) { return key <= q; };
  for (const float hidden : {-kInfinity, kLowest}) {
    Builder b;
    const Ref product = b.op("MatMul", {b.heads(5), b.heads(7, true)});
    const Ref padded = b.op("Add", {product, b.input(Shape{2, 1, 1, 7})});
    const Ref shares = b.op("Softmax", {b.op("Add", {padded, b.constant(mask(causal, hidden))})});
    EXPECT_EQ(b.fused({b.op("MatMul", {shares, b.heads(7)})}), "attention");
    // Together two finite masks may hide all keys of a query, which a band would not show.
    const bool band = hidden == -kInfinity;
    EXPECT_EQ(b.spec().band.last, band ? 0 : KeyBand::kOpen);
    EXPECT_EQ(b.program().nodes.back().inputs.size(), band ? 4 : 6);
    EXPECT_EQ(b.spec().operands[AttentionSpec::kBias].heads.size(), 2);
  }
}

TEST(FuseAttention, ACacheThatIsAResultIsReadInPlace) {
  Builder b;
  const auto whole = [&] {
    return b.op("Concat", {b.input(Shape{2, 2, 6, 6}), b.input(Shape{2, 2, 1, 6})}, {{"axis", int64_t{2}}});
  };
  const auto repeated = [&](Ref x) {
    const Ref apart = b.op("Reshape", {x, b.ints({2, 2, 1, 7, 6})});
    return b.op("Reshape", {b.op("Expand", {apart, b.ints({2, 2, 2, 7, 6})}), b.ints({2, 4, 7, 6})});
  };
  const Ref k = whole(), v = whole();
  const Ref turned = b.op("Transpose", {repeated(k)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const Ref shares = b.op("Softmax", {b.op("MatMul", {b.heads(5), turned})});
  EXPECT_EQ(b.fused({b.op("MatMul", {shares, repeated(v)}), k, v}), "raster raster attention");
  EXPECT_EQ(b.spec().start(AttentionSpec::kV, 3), 42);
}

TEST(FuseAttention, GuardsAgainstQueriesWithoutKeysAreTaken) {
  const auto guarded = [](const std::function<Ref(Builder&, Ref bias, Ref shares)>& guard) {
    Builder b;
    const Ref bias = b.input(Shape{5, 7});
    const Ref product = b.op("MatMul", {b.heads(5), b.heads(7, true)});
    const Ref shares = b.op("Softmax", {b.op("Add", {product, bias})});
    const std::string names = b.fused({b.op("MatMul", {guard(b, bias, shares), b.heads(7)})});
    return names == "attention" ? std::to_string(static_cast<int>(b.spec().empty)) : names;
  };
  const auto largest = [](Builder& b, Ref x) { return b.op("ReduceMax", {x, b.ints({-1})}); };
  EXPECT_EQ(guarded([&](Builder& b, Ref bias, Ref p) {
              const Ref none = b.op("Equal", {largest(b, bias), b.number(-kInfinity)});
              return b.op("Where", {none, b.number(0), p});
            }),
            "1");
  EXPECT_EQ(
      guarded([](Builder& b, Ref, Ref p) { return b.op("Where", {b.op("IsNaN", {p}), b.number(0), p}); }),
      "2");
  // Of another mask, or another number: whatever it means, it is no guard.
  EXPECT_EQ(guarded([&](Builder& b, Ref, Ref p) {
              const Ref none = b.op("Equal", {largest(b, b.input(Shape{5, 7})), b.number(-kInfinity)});
              return b.op("Where", {none, b.number(0), p});
            }).find("attention"),
            std::string::npos);
  EXPECT_EQ(guarded([](Builder& b, Ref, Ref p) {
              return b.op("Where", {b.op("IsNaN", {p}), b.number(1), p});
            }).find("attention"),
            std::string::npos);
}

TEST(FuseAttention, KeyHeadsThatAreRepeatedAreReadInPlace) {
  Builder b;
  const auto repeated = [&](Ref x) {  // [2, 2, 7, 6] as [2, 4, 7, 6]
    const Ref apart = b.op("Reshape", {x, b.ints({2, 2, 1, 7, 6})});
    return b.op("Reshape", {b.op("Expand", {apart, b.ints({2, 2, 2, 7, 6})}), b.ints({2, 4, 7, 6})});
  };
  const Ref k =
      b.op("Transpose", {repeated(b.input(Shape{2, 2, 7, 6}))}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const Ref shares = b.op("Softmax", {b.op("MatMul", {b.heads(5), k})});
  EXPECT_EQ(b.fused({b.op("MatMul", {shares, repeated(b.input(Shape{2, 2, 7, 6}))})}), "attention");
  const AttentionSpec spec = b.spec();
  EXPECT_EQ(spec.head_count(), 8);
  for (const int64_t i : {0, 1, 2, 7}) {
    EXPECT_EQ(spec.start(AttentionSpec::kQ, i), i / 4 * 5 * 24 + i % 4 * 6);
    EXPECT_EQ(spec.start(AttentionSpec::kK, i), i / 2 * 42);
    EXPECT_EQ(spec.start(AttentionSpec::kOut, i), i * 30);
  }
}

TEST(FuseAttention, PartsOfOneProjectionAreReadInPlace) {
  Builder b;
  const Ref all = b.op("Transpose", {b.op("Reshape", {b.input(Shape{2, 5, 72}), b.ints({2, 5, 3, 4, 6})})},
                       {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  const auto part = [&](int64_t i) {
    const Ref one = b.op("Slice", {all, b.ints({i}), b.ints({i + 1}), b.ints({0})});
    return b.op("Squeeze", {one, b.ints({0})});
  };
  const Ref k = b.op("Transpose", {part(1)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const Ref shares = b.op("Softmax", {b.op("MatMul", {part(0), k})});
  EXPECT_EQ(b.fused({b.joined(b.op("MatMul", {shares, part(2)}), 5)}), "attention");
  EXPECT_EQ(b.spec().operands[AttentionSpec::kV].offset, 48);
}

TEST(FuseAttention, WhatIsAskedForOtherwiseStays) {
  const auto left =
      [](const std::function<std::vector<Ref>(Builder&, Ref product, Ref shares, Ref mixed)>& outputs,
         bool worth = true) {
        Builder b;
        const Ref product = b.op("MatMul", {b.input(Shape{3, 5, 6}), b.input(Shape{3, 6, 7})});
        const Ref shares = b.op("Softmax", {product});
        const Ref mixed = b.op("MatMul", {shares, b.input(Shape{3, 7, 4})});
        return b.fused(outputs(b, product, shares, mixed), worth);
      };
  const auto whole = [](Builder&, Ref, Ref, Ref mixed) { return std::vector{mixed}; };
  EXPECT_EQ(left(whole), "attention");
  EXPECT_EQ(left(whole, false), "MatMul Softmax MatMul");
  // Scores or weights that somebody else wants have to be written anyway.
  EXPECT_EQ(left([](Builder&, Ref product, Ref, Ref mixed) { return std::vector{mixed, product}; }),
            "MatMul Softmax MatMul");
  EXPECT_EQ(left([](Builder&, Ref, Ref shares, Ref mixed) { return std::vector{mixed, shares}; }),
            "MatMul Softmax MatMul");
}

TEST(FuseAttention, OtherFormulasStay) {
  const auto left = [](const std::function<Ref(Builder&, Ref)>& scores, int64_t axis = -1) {
    Builder b;
    const Ref product = b.op("MatMul", {b.input(Shape{3, 7, 6}), b.input(Shape{3, 6, 7})});
    const Ref shares = b.op("Softmax", {scores(b, product)}, {{"axis", axis}});
    return b.fused({b.op("MatMul", {shares, b.input(Shape{3, 7, 4})})});
  };
  const auto same = [](Builder&, Ref s) { return s; };
  EXPECT_EQ(left(same, 2), "attention");
  EXPECT_EQ(left(same, 1), "MatMul Softmax MatMul");
  EXPECT_EQ(left([](Builder& b, Ref s) { return b.op("Tanh", {s}); }), "MatMul Tanh Softmax MatMul");
  // The factor would be the bias's, too.
  EXPECT_EQ(
      left([](Builder& b, Ref s) { return b.op("Mul", {b.op("Add", {s, b.input(Shape{7})}), b.number(2)}); }),
      "MatMul Add Mul Softmax MatMul");
  EXPECT_EQ(left([](Builder& b, Ref s) { return b.op("Div", {b.number(2), s}); }),
            "MatMul Div Softmax MatMul");
  EXPECT_EQ(left([](Builder& b, Ref s) { return b.op("Mul", {b.number(0), s}); }),
            "MatMul Mul Softmax MatMul");
  // Heads that come into being by a bias have scores of their own, but one product.
  EXPECT_EQ(
      left([](Builder& b, Ref s) { return b.op("Add", {s, b.input(Shape{2, 1, 7, 7})}); }).find("attention"),
      std::string::npos);
}

TEST(FuseAttention, SizesOfZeroStay) {
  for (const auto& [queries, keys, depth] : {std::array{0, 7, 6}, std::array{5, 0, 6}, std::array{5, 7, 0}}) {
    Builder b;
    const Ref product = b.op("MatMul", {b.input(Shape{3, queries, depth}), b.input(Shape{3, depth, keys})});
    const Ref mixed = b.op("MatMul", {b.op("Softmax", {product}), b.input(Shape{3, keys, 4})});
    EXPECT_EQ(b.fused({mixed}).find("attention"), std::string::npos);
  }
}

}  // namespace
}  // namespace walle::ops
