// From record() to a stored row, on the libraries of this build.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "columns.h"
#include "container/device_case.h"
#include "ir/walle_file.h"

namespace walle::container {
namespace {

const char* const kRow =
    "def main(event):\n    return {'item': event['fields']['item'], 'text': event['event']}\n";

std::vector<int64_t> first(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 1);
  return out;
}

TEST_F(DeviceTest, AnEventEndsInAStoredRow) {
  open();
  install(with_table(manifest("store")), kRow);
  tap(7, "x");
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), std::vector<int64_t>{7});
  const TaskInfo task = info("store");
  EXPECT_EQ(task.firings, 1u);
  EXPECT_EQ(task.failures, 0u) << task.error;
  EXPECT_TRUE(task.hot);
  EXPECT_EQ(task.queue.settled, 1u);
}

TEST_F(DeviceTest, TheEventSaysWhatFiredAndWhatCompletedIt) {
  open();
  listen();
  install(manifest("echo"), "def main(event):\n    return event\n");
  tap(7, "blue");
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_EQ(results_.size(), 1u);
  ASSERT_FALSE(results_[0].error) << results_[0].error->text();
  const vm::Value& event = results_[0].value;
  EXPECT_EQ(*event.find("trigger")->get<std::string>(), "tapped");
  EXPECT_EQ(*event.find("number")->get<int64_t>(), 1);
  EXPECT_EQ(*event.find("event")->get<std::string>(), "tap");
  EXPECT_EQ(*event.find("page")->get<std::string>(), "");
  EXPECT_EQ(*event.find("fields")->find("item")->get<int64_t>(), 7);
  EXPECT_EQ(*event.find("fields")->find("price")->get<double>(), 0.5);
  EXPECT_EQ(*event.find("fields")->find("label")->get<std::string>(), "blue");
  EXPECT_EQ(static_cast<uint64_t>(*event.find("key")->get<int64_t>()), results_[0].firing.key);
  EXPECT_EQ(results_[0].firing.seq, 1u);
}

TEST_F(DeviceTest, AllTasksOfAnEventRunAndAFiringHasItsPlaceInTheRow) {
  open();
  for (int i = 0; i < 20; ++i) install(with_table(manifest("task" + std::to_string(i))), kRow);
  for (int64_t i = 1; i <= 50; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(items("task" + std::to_string(i)), first(50)) << i;
}

TEST_F(DeviceTest, ModuleStateStaysWhileATaskIsHot) {
  open();
  install(with_table(manifest("count")),
          "n = 0\ndef main(event):\n    global n\n    n += 1\n    return {'item': n}\n");
  for (int i = 0; i < 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  core_->trim();
  EXPECT_FALSE(info("count").hot);
  EXPECT_EQ(core_->stats().hot, 0u);
  tap(9);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("count"), (std::vector<int64_t>{1, 2, 3, 1}));
  EXPECT_EQ(info("count").isolates, 2u);
}

TEST_F(DeviceTest, PhasesHandTheirValuesOn) {
  Manifest m = with_table(manifest("phases"));
  m.main_function.clear();
  m.preprocess = "before";
  m.execute_function = "work";
  m.postprocess = "after";
  open();
  listen();
  install(m,
          "def before(event):\n    return [event['fields']['item'], 'x' * 100]\n"
          "def work(inputs):\n    return {'double': inputs[0] * 2, 'text': inputs[1]}\n"
          "def after(outputs):\n    return [{'item': outputs['double']}, {'text': outputs['text']}]\n");
  tap(21);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_EQ(results_.size(), 1u);
  ASSERT_FALSE(results_[0].error) << results_[0].error->text();
  EXPECT_EQ(results_[0].rows, 2u);
  EXPECT_EQ(items("phases"), (std::vector<int64_t>{42, 0}));
}

// y = Relu(x), x of two floats.
std::string relu_model() {
  ir::ModelData data;
  ir::Graph& g = data.graph;
  g.name = "relu";
  const ir::Dim two{2, ""};
  ir::Value x, y;
  x.name = "x";
  y.name = "y";
  x.dtype = y.dtype = DType::float32;
  x.shape = y.shape = std::vector<ir::Dim>{two};
  g.inputs = {g.add_value(x)};
  g.outputs = {g.add_value(y)};
  ir::Node node;
  node.op = "Relu";
  node.inputs = {g.inputs[0]};
  node.outputs = {g.outputs[0]};
  g.nodes.push_back(node);
  Result<std::string> bytes = ir::serialize_walle(data);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message();
  return bytes.ok() ? *bytes : "";
}

Manifest model_task() {
  Manifest m;
  m.name = "model";
  m.version = "1.0.0";
  m.triggers = {{"tapped", "tap"}};
  m.preprocess = "before";
  m.execute_model = "models/relu.walle";
  m.postprocess = "after";
  m.imports = {"walle"};
  m.tables = {{.name = "rows", .columns = {{"item", ColumnType::integer}}}};
  return m;
}

TEST_F(DeviceTest, ExecuteMayBeAModel) {
  open();
  listen();
  install(model_task(),
          "import walle\n"
          "def before(event):\n"
          "    return {'x': walle.Tensor([-3.0, float(event['fields']['item'])], 'float32')}\n"
          "def after(outputs):\n    return {'item': int(outputs['y'][1]) - int(outputs['y'][0])}\n",
          {{"models/relu.walle", relu_model()}});
  for (int i = 1; i <= 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_EQ(results_.size(), 3u);
  for (const TaskResult& result : results_) EXPECT_FALSE(result.error) << result.error->text();
  EXPECT_EQ(items("model"), first(3));
}

TEST_F(DeviceTest, AModelsInputsAreChecked) {
  open();
  listen();
  install(model_task(),
          "import walle\n"
          "def before(event):\n"
          "    return [None, 1, {'x': 2}, {'z': walle.Tensor([1.0, 2.0], 'float32')}, {},\n"
          "            {'x': walle.Tensor([1], 'int64')}][event['fields']['item']]\n"
          "def after(outputs):\n    return None\n",
          {{"models/relu.walle", relu_model()}});
  for (int i = 0; i < 4; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_EQ(results_.size(), 4u);
  for (const TaskResult& result : results_) {
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->phase, Phase::execute);
    EXPECT_NE(result.error->text().find("task 'model' 1.0.0, execute of firing"), std::string::npos);
  }
}

TEST_F(DeviceTest, AppendedRowsAndTheReturnedOneAreOneCommit) {
  Manifest m = with_table(manifest("both"));
  m.host_calls = {"walle.results"};
  open();
  listen();
  install(m,
          "import walle\n"
          "def main(event):\n"
          "    n = event['fields']['item']\n"
          "    walle.results.append('rows', {'item': n * 10})\n"
          "    assert walle.results.last('rows', 1)['item'][0] == n * 10\n"
          "    if n == 2:\n        raise ValueError('no')\n"
          "    return {'item': n}\n");
  for (int i = 1; i <= 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_FALSE(results_[0].error) << results_[0].error->text();
  EXPECT_TRUE(results_[1].error);
  EXPECT_EQ(results_[0].rows, 2u);
  EXPECT_EQ(results_[1].rows, 0u);
  EXPECT_EQ(items("both"), (std::vector<int64_t>{10, 1, 30, 3}));
}

TEST_F(DeviceTest, RowsOfPreprocessWaitForTheFacts) {
  Manifest m = with_table(manifest("later"));
  m.host_calls = {"walle.results"};
  m.main_function.clear();
  m.preprocess = "before";
  m.execute_function = "work";
  m.requires_facts = {"charging"};
  open();
  install(m,
          "import walle\n"
          "def before(event):\n"
          "    walle.results.append('rows', {'item': event['fields']['item'] * 10})\n"
          "    return event['fields']['item']\n"
          "def work(item):\n    return {'item': item}\n");
  tap(1);
  tap(2);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_TRUE(items("later").empty());
  ASSERT_TRUE(core_->set_fact("charging", true).ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("later"), (std::vector<int64_t>{10, 1, 20, 2}));
}

TEST_F(DeviceTest, AModelThatIsNotThereIsAnErrorOfTheInstall) {
  open();
  const Result<std::string> installed = core_->install(
      bundle(model_task(), "def before(e): pass\ndef after(o): pass\n", {{"models/rely.walle", "x"}}));
  ASSERT_FALSE(installed.ok());
  EXPECT_NE(installed.error().message().find("models/rely.walle"), std::string::npos);
  EXPECT_TRUE(core_->tasks().empty());
}

TEST_F(DeviceTest, WhatIsInstalledAndDoneSurvivesARestart) {
  open();
  install(with_table(manifest("store")), kRow);
  for (int64_t i = 1; i <= 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  core_.reset();
  open();
  ASSERT_EQ(core_->tasks().size(), 1u);
  EXPECT_EQ(info("store").version, "1.0.0");
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  for (int64_t i = 4; i <= 6; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), first(6));
}

TEST_F(DeviceTest, WhatWaitsAtCloseRunsAfterTheNextOpen) {
  open();
  Manifest m = with_table(manifest("store"));
  m.requires_facts = {"charging"};
  install(m, kRow);
  for (int64_t i = 1; i <= 5; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(info("store").status, TaskStatus::waiting);
  EXPECT_EQ(info("store").missing_facts, std::vector<std::string>{"charging"});
  core_.reset();
  open();
  ASSERT_TRUE(core_->set_fact("charging", true).ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), first(5));
}

TEST_F(DeviceTest, PreprocessRunsAtOnceAndExecuteWhenTheFactsHold) {
  Manifest m = with_table(manifest("later"));
  m.main_function.clear();
  m.preprocess = "before";
  m.execute_function = "work";
  m.requires_facts = {"charging", "idle"};
  open();
  install(m,
          "import walle\n"
          "def before(event):\n    walle.log.info('before')\n    return event['fields']['item']\n"
          "def work(item):\n    return {'item': item}\n");
  for (int64_t i = 1; i <= 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(lines_.size(), 3u);
  EXPECT_EQ(info("later").parked, 3u);
  EXPECT_TRUE(items("later").empty());
  ASSERT_TRUE(core_->set_fact("charging", true).ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_TRUE(items("later").empty());
  ASSERT_TRUE(core_->set_fact("idle", true).ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("later"), first(3));
  EXPECT_EQ(lines_.size(), 3u);
  EXPECT_EQ(core_->facts(), (std::map<std::string, bool>{{"charging", true}, {"idle", true}}));
}

TEST_F(DeviceTest, PhasesOfTwoVersionsNeverMix) {
  Manifest m = with_table(manifest("swap"));
  m.main_function.clear();
  m.preprocess = "before";
  m.execute_function = "work";
  m.requires_facts = {"charging"};
  const auto source = [](const char* version) {
    return std::string("V = '") + version +
           "'\ndef before(event):\n    return [V, event['fields']['item']]\n"
           "def work(inputs):\n    assert inputs[0] == V\n    return {'item': inputs[1], 'text': V}\n";
  };
  open();
  install(m, source("one"));
  for (int64_t i = 1; i <= 3; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(info("swap").parked, 3u);
  m.version = "2.0.0";
  install(m, source("two"));
  ASSERT_TRUE(core_->set_fact("charging", true).ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("swap"), first(3));
  EXPECT_EQ(info("swap").failures, 0u) << info("swap").error;
  const auto rows = core_->commits().tables().read(table_name("swap", "rows"));
  EXPECT_EQ(texts_of(rows->columns[1].cells), std::vector<std::string>(3, "two"));
}

TEST_F(DeviceTest, ReplacingUnderLoadLosesAndDoublesNothing) {
  open();
  Manifest m = with_table(manifest("swap"));
  m.queue = 4096;
  install(m, kRow);
  constexpr int64_t kEvents = 2000;
  std::thread load([&] {
    for (int64_t i = 1; i <= kEvents; ++i) tap(i);
  });
  for (int i = 0; i < 20; ++i) {
    m.version = "1.0." + std::to_string(i + 1);
    install(m, kRow);
  }
  load.join();
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("swap"), first(kEvents));
  EXPECT_EQ(info("swap").replaced, 20u);
  EXPECT_EQ(info("swap").version, "1.0.20");
}

TEST_F(DeviceTest, ARemovedTaskIsGoneAndMayComeBack) {
  open();
  install(with_table(manifest("store")), kRow);
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_TRUE(core_->remove("store").ok());
  EXPECT_TRUE(core_->tasks().empty());
  EXPECT_FALSE(core_->task("store").ok());
  EXPECT_FALSE(core_->remove("store").ok());
  tap(2);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  install(with_table(manifest("store")), kRow);
  tap(3);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_ + "/tasks"), {}), 1);
}

TEST_F(DeviceTest, ATaskMayBeRemovedWhileItRuns) {
  open();
  install(with_table(manifest("slow")),
          "import walle\ndef main(event):\n    walle.log.info('in')\n    end = walle.time.monotonic() + 0.2\n"
          "    while walle.time.monotonic() < end: pass\n    return {'item': 1}\n");
  tap(1);
  tap(2);
  for (;;) {
    const std::lock_guard lock(lines_lock_);
    if (!lines_.empty()) break;
  }
  ASSERT_TRUE(core_->remove("slow").ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("slow"), std::vector<int64_t>{1});  // the one that ran; what waited is dropped
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(DeviceTest, DamagedBundlesChangeNothing) {
  open();
  install(with_table(manifest("store")), kRow);
  std::string bytes = bundle(with_table(manifest("store", "2.0.0")), kRow);
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    if (damaged == bytes) continue;
    const Result<std::string> installed = core_->install(damaged);
    // What is no part of any checksum is no part of the task.
    if (installed.ok()) continue;
    EXPECT_FALSE(installed.error().message().empty());
  }
  for (const std::string& wrong : {std::string(), std::string("WTASK001"), bytes.substr(0, bytes.size() / 2)})
    EXPECT_FALSE(core_->install(wrong).ok());
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), std::vector<int64_t>{1});
}

TEST_F(DeviceTest, ATriggerOverUndeclaredEventsIsAnErrorAndChangesNothing) {
  open();
  Manifest m = with_table(manifest("store"));
  install(m, kRow);
  m.version = "2.0.0";
  m.triggers = {{"tapped", "tip"}};
  const Result<std::string> installed = core_->install(bundle(m, kRow));
  ASSERT_FALSE(installed.ok());
  EXPECT_NE(installed.error().message().find("tip"), std::string::npos);
  EXPECT_EQ(info("store").version, "1.0.0");
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("store"), std::vector<int64_t>{1});
  core_.reset();
  open();
  EXPECT_EQ(info("store").version, "1.0.0");
}

TEST_F(DeviceTest, ADamagedFileBreaksOneTaskAlone) {
  open();
  install(with_table(manifest("bad")), kRow);
  install(with_table(manifest("good")), kRow);
  core_.reset();
  for (const auto& file : std::filesystem::directory_iterator(dir_ + "/tasks")) {
    if (file.path().filename().string().starts_with("bad")) std::filesystem::resize_file(file.path(), 20);
  }
  open();
  EXPECT_EQ(info("bad").status, TaskStatus::broken);
  EXPECT_FALSE(info("bad").error.empty());
  tap(5);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("good"), std::vector<int64_t>{5});
  install(with_table(manifest("bad", "1.0.1")), kRow);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("bad"), std::vector<int64_t>{5});  // the event was kept
}

TEST_F(DeviceTest, CallsAfterCloseAreErrors) {
  open();
  install(with_table(manifest("store")), kRow);
  ASSERT_TRUE(core_->close().ok());
  EXPECT_FALSE(try_tap(1).ok());
  EXPECT_FALSE(core_->install(bundle(manifest("x"), kRow)).ok());
  EXPECT_FALSE(core_->remove("store").ok());
  EXPECT_TRUE(core_->close().ok());
}

TEST_F(DeviceTest, AFolderHasOneDevice) {
  open();
  EXPECT_FALSE(DeviceCore::open(Env::system(), dir_, options_).ok());
}

}  // namespace
}  // namespace walle::container
