// The executor's own operators, constant folding, and what explain() and the profiler say.
#include "build.h"

#include "runtime/backend_list.h"
#include "runtime/fold.h"

namespace walle::runtime {
namespace {

ir::Value loose(const char* name) {
  return {name, ir::ValueKind::tensor, DType::undefined, std::nullopt, std::nullopt};
}

// Loop body: (iteration, go on) + (state) -> (go on, state * 2, state)
std::shared_ptr<const ir::Graph> doubling_body(bool stop_at_8) {
  GraphBuilder b;
  ir::Graph& g = b.graph();
  const auto trip = g.add_value(loose("trip")), go = g.add_value(loose("go")),
             state = g.add_value(loose("state"));
  g.inputs = {trip, go, state};
  const auto doubled = b.node("Add", {state, state});
  b.output(stop_at_8 ? b.node("Less", {doubled, b.floats({}, {8})}) : b.node("Identity", {go}), "go_on");
  b.output(doubled, "next");
  b.output(b.node("Identity", {state}), "scan");
  return std::make_shared<const ir::Graph>(g);
}

Result<std::vector<ir::RuntimeValue>> loop(int64_t trips, bool stop_at_8) {
  GraphBuilder b;
  const auto start = b.input("start", DType::float32, {});
  const auto count = b.constant(*Tensor::scalar<int64_t>(trips)),
             yes = b.constant(*Tensor::scalar<bool>(true));
  const auto last = b.node("Loop", {count, yes, start},
                           {{"body", doubling_body(stop_at_8)}, {"body_captures", int64_t{0}}});
  ir::Graph& g = b.graph();
  const auto scanned = g.add_value(loose("scanned"));
  g.nodes.back().outputs.push_back(scanned);
  b.output(last, "last");
  g.outputs.push_back(scanned);
  const auto model = model_of(b.data());
  auto session = *model->session({});
  return session->run(std::vector<NamedValue>{{"start", *Tensor::scalar<float>(1)}});
}

TEST(Loop, CountsStopsAndCollects) {
  const auto counted = loop(5, false);
  ASSERT_TRUE(counted.ok()) << counted.error().message();
  EXPECT_EQ(numbers((*counted)[0]), std::vector<float>{32});
  EXPECT_EQ(numbers((*counted)[1]), (std::vector<float>{1, 2, 4, 8, 16}));
  const auto stopped = loop(100, true);
  ASSERT_TRUE(stopped.ok()) << stopped.error().message();
  EXPECT_EQ(numbers((*stopped)[0]), std::vector<float>{8});
  const auto none = loop(0, false);
  ASSERT_TRUE(none.ok()) << none.error().message();
  EXPECT_EQ(numbers((*none)[0]), std::vector<float>{1});
  EXPECT_EQ((*none)[1].tensor()->elements(), 0);
}

TEST(Loop, AHugeTripCountIsNoReason) {
  EXPECT_TRUE(loop(std::numeric_limits<int64_t>::max(), true).ok()) << "the condition ends it";
}

TEST(Fold, ConstantPartsAreGoneBeforeTheFirstRun) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{2, ""}});
  const auto sum = b.node("Add", {b.floats({2}, {1, 2}), b.floats({2}, {10, 20})});
  b.output(b.node("Add", {x, b.node("Neg", {sum})}), "y");
  const auto folded = model_of(b.data()), plain = model_of(b.data(), {.fold = false});
  EXPECT_EQ(folded->graph().nodes.size(), 1u);
  EXPECT_EQ(plain->graph().nodes.size(), 3u);
  const std::vector<NamedValue> in{{"x", ramp({2}, 0)}};
  for (const auto& model : {folded, plain})
    EXPECT_EQ(numbers((*(*model->session({}))->run(in))[0]), (std::vector<float>{-11, -22}));
}

TEST(Fold, RandomAndHugeResultsStay) {
  GraphBuilder b;
  b.output(b.node("RandomNormal", {}, {{"shape", std::vector<int64_t>{2}}}), "random");
  b.output(b.node("Expand", {b.floats({1}, {1}), b.ints({1 << 26})}), "large");  // 256 MB
  b.output(b.node("Gather", {b.floats({2}, {1, 2}), b.ints({3})}), "wrong");
  const auto model = model_of(b.data());
  ASSERT_EQ(model->graph().nodes.size(), 3u) << ir::dump(model->graph());
  const auto out = (*model->session({}))->run(std::vector<NamedValue>{});
  ASSERT_FALSE(out.ok()) << "what cannot be folded says why when it runs";
  EXPECT_NE(out.error().message().find("Gather"), std::string::npos) << out.error().message();
}

std::shared_ptr<Model> two_steps() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {8, ""}});
  const auto product = b.node("MatMul", {x, b.constant(ramp({8, 16}))});
  b.output(b.node("Softmax", {product}), "y");
  return model_of(b.data());
}

TEST(Explain, SaysWhatRunsWhereAtWhatCost) {
  const auto model = two_steps();
  auto session = *model->session({});
  EXPECT_EQ(session->explain().rows.size(), 0u) << "nothing is planned before the first run";
  ASSERT_TRUE(session->run(std::vector<NamedValue>{{"x", ramp({4, 8})}}).ok());
  const ExplainReport report = session->explain();
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.plans, 1);
  const ExplainRow& product = report.rows[0];
  EXPECT_EQ(product.op, "MatMul");
  EXPECT_EQ(product.backend, "cpu");
  EXPECT_EQ(product.output, "float32[4, 16]");
  EXPECT_EQ(product.storage, "arena");
  EXPECT_EQ(product.flops, 2 * 4 * 8 * 16);
  EXPECT_EQ(product.bytes, 4 * (4 * 8 + 8 * 16 + 4 * 16));
  EXPECT_GT(product.predicted_ms, 0);
  EXPECT_EQ(product.measured_runs, 0);
  EXPECT_TRUE(product.losers.empty()) << "its definition is not asked where there is a kernel";
  EXPECT_EQ(report.rows[1].storage, "output");
  EXPECT_GE(report.arena_bytes, product.offset + 4 * 4 * 16);
}

TEST(Profiler, MeasuresTheStepsOfItsRunsAlone) {
  const auto model = two_steps();
  auto session = *model->session({});
  const std::vector<NamedValue> in{{"x", ramp({4, 8})}};
  ASSERT_TRUE(session->run(in).ok());
  ASSERT_TRUE(session->start_profile().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run(in).ok());
  auto events = *session->stop_profile();
  ASSERT_TRUE(session->run(in).ok());
  EXPECT_EQ(std::erase_if(events, [](const ProfileEvent& e) { return e.op == "run"; }), 3u) << "whole runs";
  ASSERT_EQ(events.size(), 6u);
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GE(events[i].start_us, events[i - 1].start_us + events[i - 1].duration_us - 1e-3);
  for (const ExplainRow& row : session->explain().rows) EXPECT_EQ(row.measured_runs, 3);
  EXPECT_TRUE((*session->stop_profile()).empty());
}

TEST(Backends, AreFoundByNameInTheOrderAsked) {
  EXPECT_EQ(backend_names().front(), "cpu");
  EXPECT_NE(backend_target("cpu").find("scalar"), std::string::npos);
  EXPECT_EQ(backend_target("tpu"), "");
  EXPECT_EQ(backends_named("cpu")->size(), 1u);
  EXPECT_EQ((*backends_named("cpu"))[0], &host_backend());
  for (const char* names : {"", "tpu", "cpu,tpu", "CPU", " cpu", ",", "cpu,,cpu"}) {
    const auto found = backends_named(names);
    ASSERT_FALSE(found.ok()) << "'" << names << "'";
    EXPECT_EQ(found.error().group(), base::ErrorGroup::backend);
    EXPECT_NE(found.error().message().find("cpu"), std::string::npos);
  }
}

}  // namespace
}  // namespace walle::runtime
