// StringNormalizer, StringConcat and StringEqual on arrays of strings.
#include <gtest/gtest.h>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

extern const ir::OpDef kStringConcatOp;
extern const ir::OpDef kStringEqualOp;
extern const ir::OpDef kStringNormalizerOp;

namespace {

class Inputs final : public ControlContext {
 public:
  Inputs(std::vector<ir::RuntimeValue> inputs, ir::Attributes attributes)
      : inputs_(std::move(inputs)), attributes_(std::move(attributes)) {}
  const ir::Attributes& attrs() const override { return attributes_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  const ir::RuntimeValue& in(int i) const override { return inputs_[static_cast<size_t>(i)]; }
  int output_count() const override { return 1; }
  void output(int, ir::RuntimeValue value) override { result = std::move(value); }
  Result<std::vector<ir::RuntimeValue>> run_body(const std::string&, std::vector<ir::RuntimeValue>) override {
    return internal_error("no body", "test");
  }
  Result<std::vector<Tensor>> run_op(const std::string&, const ir::Attributes&, const std::vector<Tensor>&,
                                     int) override {
    return internal_error("no operator", "test");
  }
  ir::RuntimeValue result;

 private:
  std::vector<ir::RuntimeValue> inputs_;
  ir::Attributes attributes_;
};

Tensor strings(const Shape& shape, std::vector<std::string> items) {
  return tensor_of({shape, std::move(items)}).value();
}

std::vector<std::string> run(const ir::OpDef& op, std::vector<ir::RuntimeValue> inputs,
                             ir::Attributes attributes = {}) {
  Inputs c(std::move(inputs), std::move(attributes));
  const Status status = op.control(c);
  EXPECT_TRUE(status.ok()) << status.error().message();
  return status.ok() ? words_of(c.result.tensor(), "result").value().items : std::vector<std::string>{};
}

TEST(Strings, RoundTrip) {
  const Words back = words_of(
                         [] {
                           static const Tensor t = strings({2, 2}, {"a", "", "größe", "xyz"});
                           return &t;
                         }(),
                         "test")
                         .value();
  EXPECT_EQ(back.shape, (Shape{2, 2}));
  EXPECT_EQ(back.items, (std::vector<std::string>{"a", "", "größe", "xyz"}));
}

TEST(Strings, ConcatBroadcasts) {
  const Tensor a = strings({2, 1}, {"a", "b"}), b = strings({3}, {"1", "", "33"});
  EXPECT_EQ(run(kStringConcatOp, {a, b}), (std::vector<std::string>{"a1", "a", "a33", "b1", "b", "b33"}));
  EXPECT_EQ(run(kStringConcatOp, {strings({}, {"x"}), strings({}, {"y"})}), (std::vector<std::string>{"xy"}));
}

TEST(Strings, EqualLooksAtWholeWords) {
  Inputs c({strings({2}, {"ab", "a"}), strings({2}, {"ab", "abc"})}, {});
  ASSERT_TRUE(kStringEqualOp.control(c).ok());
  EXPECT_TRUE(c.result.tensor()->as<bool>()[0]);
  EXPECT_FALSE(c.result.tensor()->as<bool>()[1]);
}

TEST(Strings, NormalizerDropsStopWordsAndChangesCase) {
  const ir::Attributes upper{{"case_change_action", std::string("UPPER")},
                             {"stopwords", std::vector<std::string>{"Monday"}}};
  EXPECT_EQ(run(kStringNormalizerOp, {strings({1, 3}, {"monday", "may", "june"})}, upper),
            (std::vector<std::string>{"MAY", "JUNE"}));
  EXPECT_EQ(run(kStringNormalizerOp, {strings({1}, {"monday"})}, upper), (std::vector<std::string>{""}));
  ir::Attributes sensitive = upper;
  sensitive.set("is_case_sensitive", int64_t{1});
  EXPECT_EQ(run(kStringNormalizerOp, {strings({1}, {"monday"})}, sensitive),
            (std::vector<std::string>{"MONDAY"}));
}

TEST(Strings, WrongShapesAreErrors) {
  const auto fails = [](const ir::OpDef& op, std::vector<ir::RuntimeValue> inputs) {
    Inputs c(std::move(inputs), {});
    return !op.control(c).ok();
  };
  EXPECT_TRUE(fails(kStringNormalizerOp, {strings({2, 2}, {"a", "b", "c", "d"})}));
  EXPECT_TRUE(fails(kStringConcatOp, {strings({2}, {"a", "b"}), strings({3}, {"a", "b", "c"})}));
  EXPECT_TRUE(fails(kStringEqualOp, {Tensor::zeros(DType::float32, {2}).value(), strings({2}, {"a", "b"})}));
  EXPECT_TRUE(fails(kStringConcatOp, {ir::RuntimeValue(), strings({2}, {"a", "b"})}));
}

}  // namespace
}  // namespace walle::ops
