// The lists of kinds: names lead to their kinds, classes to dtypes, and fused forms to what they stand for.
#include "tensor/kinds.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace walle::tensor {
namespace {

TEST(Kinds, NamesLeadToTheirKindsAndAreUnique) {
  std::set<std::string_view> names;
#define WALLE_UNARY(kind, name, group, ...)                   \
  EXPECT_EQ(unary_kind(name), UnaryKind::kind);               \
  EXPECT_EQ(unary_class(UnaryKind::kind), UnaryClass::group); \
  EXPECT_TRUE(names.insert(name).second) << name;
#include "tensor/kinds/unary.inc"
#define WALLE_BINARY(kind, name, group, ...)                     \
  EXPECT_EQ(binary_kind(name), BinaryKind::kind);                \
  EXPECT_EQ(binary_class(BinaryKind::kind), BinaryClass::group); \
  EXPECT_TRUE(names.insert(name).second) << name;
#include "tensor/kinds/binary.inc"
#define WALLE_REDUCE(kind, name, numeric, ...)    \
  EXPECT_EQ(reduce_kind(name), ReduceKind::kind); \
  EXPECT_TRUE(names.insert(name).second) << name;
#include "tensor/kinds/reduce.inc"
#define WALLE_RNN(kind, op, gates, functions) \
  EXPECT_EQ(rnn_kind(op), RnnKind::kind);     \
  EXPECT_EQ(rnn_operator(RnnKind::kind).name, op);
#include "tensor/kinds/rnn.inc"
  for (const char* name : {"", "relu", "Relu ", "GeluTanh", "Conv"}) {
    EXPECT_FALSE(unary_kind(name)) << name;
    EXPECT_FALSE(binary_kind(name)) << name;
    EXPECT_FALSE(reduce_kind(name)) << name;
    EXPECT_FALSE(rnn_kind(name)) << name;
  }
}

TEST(Kinds, VariantsShareTheClassOfTheKindTheyVary) {
  EXPECT_EQ(unary_class(UnaryKind::gelu_tanh), unary_class(UnaryKind::gelu));
  EXPECT_EQ(binary_class(BinaryKind::fmod), binary_class(BinaryKind::mod));
  EXPECT_EQ(binary_class(BinaryKind::shift_left), binary_class(BinaryKind::shift_right));
}

TEST(Kinds, AreDefinedForTheDtypesOfTheirClass) {
  EXPECT_TRUE(defined_for(UnaryKind::neg, DType::int8));
  EXPECT_TRUE(defined_for(UnaryKind::neg, DType::float64));
  EXPECT_FALSE(defined_for(UnaryKind::neg, DType::boolean));
  EXPECT_FALSE(defined_for(UnaryKind::neg, DType::float16));
  EXPECT_FALSE(defined_for(UnaryKind::exp, DType::int32));
  EXPECT_TRUE(defined_for(UnaryKind::bit_not, DType::uint16));
  EXPECT_FALSE(defined_for(UnaryKind::bit_not, DType::float32));
  EXPECT_TRUE(defined_for(UnaryKind::logical_not, DType::boolean));
  EXPECT_FALSE(defined_for(UnaryKind::logical_not, DType::float32));
  EXPECT_TRUE(defined_for(UnaryKind::is_nan, DType::float32));
  EXPECT_TRUE(defined_for(BinaryKind::min, DType::boolean));
  EXPECT_FALSE(defined_for(BinaryKind::add, DType::boolean));
  EXPECT_FALSE(defined_for(BinaryKind::bit_and, DType::boolean));
  EXPECT_TRUE(defined_for(BinaryKind::equal, DType::boolean));
  EXPECT_FALSE(defined_for(BinaryKind::equal, DType::float8e5m2));
}

TEST(Kinds, RecurrentFunctionsAreFoundInAnyCase) {
  EXPECT_EQ(rnn_function("HardSigmoid"), RnnFunction::hard_sigmoid);
  EXPECT_EQ(rnn_function("HARDSIGMOID"), RnnFunction::hard_sigmoid);
  EXPECT_EQ(rnn_function("hardsigmoid"), RnnFunction::hard_sigmoid);
  EXPECT_FALSE(rnn_function("hard_sigmoid"));
  EXPECT_FALSE(rnn_function(""));
#define WALLE_RNN_FUNCTION(id, as_written, numbers, alpha, beta)   \
  EXPECT_EQ(rnn_function(as_written), RnnFunction::id);            \
  EXPECT_EQ(rnn_function_facts(RnnFunction::id).name, as_written); \
  EXPECT_EQ(rnn_function_facts(RnnFunction::id).defaults.function, RnnFunction::id);
#include "tensor/kinds/rnn.inc"
}

TEST(Kinds, ActivationsAreTheUnaryKindsOfTheirName) {
  for (int i = 0; i < kActivationCount; ++i) {
    const auto activation = static_cast<Activation>(i);
    EXPECT_EQ(activation_from_name(activation_name(activation)), activation);
  }
  EXPECT_FALSE(activation_from_name("Selu"));
  const auto relu = as_activation(UnaryKind::relu, {});
  ASSERT_TRUE(relu);
  EXPECT_EQ(relu->activation, Activation::clamp);
  EXPECT_EQ(relu->params.alpha, 0);
  EXPECT_EQ(relu->params.beta, std::numeric_limits<double>::infinity());
  const auto leaky = as_activation(UnaryKind::leaky_relu, {0.25, 0});
  ASSERT_TRUE(leaky);
  EXPECT_EQ(leaky->activation, Activation::leaky_relu);
  EXPECT_EQ(leaky->params.alpha, 0.25);
  EXPECT_FALSE(as_activation(UnaryKind::selu, {}));
}

TEST(Kinds, SampleModesKeepTheirOlderNames) {
  EXPECT_EQ(sample_mode("linear"), SampleMode::linear);
  EXPECT_EQ(sample_mode("bilinear"), SampleMode::linear);
  EXPECT_EQ(sample_mode("bicubic"), SampleMode::cubic);
  EXPECT_FALSE(sample_mode("trilinear"));
  EXPECT_EQ(sample_padding("reflection"), SamplePadding::reflection);
  EXPECT_FALSE(sample_padding("reflect"));
}

}  // namespace
}  // namespace walle::tensor
