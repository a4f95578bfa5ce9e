// Tasks that raise, hang, leak, recurse and return what nobody asked for: the error says where, other tasks
// run on, and no event is lost.
#include <atomic>
#include <memory>

#include "container/device_case.h"
#include "container/host/value_codec.h"

namespace walle::container {
namespace {

class MisbehavingTest : public DeviceTest {
 protected:
  // What one tap makes of a task with this source, beside a good one.
  TaskResult result_of(const Manifest& m, const std::string& source) {
    results_.clear();
    install(m, source);
    tap(1);
    EXPECT_TRUE(core_->wait_idle(kPatienceUs));
    for (const TaskResult& result : results_) {
      if (result.task == m.name) return result;
    }
    ADD_FAILURE() << "no result of " << m.name;
    return {};
  }
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    open();
    listen();
    install(with_table(manifest("good")), "def main(event):\n    return {'item': event['fields']['item']}\n");
  }
  void TearDown() override {
    if (core_ != nullptr) {
      // Whatever the other did.
      const TaskInfo good = info("good");
      EXPECT_EQ(good.failures, 0u) << good.error;
      EXPECT_EQ(items("good").size(), good.queue.newest);
    }
    DeviceTest::TearDown();
  }
};

TEST_F(MisbehavingTest, AnErrorNamesTaskVersionPhaseAndLine) {
  const TaskResult result =
      result_of(manifest("bad", "3.1.4"), "def main(event):\n    x = 1\n    return x / 0\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->text(),
            "task 'bad' 3.1.4, main of firing 1: ZeroDivisionError: division by zero, at main.py:3 in main: "
            "return x / 0");
  EXPECT_NE(result.error->traceback.find("File \"main.py\", line 3, in main"), std::string::npos);
  EXPECT_EQ(result.rows, 0u);
  EXPECT_NE(result.commit, 0u);
  EXPECT_EQ(info("bad").error, result.error->text());
}

TEST_F(MisbehavingTest, EachPhaseHasItsOwnErrors) {
  Manifest m = manifest("bad");
  m.main_function.clear();
  m.preprocess = "a";
  m.execute_function = "b";
  m.postprocess = "c";
  const char* const kPhases[] = {"a", "b", "c"};
  const Phase kWhere[] = {Phase::preprocess, Phase::execute, Phase::postprocess};
  for (int i = 0; i < 3; ++i) {
    std::string source;
    for (int j = 0; j < 3; ++j)
      source += std::string("def ") + kPhases[j] + "(x):\n    " +
                (i == j ? "raise KeyError(1)" : "return x") + "\n";
    m.version = "1.0." + std::to_string(i);
    const TaskResult result = result_of(m, source);
    ASSERT_TRUE(result.error) << i;
    EXPECT_EQ(result.error->phase, kWhere[i]);
    EXPECT_EQ(result.error->line, 2 * i + 2);
    EXPECT_EQ(result.error->type, "KeyError");
  }
}

TEST_F(MisbehavingTest, EachPhaseHasItsOwnLimit) {
  Manifest m = manifest("bad");
  m.main_function.clear();
  m.preprocess = "a";
  m.execute_function = "b";
  m.preprocess_limits.wall_ms = 10'000;
  m.execute_limits.wall_ms = 50;
  const TaskResult result = result_of(m,
                                      "import walle\n"
                                      "def a(event):\n    end = walle.time.monotonic() + 0.2\n"
                                      "    while walle.time.monotonic() < end: pass\n"
                                      "def b(inputs):\n    while True: pass\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->phase, Phase::execute);
  EXPECT_EQ(result.error->limit, vm::Reason::wall);
  EXPECT_EQ(result.error->allowed, "50 ms");
  EXPECT_NE(result.error->text().find("(limit: wall, 50 ms), at main.py:6 in b"), std::string::npos)
      << result.error->text();
  EXPECT_GE(result.times.preprocess, 200'000);
}

TEST_F(MisbehavingTest, MemoryRecursionAndProcessorTimeAreLimited) {
  Manifest m = manifest("bad");
  m.heap_bytes = 8 << 20;
  TaskResult result = result_of(m, "def main(event):\n    x = []\n    while True: x.append(bytes(100000))\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->limit, vm::Reason::heap) << result.error->text();
  EXPECT_EQ(result.error->allowed, "8388608 bytes");
  m.version = "1.0.1";
  result = result_of(m, "def main(event):\n    return main(event)\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "RecursionError");
  m.version = "1.0.2";
  m.execute_limits = {.wall_ms = 0, .cpu_ms = 50};
  m.execute_limits.wall_ms = 30'000;
  result = result_of(m, "def main(event):\n    while True: pass\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->limit, vm::Reason::cpu) << result.error->text();
}

TEST_F(MisbehavingTest, WhatWasNotDeclaredIsRefused) {
  Manifest m = manifest("bad");
  m.host_calls = {"walle.log"};
  TaskResult result = result_of(m, "import walle\ndef main(event):\n    walle.kv.put('a', 1)\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->limit, vm::Reason::host_call) << result.error->text();
  m.version = "1.0.1";
  result = result_of(m, "def main(event):\n    import json\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->limit, vm::Reason::imports) << result.error->text();
}

TEST_F(MisbehavingTest, ResultsOfAnotherSchemaAreErrorsOfTheResults) {
  const char* const kReturned[] = {"1",
                                   "{'itme': 1}",
                                   "{'item': 'x'}",
                                   "[{'item': 1}, 2]",
                                   "{'item': [1]}",
                                   "{'item': 1 << 62, 'text': 'x' * 1_000_000}"};
  Manifest m = with_table(manifest("bad"));
  m.breaker = 100;
  for (size_t i = 0; i < std::size(kReturned); ++i) {
    m.version = "1.0." + std::to_string(i);
    const TaskResult result =
        result_of(m, std::string("def main(event):\n    return ") + kReturned[i] + "\n");
    ASSERT_TRUE(result.error) << kReturned[i];
    EXPECT_EQ(result.error->phase, Phase::results) << result.error->text();
    EXPECT_NE(result.error->text().find("bad.rows"), std::string::npos) << result.error->text();
    EXPECT_EQ(result.rows, 0u);
  }
  EXPECT_NE(info("bad").error.find("bad.rows"), std::string::npos);
  EXPECT_TRUE(items("bad").empty());
  const std::string wrong = "def main(event):\n    return {'itme': 1}\n";
  m.version = "2.0.0";
  EXPECT_NE(result_of(m, wrong).error->message.find("did you mean 'item'?"), std::string::npos);
}

TEST_F(MisbehavingTest, ALargeResultIsTheTasksOwnMemory) {
  Manifest m = manifest("bad");
  m.heap_bytes = 32 << 20;
  const TaskResult result = result_of(m, "def main(event):\n    return [b'x' * 1000] * 1_000_000\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->limit, vm::Reason::heap) << result.error->text();
}

TEST_F(MisbehavingTest, AFunctionThatIsNotThereIsAnErrorOfItsPhase) {
  const TaskResult result = result_of(manifest("bad"), "def mian(event): pass\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->phase, Phase::main);
  EXPECT_NE(result.error->text().find("main"), std::string::npos);
}

TEST_F(MisbehavingTest, ATaskThatFailsInARowIsSetAsideUntilItIsReplaced) {
  Manifest m = with_table(manifest("bad"));
  m.breaker = 3;
  install(m, "def main(event):\n    raise ValueError('no')\n");
  for (int i = 1; i <= 6; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  TaskInfo task = info("bad");
  EXPECT_EQ(task.status, TaskStatus::set_aside);
  EXPECT_EQ(task.failures, 3u);
  EXPECT_NE(task.error.find("set aside after 3 failures in a row"), std::string::npos);
  EXPECT_NE(task.error.find("ValueError: no, at main.py:2"), std::string::npos);
  EXPECT_FALSE(task.hot);
  EXPECT_EQ(task.queue.waiting + task.queue.in_flight, 3u);
  core_.reset();
  open();
  listen();
  task = info("bad");
  EXPECT_EQ(task.status, TaskStatus::set_aside);
  EXPECT_NE(task.error.find("set aside after 3 failures in a row"), std::string::npos);
  m.version = "1.0.1";
  install(m, "def main(event):\n    return {'item': event['fields']['item']}\n");
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("bad"), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(info("bad").status, TaskStatus::idle);
}

TEST_F(MisbehavingTest, ASuccessBetweenFailuresBeginsTheCountAnew) {
  Manifest m = manifest("bad");
  m.breaker = 2;
  install(m, "def main(event):\n    assert event['fields']['item'] % 2\n");
  for (int i = 1; i <= 10; ++i) tap(i);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(info("bad").failures, 5u);
  EXPECT_EQ(info("bad").status, TaskStatus::idle);
}

// A call of the host that comes back when it is told to: nothing of the VM runs meanwhile that could look at
// an interrupt, and no watchdog of a loaded machine is too late for it, as one was for 0.5 s of C.
TEST_F(MisbehavingTest, ACallThatCannotBeStoppedCostsItsWorkerWhichIsReplaced) {
  core_.reset();
  options_.workers = 1;
  options_.grace_ms = 50;
  const auto over = std::make_shared<std::atomic<bool>>(false);  // the lost thread may outlive the test
  options_.log = [over](std::string_view, base::LogLevel, std::string_view) { over->wait(false); };
  open();
  listen();
  Manifest m = with_table(manifest("stuck"));
  m.execute_limits.wall_ms = 50;
  install(m,
          "import walle\n"
          "def main(event):\n"
          "    if event['fields']['item'] == 1:\n"
          "        walle.log.info('in')\n"
          "    return {'item': event['fields']['item']}\n");
  tap(1);
  tap(2);
  EXPECT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("stuck"), std::vector<int64_t>{2});
  const TaskInfo task = info("stuck");
  EXPECT_EQ(task.lost_workers, 1u);
  EXPECT_EQ(core_->stats().lost_workers, 1u);
  EXPECT_EQ(core_->stats().workers, 1u);
  EXPECT_EQ(task.failures, 1u);
  EXPECT_EQ(task.isolates, 2u);
  bool told = false;
  for (const TaskResult& result : results_) {
    if (result.error) told = result.error->limit == vm::Reason::abandoned && result.error->allowed == "50 ms";
  }
  EXPECT_TRUE(told);
  EXPECT_EQ(items("good").size(), 2u);
  const std::weak_ptr<DeviceCore> held = core_->weak_from_this();
  core_.reset();
  EXPECT_FALSE(held.expired()) << "the lost thread may still use it all";
  over->store(true);
  over->notify_all();
  EXPECT_TRUE(until([&held] { return held.expired(); }));
}

TEST_F(MisbehavingTest, AnEndlessTaskKeepsNoOtherFromRunning) {
  Manifest m = manifest("endless");
  m.execute_limits.wall_ms = 1000;
  m.priority = kHighestPriority;
  install(m, "def main(event):\n    while True: pass\n");
  for (int i = 1; i <= 20; ++i) tap(i);
  EXPECT_TRUE(until([this] { return items("good").size() == 20; }));
  EXPECT_LT(info("endless").firings, 20u);
  ASSERT_TRUE(core_->remove("endless").ok());
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
}

TEST_F(MisbehavingTest, CloseStopsWhatDoesNotEndAndItRunsAgain) {
  core_.reset();
  options_.grace_ms = 50;
  open();
  Manifest m = with_table(manifest("long"));
  install(m,
          "import walle\ndef main(event):\n    walle.log.info('in')\n"
          "    walle.kv.put('begun', True)\n"
          "    while not walle.kv.get('stopped'): pass\n"
          "    return {'item': event['fields']['item']}\n");
  tap(1);
  for (;;) {
    const std::lock_guard lock(lines_lock_);
    if (!lines_.empty()) break;
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(core_->close().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));  // it has 60
  core_.reset();
  {
    auto commits = Commits::open(*env_, dir_, options_.commits);
    ASSERT_TRUE(commits.ok()) << commits.error().message();
    auto map = (*commits)->maps().open("long");
    ASSERT_TRUE(map.ok());
    EXPECT_EQ((*map)->size(), 0u);  // it was stopped before it was done
    Commit flag{.task = "", .number = 0, .rows = {}, .sends = {}, .state = {}};
    flag.state.push_back({"long", "stopped", std::string(8, '\0') + *encode_value(vm::Value(true))});
    ASSERT_TRUE((*commits)->commit(flag).ok());
  }
  open();
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("long"), std::vector<int64_t>{1});
  EXPECT_EQ(info("long").failures, 0u);
  EXPECT_EQ(lines_.size(), 2u);
}

}  // namespace
}  // namespace walle::container
