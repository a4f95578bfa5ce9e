// Which plans stay: the most recently used, within numbers and bytes.
#include "runtime/plan_limits.h"

#include "build.h"

namespace walle::runtime {
namespace {

// A plan for each length, with a table of its own: 64 floats a row, folded for the length.
std::shared_ptr<Model> tables() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {64, ""}});
  const auto row = b.floats({1, 64}, std::vector<float>(64, 2));
  const auto table = b.node("Exp", {b.node("Expand", {row, b.node("Shape", {x})})});
  b.output(b.node("Add", {x, table}), "y");
  return model_of(b.data());
}

SessionOptions exact(SessionOptions options) {
  options.debug.classes = false;
  return options;
}

void run(Session& session, int64_t n) {
  const std::vector<NamedValue> in{{"x", ramp({n, 64}, 1e-3F)}};
  const auto out = session.run(in);
  ASSERT_TRUE(out.ok()) << out.error().message();
  EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{n, 64}));
}

// Whether a run of this length finds its plan: a new one takes the place of another.
bool planned(Session& session, int64_t n) {
  EXPECT_TRUE(session.start_profile().ok());
  run(session, n);
  const auto events = session.stop_profile();
  return std::ranges::none_of(*events, [](const ProfileEvent& e) { return e.algorithm == "host_plan"; });
}

TEST(PlanLimits, TheLeastRecentlyUsedGoes) {
  const auto model = tables();
  const auto session = *model->session(exact({.max_plans = 3}));
  for (const int64_t n : {10, 20, 30}) run(*session, n);
  run(*session, 10);
  run(*session, 40);
  EXPECT_TRUE(planned(*session, 10)) << "the first, but used since";
  EXPECT_TRUE(planned(*session, 30));
  EXPECT_TRUE(planned(*session, 40));
  EXPECT_FALSE(planned(*session, 20));
}

TEST(PlanLimits, BytesCountWhatGoesWithAPlan) {
  const auto model = tables();
  constexpr int64_t kRows = 4096, kTable = kRows * 64 * 4;  // 1 MiB
  int64_t one = 0;
  {
    const auto session = *model->session(exact({}));
    run(*session, kRows);
    one = session->memory().folded;
    ASSERT_GE(one, kTable);
  }
  const auto session = *model->session(exact({.max_plan_bytes = 5 * one / 2}));
  int64_t most = 0;
  for (int64_t n = 0; n < 8; ++n) {
    run(*session, kRows + n);
    most = std::max(most, session->memory().plans);
    EXPECT_LE(session->memory().folded, 5 * one / 2);
  }
  EXPECT_EQ(most, 2);
  EXPECT_TRUE(planned(*session, kRows + 7));
  EXPECT_TRUE(planned(*session, kRows + 6));
}

TEST(PlanLimits, OnePlanAboveTheBoundRuns) {
  const auto model = tables();
  const auto session = *model->session(exact({.max_plan_bytes = 1}));
  for (const int64_t n : {100, 200, 100}) {
    run(*session, n);
    EXPECT_EQ(session->memory().plans, 1);
  }
  EXPECT_TRUE(planned(*session, 100));
}

TEST(PlanLimits, TheArenaShrinksToWhatIsLeft) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {64, ""}});
  const auto wide = b.node("MatMul", {x, b.constant(ramp({64, 256}, 1e-3F))});
  b.output(b.node("MatMul", {b.node("Tanh", {wide}), b.constant(ramp({256, 64}, 1e-3F))}), "y");
  const auto model = model_of(b.data());
  const auto session = *model->session(exact({.max_plans = 2}));
  run(*session, 4000);
  const int64_t large = session->memory().arena;
  ASSERT_GE(large, 4000 * 256 * 4);
  run(*session, 100);
  EXPECT_EQ(session->memory().arena, large);
  run(*session, 101);
  run(*session, 100);
  EXPECT_LT(session->memory().arena, large / 8);
  run(*session, 4000);
}

TEST(PlanLimits, ANegativeBoundIsRefused) {
  const auto session = tables()->session({.max_plan_bytes = -1});
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message().find("max_plan_bytes=-1"), std::string::npos);
}

}  // namespace
}  // namespace walle::runtime
