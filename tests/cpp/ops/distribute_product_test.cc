// Products over values side by side: what is multiplied once, and that the sums stay the same.
#include "ops/passes/distribute_product.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "ops/lower.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "runtime/fold.h"

namespace walle::ops {
namespace {

Tensor noise(const Shape& shape, uint32_t seed) {
  Tensor t = *Tensor::allocate(DType::float32, shape);
  uint64_t state = seed;
  for (float& v : t.as_mutable<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
  }
  return t;
}

// Programs of which the inputs become constants when they are evaluated.
class Builder {
 public:
  Builder() : lowering_(program_, {}) {}
  Ref input(const Shape& shape) {
    const Ref r = lowering_.add_value(DType::float32, shape);
    program_.inputs.push_back(r);
    return r;
  }
  Ref constant(Tensor t) { return lowering_.add_constant(std::move(t)); }
  Ref op(const char* name, const std::vector<Ref>& inputs, const ir::Attributes& attributes = {}) {
    auto made = lowering_.apply(*find_op(name), attributes, inputs, 1, name);
    EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message());
    return made.ok() ? (*made)[0] : kNoRef;
  }
  Ref side_by_side(const std::vector<Ref>& values) {
    return op("Concat", values, ir::Attributes{{"axis", int64_t{-1}}});
  }
  Ref repeat(Ref value, const Shape& shape) {
    const std::vector<int64_t> dims(shape.begin(), shape.end());
    return op("Expand", {value, constant(*Tensor::vector_i64(dims))});
  }

  // The program of one result, without and with the pass; both computed.
  void expect_same(Ref result, const std::string& left_over, double tolerance = 1e-5) {
    program_.outputs = {result};
    Program changed = program_;
    ASSERT_TRUE(distribute_products(changed).ok());
    std::string names;
    for (const ProgramNode& n : changed.nodes)
      if (!n.raster) names += (names.empty() ? "" : " ") + std::string(n.op->name);
    EXPECT_EQ(names, left_over);
    const Tensor want = evaluate(program_), got = evaluate(changed);
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < got.elements(); ++i)
      ASSERT_NEAR(got.as<float>()[static_cast<size_t>(i)], want.as<float>()[static_cast<size_t>(i)],
                  tolerance)
          << "element " << i;
  }
  // Depths of the products that are left, in order.
  std::vector<int64_t> depths(Ref result) {
    program_.outputs = {result};
    Program changed = program_;
    EXPECT_TRUE(distribute_products(changed).ok());
    std::vector<int64_t> out;
    for (const ProgramNode& n : changed.nodes)
      if (n.op->name == "MatMul") out.push_back(changed.at(n.inputs[1]).shape[0]);
    return out;
  }

 private:
  static Tensor evaluate(Program program) {
    uint32_t seed = 90;
    for (Ref r : program.inputs) program.at(r).constant = noise(program.at(r).shape, ++seed);
    program.inputs.clear();
    auto values = runtime::fold_program(program);
    EXPECT_TRUE(values.ok()) << (values.ok() ? "" : values.error().message());
    return values.ok() ? (*values)[0] : Tensor();
  }

  Program program_;
  Lowering lowering_;
};

constexpr int64_t kRows = 6, kTimes = 5, kWidth = 80, kOut = 7;

TEST(DistributeProduct, WhatIsRepeatedIsMultipliedOnce) {
  Builder b;
  const Ref one = b.repeat(b.input(Shape{kRows, 1, kWidth}), Shape{kRows, kTimes, kWidth});
  const Ref many = b.input(Shape{kRows, kTimes, kWidth});
  const Ref y = b.op("MatMul", {b.side_by_side({one, many}), b.constant(noise(Shape{2 * kWidth, kOut}, 1))});
  b.expect_same(y, "MatMul MatMul Add");
  EXPECT_EQ(b.depths(y), (std::vector<int64_t>{kWidth, kWidth}));
}

TEST(DistributeProduct, DifferencesGoIntoTheWeights) {
  for (const char* name : {"Sub", "Add"}) {
    Builder b;
    const Ref one = b.repeat(b.input(Shape{kRows, 1, kWidth}), Shape{kRows, kTimes, kWidth});
    const Ref many = b.input(Shape{kRows, kTimes, kWidth});
    const Ref rows = b.side_by_side({one, many, b.op(name, {one, many}), b.op("Mul", {one, many})});
    const Ref y = b.op("MatMul", {rows, b.constant(noise(Shape{4 * kWidth, kOut}, 1))});
    b.expect_same(y, "Mul MatMul MatMul Add");
    EXPECT_EQ(b.depths(y), (std::vector<int64_t>{2 * kWidth, kWidth})) << name;
  }
}

// The larger the weights of the difference beside those of its operands, the more its rounding would change.
TEST(DistributeProduct, DifferencesOfLargeWeightsStay) {
  for (const float scale : {2.0f, 8.0f}) {
    Builder b;
    const Ref x = b.input(Shape{kRows, kWidth}), z = b.input(Shape{kRows, kWidth});
    const Ref rows = b.side_by_side({x, z, b.op("Sub", {x, z})});
    Tensor all = noise(Shape{3 * kWidth, kOut}, 1);
    for (int64_t i = 2 * kWidth * kOut; i < 3 * kWidth * kOut; ++i)
      all.as_mutable<float>()[static_cast<size_t>(i)] *= scale;
    const Ref y = b.op("MatMul", {rows, b.constant(all)});
    EXPECT_EQ(b.depths(y), std::vector<int64_t>{(scale < kGrowth ? 2 : 3) * kWidth}) << scale;
  }
}

TEST(DistributeProduct, DifferencesOfWhatIsNotThereStay) {
  Builder b;
  const Ref x = b.input(Shape{kRows, kWidth}), z = b.input(Shape{kRows, kWidth});
  const Ref rows = b.side_by_side({x, b.op("Sub", {x, z}), b.op("Relu", {z})});
  const Ref y = b.op("MatMul", {rows, b.constant(noise(Shape{3 * kWidth, kOut}, 1))});
  b.expect_same(y, "Sub Relu MatMul");
}

TEST(DistributeProduct, WhatStandsThereTwiceIsMultipliedOnce) {
  Builder b;
  const Ref x = b.input(Shape{kRows, kWidth}), z = b.input(Shape{kRows, kWidth});
  const Ref rows = b.side_by_side({x, z, x});
  const Ref y = b.op("MatMul", {rows, b.constant(noise(Shape{3 * kWidth, kOut}, 1))});
  b.expect_same(y, "MatMul");
  EXPECT_EQ(b.depths(y), std::vector<int64_t>{2 * kWidth});
}

TEST(DistributeProduct, LittleSavedOrOtherReadersLeaveAll) {
  {
    Builder b;  // one column less than is worth it
    const Ref one =
        b.repeat(b.input(Shape{kRows, 1, kSavedColumns - 1}), Shape{kRows, kTimes, kSavedColumns - 1});
    const Ref many = b.input(Shape{kRows, kTimes, kWidth});
    const Ref y = b.op("MatMul", {b.side_by_side({one, many}),
                                  b.constant(noise(Shape{kWidth + kSavedColumns - 1, kOut}, 1))});
    b.expect_same(y, "MatMul");
  }
  {
    Builder b;
    const Ref one = b.repeat(b.input(Shape{kRows, 1, kWidth}), Shape{kRows, kTimes, kWidth});
    const Ref rows = b.side_by_side({one, b.input(Shape{kRows, kTimes, kWidth})});
    const Ref y = b.op("MatMul", {rows, b.constant(noise(Shape{2 * kWidth, 2 * kWidth}, 1))});
    b.expect_same(b.op("Mul", {y, rows}), "MatMul Mul");
  }
  {
    Builder b;  // everything repeated: nothing to add to
    const Ref one = b.repeat(b.input(Shape{kRows, 1, kWidth}), Shape{kRows, kTimes, kWidth});
    const Ref two = b.repeat(b.input(Shape{kRows, 1, kWidth}), Shape{kRows, kTimes, kWidth});
    const Ref y = b.op("MatMul", {b.side_by_side({one, two}), b.constant(noise(Shape{2 * kWidth, kOut}, 1))});
    b.expect_same(y, "MatMul");
  }
}

// Repeated along the outer axis, and along two axes at once.
TEST(DistributeProduct, AnyAxesMayRepeat) {
  for (const Shape& small :
       {Shape{1, 4, 3, kWidth}, Shape{2, 1, 3, kWidth}, Shape{1, 4, 1, kWidth}, Shape{1, 1, 1, kWidth}}) {
    Builder b;
    const Shape full{2, 4, 3, kWidth};
    const Ref rows = b.side_by_side({b.input(full), b.repeat(b.input(small), full)});
    const Ref y = b.op("MatMul", {rows, b.constant(noise(Shape{2 * kWidth, kOut}, 1))});
    b.expect_same(y, "MatMul MatMul Add");
  }
}

}  // namespace
}  // namespace walle::ops
