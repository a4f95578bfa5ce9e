#include "ir/verify.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/walle_file.h"
#include "sample.h"

namespace walle::ir {
namespace {

Status check(const ModelData& m) { return verify(m, sample_op); }

// The change must be refused, with `word` in the message.
void refused(const std::function<void(ModelData&)>& change, const std::string& word) {
  ModelData m = sample();
  change(m);
  const Status status = check(m);
  ASSERT_FALSE(status.ok()) << "accepted; looked for: " << word;
  EXPECT_NE(status.error().message().find(word), std::string::npos) << status.error().message();
  EXPECT_FALSE(status.error().text().next.empty());
}

TEST(Verify, AcceptsAGoodGraph) { EXPECT_TRUE(check(sample()).ok()); }

TEST(Verify, NumbersOutOfRange) {
  refused([](ModelData& m) { m.graph.nodes[0].inputs[0] = 99; }, "99");
  refused([](ModelData& m) { m.graph.nodes[0].inputs[0] = -2; }, "-2");
  refused([](ModelData& m) { m.graph.nodes[0].outputs[0] = 1 << 30; }, "1073741824");
  refused([](ModelData& m) { m.graph.inputs[0] = 77; }, "77");
  refused([](ModelData& m) { m.graph.outputs[0] = kNone; }, "-1");
}

TEST(Verify, OneProducerPerValue) {
  refused([](ModelData& m) { m.graph.nodes[1].outputs[0] = m.graph.nodes[0].outputs[0]; }, "second time");
  refused([](ModelData& m) { m.graph.nodes[0].outputs[0] = 1; }, "second time");
  refused([](ModelData& m) { m.graph.inputs.push_back(0); }, "second time");
  refused([](ModelData& m) { m.graph.outputs[0] = m.graph.add_value(named("orphan")); }, "orphan");
}

TEST(Verify, OrderWithoutCycles) {
  refused([](ModelData& m) { std::swap(m.graph.nodes[0], m.graph.nodes[1]); }, "before anything made it");
  refused([](ModelData& m) { m.graph.nodes[0].inputs[1] = m.graph.nodes[1].outputs[0]; },
          "before anything made it");
}

TEST(Verify, OperatorsAndArity) {
  refused([](ModelData& m) { m.graph.nodes[1].op = "Frobnicate"; }, "Frobnicate");
  refused([](ModelData& m) { m.graph.nodes[1].inputs.clear(); }, "0 inputs");
  refused([](ModelData& m) { m.graph.nodes[1].outputs.assign(3, kNone); }, "3 outputs");
}

TEST(Verify, ConstantsFitTheirBytes) {
  refused([](ModelData& m) { m.graph.at(1).constant = Tensor(DType::float32, {1000}, ramp({3}).buffer()); },
          "4000");
  refused([](ModelData& m) { m.graph.at(1).constant = Tensor(DType::float32, {-3}, ramp({3}).buffer()); },
          "-3");
  refused(
      [](ModelData& m) {
        m.graph.at(1).constant = Tensor(DType::float32, {int64_t{1} << 62, 1 << 20}, ramp({3}).buffer());
      },
      "constant 'w'");
}

TEST(Verify, Names) {
  refused([](ModelData& m) { m.graph.at(0).name.clear(); }, "without a name");
  refused([](ModelData& m) { m.graph.at(0).name.assign(5000, 'x'); }, "5000");
  refused([](ModelData& m) { m.signatures[0].inputs[0].second = "nowhere"; }, "nowhere");
  refused([](ModelData& m) { m.signatures.push_back(m.signatures[0]); }, "serve");
}

TEST(Verify, Bodies) {
  ModelData m;
  m.graph = *nested(3, ramp({3}));
  EXPECT_TRUE(check(m).ok()) << check(m).error().message();
  m.graph.nodes[0].attributes.set("then_captures", int64_t{1});
  EXPECT_FALSE(check(m).ok());
  m.graph.nodes[0].attributes.erase("then_branch");
  EXPECT_FALSE(check(m).ok());
}

TEST(Verify, CapturesAreACountOfInputs) {
  static const OpDef loop{
      .name = "Loop", .op_class = OpClass::control, .inputs = {2, -1}, .outputs = {0, -1}};
  ModelData m = sample();
  auto body = std::make_shared<Graph>();
  m.graph.nodes[1].op = "Loop";
  m.graph.nodes[1].inputs = {0, 0};
  for (const int64_t captures :
       {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    m.graph.nodes[1].attributes =
        Attributes{{"body", std::shared_ptr<const Graph>(body)}, {"body_captures", captures}};
    const Status status =
        verify(m, [](std::string_view name) { return name == "Loop" ? &loop : sample_op(name); });
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message().find(std::to_string(captures)), std::string::npos)
        << status.error().message();
  }
}

TEST(Verify, NestingIsBounded) {
  ModelData m;
  m.graph = *nested(base::kMaxGraphDepth, ramp({3}));
  const Status status = check(m);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("nested"), std::string::npos);
}

// Both branches are one graph: unbounded, the walk over 2^40 of them would never end.
TEST(Verify, BodiesThatAreUsedTwiceCountTwice) {
  ModelData m;
  m.graph = *nested(40, ramp({3}));
  const Status status = check(m);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("at most"), std::string::npos);
  EXPECT_FALSE(detail::serialize_parts(m).ok());
}

}  // namespace
}  // namespace walle::ir
