// Programs on several memories: results as on the host alone, copies listed and timed, and plans with a copy
// missing or late found out.
#include <cmath>
#include <random>

#include "backends/null/null_backend.h"
#include "build.h"
#include "ops/registry.h"
#include "runtime/backend_list.h"
#include "search/make_plan.h"
#include "seed.h"

namespace walle::runtime {
namespace {

// Control flow, a shape that depends on a value, weights packed and not, a value read twice.
std::shared_ptr<Model> mixed() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {4, ""}});
  const auto product = b.node("MatMul", {x, b.constant(ramp({4, 6}, 0.25F))});
  const auto sum = b.node("Add", {product, b.floats({6}, {1, -20, 3, -40, 5, 6})});
  const auto relu = b.node("Relu", {sum});
  b.output(b.node("Mul", {relu, sum}), "y");
  b.output(b.node("Transpose", {b.node("NonZero", {relu})}), "where");  // as many rows as there are
  GraphBuilder inner;
  const auto in =
      inner.graph().add_value({"in", ir::ValueKind::tensor, DType::undefined, std::nullopt, std::nullopt});
  inner.graph().inputs.push_back(in);
  inner.output(inner.node("Mul", {in, inner.floats({}, {2})}), "out");
  const auto body = std::make_shared<const ir::Graph>(inner.graph());
  const auto flag =
      b.node("Greater", {b.node("ReduceMax", {sum}, {{"keepdims", int64_t{0}}}), b.floats({}, {0})});
  b.output(b.node("If", {flag, sum, sum},
                  {{"then_branch", body},
                   {"else_branch", body},
                   {"then_captures", int64_t{1}},
                   {"else_captures", int64_t{1}}}),
           "chosen");
  return model_of(b.data());
}

std::vector<ir::RuntimeValue> run(Session& session, int64_t n) {
  auto out = session.run(std::vector<NamedValue>{{"x", ramp({n, 4}, 0.5F)}});
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  return out.ok() ? *out : std::vector<ir::RuntimeValue>();
}

void expect_same(const std::vector<ir::RuntimeValue>& got, const std::vector<ir::RuntimeValue>& want,
                 const std::string& trace) {
  ASSERT_EQ(got.size(), want.size()) << trace;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i].tensor()->identical(*want[i].tensor())) << "result " << i << " with " << trace;
}

TEST(Memories, ResultsDoNotDependOnWhereNodesRun) {
  const auto model = mixed();
  auto host = *model->session({});
  std::vector<SessionOptions> others{{.backend = "null"}, {.backend = "null,cpu"}, {.backend = "cpu,null"}};
  std::mt19937 rng(test_seed());
  for (int lot = 0; lot < 20; ++lot) others.push_back({.backend = "cpu,null", .debug = {.placement = rng()}});
  for (const SessionOptions& options : others) {
    auto session = *model->session(options);
    for (const int64_t n : {3, 5, 3}) {
      expect_same(run(*session, n), run(*host, n),
                  options.backend + " by lot " + std::to_string(options.debug.placement.value_or(0)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Memories, TheNullBackendIsNeverPreferred) {
  const auto model = mixed();
  auto session = *model->session({.backend = "null,cpu"});
  run(*session, 3);
  const ExplainReport report = session->explain();
  // The executor runs control operators itself, on the host.
  for (const ExplainRow& row : report.rows)
    EXPECT_TRUE(row.backend == "cpu" || row.backend == "host") << row.op;
  EXPECT_FALSE(report.arenas.contains("null")) << "nothing runs there";
}

// y = (x * 2) with x copied in and y copied out.
std::shared_ptr<Model> doubling() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{250, ""}});
  b.output(b.node("Mul", {x, b.floats({}, {2})}), "y");
  return model_of(b.data());
}

TEST(Memories, CopiesAreExplainedAndTimed) {
  auto session = *doubling()->session({.backend = "null"});
  const std::vector<NamedValue> in{{"x", ramp({250})}};
  ASSERT_TRUE(session->run(in).ok());  // making the plan would be a row too
  ASSERT_TRUE(session->start_profile().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run(in).ok());
  std::vector<ProfileEvent> events = *session->stop_profile();
  std::erase_if(events, [](const ProfileEvent& e) { return e.op == "run"; });
  ASSERT_EQ(events.size(), 9u);
  EXPECT_EQ(events[0].name, "input 0");
  EXPECT_EQ(events[0].algorithm, "copy_in");
  EXPECT_EQ(events[2].name, "Mul0");
  EXPECT_EQ(events[2].algorithm, "copy_out");
  const ExplainReport report = session->explain();
  ASSERT_EQ(report.rows.size(), 3u);
  double predicted = 0;
  for (const ExplainRow& row : report.rows) {
    EXPECT_EQ(row.measured_runs, 3);
    EXPECT_EQ(row.backend, "null");
    predicted += row.predicted_ms;
  }
  EXPECT_DOUBLE_EQ(report.predicted_ms, predicted);
  for (const size_t copy : {0, 2}) {
    EXPECT_EQ(report.rows[copy].op, "copy");
    EXPECT_EQ(report.rows[copy].bytes, 1000);
    EXPECT_EQ(report.rows[copy].output, "float32[250]");
    EXPECT_GT(report.rows[copy].predicted_ms, 0);
  }
  EXPECT_EQ(report.rows[0].memory, "null");
  EXPECT_EQ(report.rows[0].storage, "arena");
  EXPECT_EQ(report.rows[2].memory, "host");
  EXPECT_EQ(report.rows[2].storage, "output");
  EXPECT_EQ(report.arenas.at("host"), 0);
  EXPECT_EQ(report.arenas.at("null"), report.arena_bytes);
}

// Counts what is made anew.
class Counting final : public backends::ConstantCache {
 public:
  Result<backends::SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                                    const std::function<Result<backends::Block>()>& make) override {
    return inner_.get(sources, kind, [&] {
      ++made;
      return make();
    });
  }
  int made = 0;

 private:
  PreparedConstants inner_;
};

struct TwoSteps {
  ops::Program program;  // z = relu(x + c); c a constant
  std::vector<const backends::Backend*> backends;

  TwoSteps() : backends(*backends_named("cpu,null")) {
    for (int i = 0; i < 4; ++i) program.values.push_back({DType::float32, Shape{4}, std::nullopt});
    program.values[1].constant = *Tensor::from<float>(Shape{4}, std::vector<float>{1, 1, 1, 1});
    program.nodes.push_back({ops::find_op("Add"), {}, {0, 1}, {2}, "sum", {}, {}});
    program.nodes.push_back({ops::find_op("Relu"), {}, {2}, {3}, "relu", {}, {}});
    program.inputs = {0};
    program.outputs = {3};
  }
  // `lot` places Add on the host and Relu on the null backend.
  search::Plan plan() const {
    for (uint64_t lot = 0;; ++lot) {
      auto made = search::make_plan(program, backends, {.random_placement = lot});
      if (made->steps.size() == 4 && !made->steps[0].is_copy() && !made->steps[2].is_copy()) return *made;
    }
  }
  Result<std::vector<float>> run(const search::Plan& plan) const {
    WALLE_ASSIGN(const auto exe, Executable::bind(program, plan, 1, nullptr));
    SessionMemory memory;
    const Tensor x = ramp({4});
    const Tensor* const in[] = {&x};
    std::vector<float> got;
    for (int again = 0; again < 2; ++again) {  // the second run must not live on what the first left behind
      WALLE_ASSIGN(const auto out, exe->run(in, memory, nullptr));
      got.assign(out[0].as<float>().begin(), out[0].as<float>().end());
    }
    return got;
  }
};

TEST(BrokenPlan, WithoutItsCopyIsFoundOut) {
  const TwoSteps two;
  const std::vector<float> right{1, 2, 3, 4};
  const search::Plan plan = two.plan();
  ASSERT_TRUE(plan.steps[1].is_copy() && plan.steps[3].is_copy());
  ASSERT_EQ(*two.run(plan), right);
  for (const size_t copy : {1, 3}) {
    search::Plan broken = plan;
    broken.steps.erase(broken.steps.begin() + static_cast<std::ptrdiff_t>(copy));
    const auto got = two.run(broken);
    EXPECT_TRUE(!got.ok() || *got != right) << "without copy " << copy;
  }
}

TEST(BrokenPlan, WithItsCopyTooLateIsFoundOut) {
  const TwoSteps two;
  search::Plan plan = two.plan();
  std::swap(plan.steps[1], plan.steps[2]);
  const auto got = two.run(plan);
  ASSERT_TRUE(got.ok());
  for (size_t i = 0; i < 4; ++i) EXPECT_NE((*got)[i], static_cast<float>(i + 1));
}

TEST(BrokenPlan, WithOneBlockForTwoLivingValuesIsFoundOut) {
  TwoSteps two;
  // On the null backend alone: x, the sum and relu's result; relu's on top of the sum it reads.
  two.backends = *backends_named("null");
  auto plan = search::make_plan(two.program, two.backends, {});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(*two.run(*plan), (std::vector<float>{1, 2, 3, 4}));
  plan->memories[1].storage[3].offset = plan->memories[1].storage[2].offset;
  EXPECT_NE(*two.run(*plan), (std::vector<float>{1, 2, 3, 4}));
}

TEST(BrokenPlan, ThatReadsAValueWhereItIsNotHeldIsRefused) {
  const TwoSteps two;
  search::Plan plan = two.plan();
  plan.memories[1].storage[2] = {};
  const auto got = two.run(plan);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message().find("does not hold"), std::string::npos) << got.error().message();
}

// Two null memories reach each other: what crosses between them does not pass the host.
TEST(Memories, ValuesGoStraightWhereAMemoryReachesTheOther) {
  TwoSteps two;
  const backends::null::NullBackend left(host_backend()), right(host_backend());
  two.backends = {&left, &right};
  int across = 0;
  for (uint64_t lot = 0; lot < 16; ++lot) {
    const auto plan = search::make_plan(two.program, two.backends, {.random_placement = lot});
    ASSERT_TRUE(plan.ok());
    for (const search::Step& s : plan->steps) across += s.is_copy() && s.copy.across();
    ASSERT_EQ(*two.run(*plan), (std::vector<float>{1, 2, 3, 4})) << "lot " << lot;
  }
  EXPECT_GT(across, 0);
}

TEST(Constants, ReachAMemoryOncePerModel) {
  TwoSteps two;
  two.backends = *backends_named("null");
  Counting constants;
  for (int session = 0; session < 3; ++session) {
    auto plan = search::make_plan(two.program, two.backends, {});
    ASSERT_TRUE(Executable::bind(two.program, *plan, 1, &constants).ok());
  }
  EXPECT_EQ(constants.made, 1);
}

TEST(Options, AccuracyIsOneOfThree) {
  const auto model = doubling();
  for (const char* good : {"strict", "normal", "fast"})
    EXPECT_TRUE(model->session({.accuracy = good}).ok()) << good;
  for (const char* bad : {"", "Strict", "exact"}) {
    const auto session = model->session({.accuracy = bad});
    ASSERT_FALSE(session.ok()) << bad;
    EXPECT_EQ(session.error().group(), base::ErrorGroup::argument);
  }
}

}  // namespace
}  // namespace walle::runtime
