// Plans made ahead are those that runs take, and say which input they lack.
#include "build.h"

namespace walle::runtime {
namespace {

NamedValue shape(const char* name, const Shape& s, DType dtype = DType::float32) {
  return {name, Tensor(dtype, s, Buffer())};
}

// Reshape by an input's values, and a product with weights to pack.
std::shared_ptr<Model> reshaping() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {64, ""}});
  const auto target = b.input("target", DType::int64, {{2, ""}});
  const auto product = b.node("MatMul", {x, b.constant(ramp({64, 64}, 1e-3F))});
  b.output(b.node("Reshape", {product, target}), "y");
  return model_of(b.data());
}

Tensor target(int64_t n) { return *Tensor::vector_i64(std::vector<int64_t>{n, -1}); }

bool plans(Session& session, const std::vector<NamedValue>& in) {
  EXPECT_TRUE(session.start_profile().ok());
  const auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  const auto events = session.stop_profile();
  return std::ranges::any_of(*events, [](const ProfileEvent& e) { return e.algorithm == "host_plan"; });
}

TEST(Prepare, TheFirstRunFindsItsPlanAndItsWeights) {
  const auto model = reshaping();
  const auto session = *model->session({});
  const std::vector<NamedValue> ahead{shape("x", {40, 64}), {"target", target(64)}};
  ASSERT_TRUE(session->prepare(ahead).ok());
  const MemoryReport made = session->memory();
  EXPECT_EQ(made.plans, 1);
  EXPECT_GT(made.packed, 0);
  EXPECT_EQ(made.arena, 0) << "nothing ran";
  ASSERT_TRUE(session->prepare(ahead).ok());
  EXPECT_EQ(session->memory().plans, 1) << "the same again";
  EXPECT_FALSE(plans(*session, {{"x", ramp({40, 64})}, {"target", target(64)}}));
  EXPECT_EQ(session->memory().packed, made.packed);
}

TEST(Prepare, OtherSizesMakeAClass) {
  const auto model = reshaping();
  const auto session = *model->session({});
  for (const int64_t n : {40, 41})
    ASSERT_TRUE(session->prepare(std::vector<NamedValue>{shape("x", {n, 64}), {"target", target(64)}}).ok());
  EXPECT_FALSE(plans(*session, {{"x", ramp({50, 64})}, {"target", target(64)}}));
}

TEST(Prepare, ValuesThatDecideSizesAreAskedFor) {
  const auto model = reshaping();
  const auto session = *model->session({});
  const std::vector<NamedValue> ahead{shape("x", {40, 64}), shape("target", {2}, DType::int64)};
  const Status status = session->prepare(ahead);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().group(), base::ErrorGroup::argument);
  EXPECT_NE(status.error().message().find("target"), std::string::npos) << status.error().message();
  EXPECT_EQ(session->memory().plans, 0);
  EXPECT_TRUE(plans(*session, {{"x", ramp({40, 64})}, {"target", target(64)}})) << "the session goes on";
}

TEST(Prepare, AShapeThatDoesNotFitNamesTheInput) {
  const auto model = reshaping();
  const auto session = *model->session({});
  for (const auto& [ahead, named] : std::vector<std::pair<std::vector<NamedValue>, const char*>>{
           {{shape("x", {40, 63}), {"target", target(64)}}, "'x'"},
           {{shape("x", {40, 64}, DType::int32), {"target", target(64)}}, "'x'"},
           {{shape("x", {40, 64})}, "'target'"},
           {{shape("x", {40, 64}), shape("z", {1}), {"target", target(64)}}, "'z'"}}) {
    const Status status = session->prepare(ahead);
    ASSERT_FALSE(status.ok()) << named;
    EXPECT_EQ(status.error().group(), base::ErrorGroup::argument);
    EXPECT_NE(status.error().message().find(named), std::string::npos) << status.error().message();
  }
}

// What a control operator is given is known when it runs.
TEST(Prepare, ReachesAsFarAsShapesDecide) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto kept =
      b.node("Compress", {x, b.node("Greater", {x, b.floats({}, {0})})}, {{"axis", int64_t{0}}});
  b.output(b.node("Exp", {kept}), "y");
  const auto model = model_of(b.data());
  const auto session = *model->session({});
  ASSERT_TRUE(session->prepare(std::vector<NamedValue>{shape("x", {6})}).ok());
  EXPECT_EQ(session->memory().plans, 1);
  EXPECT_TRUE(plans(*session, {{"x", ramp({6})}}));
}

TEST(Prepare, LeavesStatesAsTheyAre) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto sum = b.input("sum", DType::float32, {});
  const auto added = b.node("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
  b.output(b.node("Add", {sum, added}), "next");
  b.output(b.node("Mul", {x, sum}), "y");
  const auto model = model_of(b.data());
  const StateSpec spec{"sum", "next", *Tensor::from<float>({}, std::vector<float>{5})};
  const auto counting = *model->with_states({&spec, 1});
  const auto session = *counting->session({});
  ASSERT_TRUE(session->prepare(std::vector<NamedValue>{shape("x", {3})}).ok());
  EXPECT_EQ(session->state("sum")->as<float>()[0], 5);
  EXPECT_FALSE(plans(*session, {{"x", ramp({3})}}));
  EXPECT_EQ(session->state("sum")->as<float>()[0], 8);
}

}  // namespace
}  // namespace walle::runtime
