// Attributes, the shape rules' context, and the text of a graph.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/infer.h"
#include "ir/runtime_value.h"
#include "sample.h"

namespace walle::ir {
namespace {

TEST(Attributes, AreFoundByNameAndType) {
  Attributes a{{"axis", int64_t{-1}},
               {"alpha", 0.5},
               {"mode", std::string("linear")},
               {"pads", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(a.get_int("axis", 7), -1);
  EXPECT_EQ(a.get_float("alpha", 7), 0.5);
  EXPECT_EQ(a.get_float("axis", 7), -1) << "whole numbers are numbers";
  EXPECT_EQ(a.get_int("alpha", 7), 7) << "a fraction is no index";
  EXPECT_EQ(a.get_string("mode", ""), "linear");
  EXPECT_EQ(a.get_ints("pads"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(a.get_ints("mode", {9}), std::vector<int64_t>{9}) << "of another type: as if absent";
  EXPECT_EQ(a.get_int("absent", 7), 7);
  EXPECT_EQ(a.get_tensor("axis"), nullptr);
  EXPECT_EQ(a.get_graph("absent"), nullptr);
  a.set("axis", int64_t{2});
  EXPECT_EQ(a.items().size(), 4u);
  EXPECT_EQ(a.get_int("axis", 7), 2);
  a.erase("axis");
  a.erase("never there");
  EXPECT_FALSE(a.has("axis"));
  EXPECT_EQ(a.text(), "alpha=0.5, mode=\"linear\", pads=[1, 2]");
}

TEST(InferContext, AsksForValuesOnlyWhereTheyAreNotKnown) {
  const Tensor known = *Tensor::vector_i64(std::vector<int64_t>{4, 5});
  const std::vector<InferInput> inputs{
      {true, DType::float32, Shape{2}, nullptr}, {true, DType::int64, Shape{2}, &known}, {}};
  int asked = -1;
  InferContext c({}, inputs, 1, [&](int i) {
    asked = i;
    return i == 0 ? &known : nullptr;
  });
  EXPECT_EQ(*c.need_i64(1), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(asked, -1);
  EXPECT_EQ(*c.need(0), &known);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(c.missing());
  const auto absent = c.need(2);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().group(), base::ErrorGroup::model);
  EXPECT_FALSE(c.missing()) << "an input that is not connected will not come later";
  EXPECT_FALSE(c.need(3).ok());
  EXPECT_FALSE(c.need(-1).ok());
}

TEST(InferContext, AValueToComeIsNamed) {
  const std::vector<InferInput> inputs{{true, DType::int64, Shape{2}, nullptr}};
  InferContext c({}, inputs, 1);
  EXPECT_FALSE(c.need_i64(0).ok());
  EXPECT_EQ(c.missing(), 0);
  c.output(0, DType::float32, Shape{3});
  c.output(1, DType::float32, Shape{3});  // nobody asked for it
  ASSERT_EQ(c.outputs().size(), 1u);
  EXPECT_EQ(c.outputs()[0].shape, Shape{3});
}

TEST(Dump, NamesNodesValuesAttributesAndBodies) {
  const std::string text = dump(sample().graph);
  for (const char* part :
       {"graph sample(%x)", "%y = Add(%x, %w:const float32[3]) {axis=-1, list=[1, 2]}", "return %z"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const std::string nest = dump(*nested(2, ramp({2})));
  EXPECT_NE(nest.find("graph level0"), std::string::npos) << nest;
}

TEST(RuntimeValue, IsNothingATensorOrASequence) {
  EXPECT_TRUE(RuntimeValue().empty());
  const RuntimeValue tensor(ramp({2})), sequence(std::make_shared<const Sequence>());
  EXPECT_NE(tensor.tensor(), nullptr);
  EXPECT_EQ(tensor.sequence(), nullptr);
  EXPECT_EQ(sequence.tensor(), nullptr);
  EXPECT_NE(sequence.sequence(), nullptr);
  EXPECT_FALSE(sequence.empty()) << "an empty sequence is a sequence";
}

}  // namespace
}  // namespace walle::ir
