// The kinds of nodes: every listed kind is an operator of its family, and attributes choose variants and
// numbers.
#include "ops/rules/kinds.h"

#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "ops/registry.h"

namespace walle::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_family(std::string_view name, std::string_view family) {
  const ir::OpDef* op = find_op(name);
  ASSERT_TRUE(op) << name;
  EXPECT_EQ(op->family, family) << name;
  EXPECT_EQ(op->op_class, ir::OpClass::atomic) << name;
}

TEST(NodeKinds, EveryListedKindIsAnOperatorOfItsFamily) {
  std::set<std::string_view> listed;
#define WALLE_UNARY(kind, name, group, ...) \
  expect_family(name, "Unary");             \
  listed.insert(name);
#include "tensor/kinds/unary.inc"
#define WALLE_BINARY(kind, name, group, ...) \
  expect_family(name, "Binary");             \
  listed.insert(name);
#include "tensor/kinds/binary.inc"
#define WALLE_REDUCE(kind, name, numeric_class, ...)                          \
  expect_family(name, "Reduce");                                              \
  EXPECT_EQ(find_op(name)->numeric, ir::NumericClass::numeric_class) << name; \
  listed.insert(name);
#include "tensor/kinds/reduce.inc"
#define WALLE_RNN(kind, name, gates, functions) EXPECT_TRUE(find_op(name)) << name;
#include "tensor/kinds/rnn.inc"
  for (const ir::OpDef* op : all_ops())
    if (op->family == "Unary" || op->family == "Binary" || op->family == "Reduce") {
      EXPECT_TRUE(listed.contains(op->name)) << op->name;
    }
}

TEST(NodeKinds, AttributesChooseVariants) {
  EXPECT_EQ(unary_kind("Gelu", {}), UnaryKind::gelu);
  EXPECT_EQ(unary_kind("Gelu", {{"approximate", std::string("tanh")}}), UnaryKind::gelu_tanh);
  EXPECT_EQ(unary_kind("Tanh", {{"approximate", std::string("tanh")}}), UnaryKind::tanh);
  EXPECT_FALSE(unary_kind("Clip", {}));
  EXPECT_EQ(binary_kind("Mod", {}), BinaryKind::mod);
  EXPECT_EQ(binary_kind("Mod", {{"fmod", int64_t{1}}}), BinaryKind::fmod);
  EXPECT_EQ(binary_kind("BitShift", {{"direction", std::string("RIGHT")}}), BinaryKind::shift_right);
  EXPECT_EQ(binary_kind("BitShift", {{"direction", std::string("LEFT")}}), BinaryKind::shift_left);
  EXPECT_FALSE(binary_kind("Pow", {}));
}

void expect_params(UnaryKind kind, const ir::Attributes& attrs, double alpha, double beta) {
  const UnaryParams p = unary_params(kind, attrs);
  EXPECT_EQ(p.alpha, alpha);
  EXPECT_EQ(p.beta, beta);
}

TEST(NodeKinds, NumbersComeFromTheirAttributesOrFromTheDefaultsOfOnnx) {
  expect_params(UnaryKind::relu, {{"alpha", 7.0}}, 0, 0);
  expect_params(UnaryKind::leaky_relu, {}, 0.01, 0);
  expect_params(UnaryKind::leaky_relu, {{"alpha", 0.5}}, 0.5, 0);
  expect_params(UnaryKind::hard_sigmoid, {{"beta", 0.25}}, 0.2, 0.25);
  expect_params(UnaryKind::selu, {{"gamma", 2.0}}, 1.67326319217681884765625, 2);
  expect_params(UnaryKind::shrink, {{"lambd", 0.75}, {"bias", 0.125}}, 0.75, 0.125);
  expect_params(UnaryKind::clamp, {}, -kInfinity, kInfinity);
  expect_params(UnaryKind::clamp, {{"max", 6.0}}, -kInfinity, 6);
  expect_params(UnaryKind::is_inf, {}, 1, 1);
  expect_params(UnaryKind::is_inf, {{"detect_negative", int64_t{0}}}, 0, 1);
}

}  // namespace
}  // namespace walle::ops
