// Runs that are ended, results in memory of the caller, inputs with values of their own, declared dtypes.
#include "runtime/run_control.h"

#include <cstring>
#include <future>
#include <thread>

#include "build.h"
#include "ir/walle_file.h"
#include "waits.h"

namespace walle::runtime {
namespace {

using std::chrono::milliseconds;

// y = 2 x + w, where w is a constant that may be overridden.
ir::ModelData doubling() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto w = b.floats({1}, {10});
  b.graph().at(w).name = "w";
  b.graph().at(w).shape = std::vector<ir::Dim>{{1, ""}};
  b.graph().overridable = {w};
  b.output(b.node("Add", {b.node("Add", {x, x}), b.node("Neg", {b.node("Neg", {w})})}), "y");
  return b.data();
}

// A chain of nodes that takes a while.
ir::ModelData chain(int length) {
  GraphBuilder b;
  auto last = b.input("x", DType::float32, {{1 << 16, ""}});
  for (int i = 0; i < length; ++i) last = b.node(i % 2 ? "Cos" : "Exp", {last});
  b.output(last, "y");
  return b.data();
}

std::vector<NamedValue> ramp_of(int64_t n) { return {{"x", ramp({n})}}; }

class Counter final : public HostCheck {
 public:
  explicit Counter(int64_t last) : last_(last) {}
  Status check() override { return ++calls_ < last_ ? Status() : cancelled_error("the test", "check"); }
  int64_t calls() const { return calls_; }

 private:
  int64_t last_;
  int64_t calls_ = 0;
};

// Holds a run where it is asked first, and then ends it.
class Gate final : public HostCheck {
 public:
  Status check() override {
    entered.set_value();
    go.get_future().wait();
    return cancelled_error("the test", "check");
  }
  std::promise<void> entered;
  std::promise<void> go;
};

TEST(RunControl, EndsByADeadlineATokenOrTheHost) {
  RunOptions options;
  options.timeout = milliseconds(0);
  RunControl late(options);
  EXPECT_TRUE(late.due());
  EXPECT_EQ(late.look().error().group(), base::ErrorGroup::timeout);

  CancelToken token;
  options = {.cancel = &token};
  RunControl cancelled(options);
  EXPECT_FALSE(cancelled.due());
  token.cancel();
  EXPECT_TRUE(cancelled.due());
  EXPECT_EQ(cancelled.look().error().group(), base::ErrorGroup::cancelled);

  Counter host(2);
  options = {.host = &host};
  // Not before some time has passed, and it has not where this thread was not held up meanwhile.
  using Clock = std::chrono::steady_clock;
  const auto early = [](RunControl& control, Clock::time_point since) {
    return control.due() && Clock::now() - since < RunControl::kHostPeriod / 2;
  };
  const auto made = Clock::now();
  RunControl asked(options);
  EXPECT_FALSE(early(asked, made));
  EXPECT_TRUE(until([&] { return asked.due(); }));
  const auto looked = Clock::now();
  EXPECT_TRUE(asked.look().ok());
  EXPECT_FALSE(early(asked, looked));
  EXPECT_FALSE(asked.look().ok());
  EXPECT_FALSE(RunControl::needed({}));
}

TEST(RunControl, StopsBetweenStepsAndLeavesTheSessionUsable) {
  const auto model = model_of(chain(4000));
  const auto session = *model->session({});
  const auto whole = session->run(ramp_of(1 << 16));
  ASSERT_TRUE(whole.ok()) << whole.error().message();
  RunOptions options;
  options.timeout = milliseconds(5);
  const auto ended = session->run(ramp_of(1 << 16), options);
  ASSERT_FALSE(ended.ok()) << "4000 steps of 65,536 elements do not fit";
  EXPECT_EQ(ended.error().group(), base::ErrorGroup::timeout);
  const auto again = session->run(ramp_of(1 << 16));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)[0].tensor()->identical(*(*whole)[0].tensor()));
}

TEST(RunControl, AWaitForTheSessionEndsToo) {
  const auto model = model_of(chain(4000));
  const auto session = *model->session({});
  Gate gate;
  // It would take 0.3 s, and is asked after kHostPeriod.
  std::thread other([&] { EXPECT_FALSE(session->run(ramp_of(1 << 16), {.host = &gate}).ok()); });
  // From then on it has the session, and keeps it.
  EXPECT_EQ(gate.entered.get_future().wait_for(kPatience), std::future_status::ready);
  const auto waited = session->run(ramp_of(1 << 16), {.timeout = milliseconds(20)});
  gate.go.set_value();
  other.join();
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().group(), base::ErrorGroup::timeout);
}

TEST(Results, LieInMemoryOfTheCaller) {
  const auto model = model_of(doubling());
  const auto session = *model->session({});
  RunOptions options;
  options.results = {*Tensor::allocate(DType::float32, Shape{3})};
  const auto out = session->run(ramp_of(3), options);
  ASSERT_TRUE(out.ok()) << out.error().message();
  EXPECT_EQ((*out)[0].tensor()->data(), options.results[0].data());
  EXPECT_EQ(numbers((*out)[0]), (std::vector<float>{10, 12, 14}));
  options.results = {*Tensor::allocate(DType::float32, Shape{4})};
  EXPECT_EQ(session->run(ramp_of(3), options).error().group(), base::ErrorGroup::argument);
  options.results = {*Tensor::allocate(DType::float64, Shape{3})};
  EXPECT_EQ(session->run(ramp_of(3), options).error().group(), base::ErrorGroup::argument);
  const auto in = ramp_of(3);
  options.results = {*in[0].value.tensor()};
  EXPECT_NE(session->run(in, options).error().message().find("overlaps input 'x'"), std::string::npos);
}

TEST(Overridable, HoldsThroughAFile) {
  const std::string file = ir::serialize_walle(model_of(doubling())->stored()).value();
  Buffer bytes = Buffer::allocate(file.size()).value();
  std::memcpy(bytes.data(), file.data(), file.size());
  const auto read = ir::parse_walle(bytes, "test", ir::Check::weights);
  ASSERT_TRUE(read.ok()) << read.error().message();
  const auto session = *model_of(*read)->session({});
  auto in = ramp_of(2);
  EXPECT_EQ(numbers((*session->run(in))[0]), (std::vector<float>{10, 12}));
  in.push_back({"w", *Tensor::from<float>(Shape{1}, std::vector<float>{100})});
  EXPECT_EQ(numbers((*session->run(in))[0]), (std::vector<float>{100, 102}));
  EXPECT_EQ(numbers((*session->run(ramp_of(2)))[0]), (std::vector<float>{10, 12}));
}

TEST(Overridable, SignaturesMayNameThem) {
  ir::ModelData data = doubling();
  data.signatures = {{"serve", {{"in", "x"}, {"weight", "w"}}, {{"out", "y"}}}};
  const auto session = *model_of(data)->session({});
  auto in = ramp_of(1);
  in.push_back({"w", *Tensor::from<float>(Shape{1}, std::vector<float>{7})});
  EXPECT_EQ(numbers((*session->run(in))[0]), std::vector<float>{7});
}

TEST(Overridable, IsAConstantInTheGraph) {
  ir::ModelData data = doubling();
  data.graph.overridable = {data.graph.inputs[0]};
  EXPECT_FALSE(Model::create(data).ok()) << "an input without a value";
  data.graph.overridable = {99};
  EXPECT_FALSE(Model::create(data).ok());
  data = doubling();
  data.graph.overridable.push_back(data.graph.overridable[0]);
  EXPECT_FALSE(Model::create(data).ok()) << "twice";
  data = doubling();
  auto body = std::make_shared<ir::Graph>(data.graph);
  body->overridable = {99};
  data.graph.nodes[0].attributes.set("body", std::shared_ptr<const ir::Graph>(std::move(body)));
  EXPECT_FALSE(Model::create(data).ok()) << "a body's";
}

TEST(Declared, AnotherDtypeIsRefused) {
  ir::ModelData data = doubling();
  data.graph.at(data.graph.outputs[0]).dtype = DType::int64;
  EXPECT_FALSE(Model::create(data).ok());
  data.graph.at(data.graph.inputs[0]).dtype = DType::undefined;  // so that only a run can tell
  const auto out = (*model_of(data)->session({}))->run(ramp_of(2));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().group(), base::ErrorGroup::model);
}

TEST(Profile, AddsUpToTheWallTime) {
  const auto model = model_of(chain(20));
  const auto session = *model->session({});
  ASSERT_TRUE(session->start_profile().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run(ramp_of(1 << 16)).ok());
  const auto events = *session->stop_profile();
  const ExplainReport report = session->explain();
  double rows_ms = 0;
  for (const ExplainRow& row : report.rows)
    rows_ms += row.measured_ms * static_cast<double>(row.measured_runs);
  EXPECT_EQ(report.profiled_runs, 3);
  EXPECT_GT(rows_ms, 0);
  EXPECT_LE(rows_ms, report.wall_ms * 3 * (1 + 1e-9));
  EXPECT_EQ(std::ranges::count(events, "run", &ProfileEvent::op), 3);
  for (const char* first : {"plan", "pack"})
    EXPECT_EQ(std::ranges::count(report.rows, first, &ExplainRow::op), 1) << first;
}

}  // namespace
}  // namespace walle::runtime
