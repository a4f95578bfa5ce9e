// Shape rules of the operators on codes: what they refuse.
#include <gtest/gtest.h>

#include "ops/registry.h"

namespace walle::ops {
namespace {

const ir::InferInput kImage{.present = true, .dtype = DType::uint8, .shape = Shape{1, 4, 5, 5}};
const ir::InferInput kScale{.present = true, .dtype = DType::float32, .shape = Shape{}};
const ir::InferInput kZero{.present = true, .dtype = DType::uint8, .shape = Shape{}};
const ir::InferInput kWeights{.present = true, .dtype = DType::int8, .shape = Shape{6, 4, 3, 3}};
const ir::InferInput kSigned{.present = true, .dtype = DType::int8, .shape = Shape{}};

Status inferred(std::string_view op, const ir::Attributes& attributes, std::vector<ir::InferInput> inputs) {
  ir::InferContext context(attributes, inputs, 1);
  return find_op(op)->infer(context);
}

std::vector<ir::InferInput> sum() { return {kImage, kScale, kZero, kImage, kScale, kZero, kScale, kZero}; }
std::vector<ir::InferInput> convolution() {
  return {kImage, kScale, kZero, kWeights, kScale, kSigned, kScale, kZero};
}

TEST(Codes, BoundsAreCodesInOrder) {
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    EXPECT_TRUE(inferred(op, {{"low", int64_t{3}}, {"high", int64_t{255}}}, sum()).ok());
    EXPECT_FALSE(inferred(op, {{"low", int64_t{-1}}}, sum()).ok()) << op;
    EXPECT_FALSE(inferred(op, {{"high", int64_t{1} << 60}}, sum()).ok()) << op;
    EXPECT_FALSE(inferred(op, {{"low", int64_t{9}}, {"high", int64_t{8}}}, sum()).ok()) << op;
  }
  EXPECT_TRUE(inferred("QuantizedConv", {{"low", int64_t{0}}}, convolution()).ok());
  EXPECT_FALSE(inferred("QuantizedConv", {{"high", int64_t{256}}}, convolution()).ok());
}

TEST(Codes, WhatIsAddedHasTheResultsShapeAndIsWhole) {
  std::vector<ir::InferInput> joined = convolution();
  joined.push_back({});  // no bias
  const ir::InferInput other{.present = true, .dtype = DType::uint8, .shape = Shape{1, 6, 3, 3}};
  for (const ir::InferInput& input : {other, kScale, kZero, kScale, kZero}) joined.push_back(input);
  EXPECT_TRUE(inferred("QuantizedConv", {}, joined).ok());
  EXPECT_FALSE(inferred("QuantizedConv", {{"joint_low", int64_t{-5}}}, joined).ok());
  joined[9].shape = Shape{1, 6, 3, 4};
  EXPECT_FALSE(inferred("QuantizedConv", {}, joined).ok());
  joined[9].shape = Shape{1, 6, 3, 3};
  joined[12].present = false;
  EXPECT_FALSE(inferred("QuantizedConv", {}, joined).ok());
}

TEST(Codes, TablesHave256Results) {
  const ir::InferInput table{.present = true, .dtype = DType::int8, .shape = Shape{256}};
  EXPECT_TRUE(inferred("CodeLookup", {}, {kImage, table}).ok());
  ir::InferInput wrong = table;
  wrong.shape = Shape{255};
  EXPECT_FALSE(inferred("CodeLookup", {}, {kImage, wrong}).ok());
  EXPECT_FALSE(inferred("CodeLookup", {}, {kScale, table}).ok());
}

}  // namespace
}  // namespace walle::ops
