#include "runtime/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace walle::runtime {
namespace {

ir::Value input(const char* name, DType dtype, std::vector<ir::Dim> dims) {
  return {name, ir::ValueKind::tensor, dtype, std::move(dims), std::nullopt};
}

ir::Value named(const char* name) {
  return {name, ir::ValueKind::tensor, DType::undefined, std::nullopt, std::nullopt};
}

Tensor iota(const Shape& shape) {
  Tensor t = *Tensor::allocate(DType::float32, shape);
  std::iota(t.as_mutable<float>().begin(), t.as_mutable<float>().end(), 0.0f);
  return t;
}

// y = transpose(reshape(x, [3, 2]))
ir::ModelData transposing_model() {
  ir::ModelData m;
  ir::Graph& g = m.graph;
  g.name = "main";
  const auto x = g.add_value(input("x", DType::float32, {{-1, "n"}, {3, ""}}));
  ir::Value target = named("target");
  target.constant = *Tensor::vector_i64(std::vector<int64_t>{3, -1});
  const auto shape = g.add_value(target);
  const auto r = g.add_value(named("r"));
  const auto y = g.add_value(named("y"));
  g.inputs = {x};
  g.outputs = {y};
  g.nodes = {{"Reshape", "reshape", {x, shape}, {r}, {}}, {"Transpose", "transpose", {r}, {y}, {}}};
  return m;
}

TEST(Session, RunsMovementOperatorsForEveryShapeItIsGiven) {
  auto model = Model::create(transposing_model());
  ASSERT_TRUE(model.ok()) << model.error().message();
  auto session = (*model)->session({});
  ASSERT_TRUE(session.ok());
  for (int64_t n : {2, 4, 2}) {
    const std::vector<NamedValue> in{{"x", iota(Shape{n, 3})}};
    auto out = (*session)->run(in);
    ASSERT_TRUE(out.ok()) << out.error().message();
    const Tensor& y = *(*out)[0].tensor();
    EXPECT_EQ(y.shape(), (Shape{n, 3}));
    EXPECT_EQ(y.as<float>()[1], static_cast<float>(n));
  }
  EXPECT_EQ((*session)->explain().rows.size(),
            2u);  // one transpose for each of two shapes; reshapes are aliases
}

// Views of other arrays, such as masks of 0 and 255: true is every byte but 0, as in NumPy.
TEST(Session, TakesBooleansOfAnyByte) {
  ir::ModelData m;
  const auto a = m.graph.add_value(input("a", DType::boolean, {{4, ""}}));
  const auto b = m.graph.add_value(input("b", DType::boolean, {{4, ""}}));
  const auto y = m.graph.add_value(named("y"));
  m.graph.inputs = {a, b};
  m.graph.outputs = {y};
  m.graph.nodes = {{"Xor", "xor", {a, b}, {y}, {}}};
  auto session = (*Model::create(m))->session({});
  ASSERT_TRUE(session.ok());
  Tensor left = *Tensor::zeros(DType::boolean, Shape{4});
  Tensor right = *Tensor::zeros(DType::boolean, Shape{4});
  const uint8_t masks[2][4] = {{255, 2, 0, 1}, {1, 0, 128, 255}};
  std::memcpy(left.mutable_data(), masks[0], 4);
  std::memcpy(right.mutable_data(), masks[1], 4);
  const std::vector<NamedValue> in{{"a", left}, {"b", right}};
  const auto out = (*session)->run(in);
  ASSERT_TRUE(out.ok()) << out.error().message();
  const uint8_t want[] = {0, 1, 1, 0};
  EXPECT_EQ(std::memcmp((*out)[0].tensor()->data(), want, 4), 0);
  EXPECT_EQ(std::memcmp(left.data(), masks[0], 4), 0);  // the caller's memory is not touched
}

// A plan has a limit; a chain of operators longer than a quarter of it is planned in parts.
TEST(Session, PlansHugeGraphsInParts) {
  constexpr int64_t kNodes = base::kMaxPlanNodes / 4 + 2000;
  ir::ModelData m;
  auto last = m.graph.add_value(input("x", DType::float32, {{2, ""}}));
  m.graph.inputs = {last};
  for (int64_t i = 0; i < kNodes; ++i) {
    const auto next = m.graph.add_value(named(("y" + std::to_string(i)).c_str()));
    m.graph.nodes.push_back({i % 2 ? "Neg" : "Cos", "n" + std::to_string(i), {last}, {next}, {}});
    last = next;
  }
  m.graph.outputs = {last};
  auto session = (*Model::create(m))->session({});
  ASSERT_TRUE(session.ok());
  const std::vector<NamedValue> in{{"x", iota(Shape{2})}};
  const auto out = (*session)->run(in);
  ASSERT_TRUE(out.ok()) << out.error().message();
  float want = 1;
  for (int64_t i = 0; i < kNodes; ++i) want = i % 2 ? -want : std::cos(want);
  EXPECT_NEAR((*out)[0].tensor()->as<float>()[1], want, 1e-5);
  EXPECT_EQ((*session)->explain().rows.size(), static_cast<size_t>(kNodes));
}

TEST(Session, NamesWhatIsWrongWithAnInput) {
  auto model = Model::create(transposing_model());
  auto session = (*model)->session({});
  const std::vector<NamedValue> wrong{{"x", iota(Shape{2, 4})}};
  const auto out = (*session)->run(wrong);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().group(), base::ErrorGroup::argument);
  EXPECT_NE(out.error().message().find("float32[n, 3]"), std::string::npos) << out.error().message();
  EXPECT_FALSE((*session)->run(std::vector<NamedValue>{{"z", iota(Shape{2, 3})}}).ok());
  EXPECT_FALSE((*session)->run(std::vector<NamedValue>{}).ok());
}

TEST(Session, RefusesUnknownBackendsAndOptions) {
  auto model = Model::create(transposing_model());
  SessionOptions options;
  options.backend = "tpu";
  const auto session = (*model)->session(options);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().group(), base::ErrorGroup::backend);
  EXPECT_FALSE((*model)->session({.threads = 0}).ok());
  EXPECT_FALSE((*model)->session({.precision = "int3"}).ok());
}

}  // namespace
}  // namespace walle::runtime
