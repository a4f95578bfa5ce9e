// Isolates from C++, on the libraries of this build.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "container/host/slots.h"
#include "container/host/task_state.h"
#include "vm/fixture.h"
#include "vm/pool.h"
#include "vm/reaper.h"
#include "waits.h"

namespace walle::vm {
namespace {

TEST_F(VmTest, NamesItself) {
  EXPECT_EQ(vm_->flavour(), "full");
  EXPECT_EQ(vm_->python(), "3.13.5");
  EXPECT_GE(vm_->library().size(), 38u);
}

TEST_F(VmTest, MissingLibraryIsAnErrorWithANextStep) {
  const Result<std::shared_ptr<const Vm>> opened =
      Vm::open("/nowhere/libwalle_vm.so", container::host_calls());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("WALLE_VM"), std::string::npos);
}

TEST_F(VmTest, CallsWithValues) {
  auto task = isolate("def f(a, b):\n    return {'sum': a + b['x'], 'list': [a, None, True, 'ü', b'z']}\n");
  const Outcome outcome = task->call("main", "f", {Value(2), Value(Map{{"x", Value(0.5)}})});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  EXPECT_EQ(*outcome.value.find("sum")->get<double>(), 2.5);
  const List& list = *outcome.value.find("list")->get<List>();
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(*list[0].get<int64_t>(), 2);
  EXPECT_TRUE(list[1].is_none());
  EXPECT_EQ(*list[3].get<std::string>(), "ü");
  EXPECT_EQ(list[4].get<Bytes>()->data, "z");
}

TEST_F(VmTest, TensorsShareMemory) {
  auto task = isolate("def f(t):\n    t[1] = 9\n    return t\n");
  Tensor tensor = *Tensor::vector_i64(std::vector<int64_t>{1, 2, 3});
  const Outcome outcome = task->call("main", "f", {Value(tensor)});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  EXPECT_EQ(outcome.value.get<Tensor>()->data(), tensor.data());
  EXPECT_EQ(tensor.as<int64_t>()[1], 9);
}

TEST_F(VmTest, BuffersCrossAsViewsOfTheSameMemory) {
  auto task =
      isolate("def f(b):\n    assert type(b) is memoryview and not b.readonly\n    b[1] = 7\n    return b\n");
  Buffer buffer = *Buffer::allocate(100);
  const Outcome outcome = task->call("main", "f", {Value(buffer)});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  EXPECT_EQ(outcome.value.get<Buffer>()->data(), buffer.data());
  EXPECT_EQ(buffer.data()[1], std::byte{7});
}

TEST_F(VmTest, AWindowOfATensorIsItsBytes) {
  auto task = isolate("def f(t):\n    return memoryview(t).cast('B')\n");
  Tensor whole = *Tensor::vector_i64(std::vector<int64_t>{1, 2, 3});
  const int64_t one = 1;
  const Tensor middle(DType::int64, Shape(std::span(&one, 1)), whole.buffer(), 8);
  const Outcome outcome = task->call("main", "f", {Value(middle)});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  EXPECT_EQ(outcome.value.get<Buffer>()->data(), whole.buffer().data() + 8);
  EXPECT_EQ(outcome.value.get<Buffer>()->size(), 8u);
}

TEST_F(VmTest, AKeptBufferIsReleasedWithTheIsolate) {
  static char bytes[64];
  bool released = false;
  auto task = isolate("kept = []\ndef f(b):\n    kept.append(b)\n");
  ASSERT_TRUE(task->call("main", "f",
                         {Value(Buffer::wrap(
                             bytes, sizeof bytes, [&] { released = true; }, false))})
                  .ok());
  EXPECT_FALSE(released);
  task.reset();
  Reaper::instance().drain();
  EXPECT_TRUE(released);
}

TEST(Reaper, WaitsNoLongerThanItIsTold) {
  // What ends as slowly as the test wants.
  std::promise<void> go;
  std::shared_ptr<void> slow(nullptr, [wait = go.get_future().share()](void*) { wait.wait(); });
  Reaper::instance().bury(std::move(slow));
  EXPECT_FALSE(
      Reaper::instance().drain_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  go.set_value();
  EXPECT_TRUE(Reaper::instance().drain_until(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
}

TEST_F(VmTest, OwnTensorsCountAgainstTheHeapAndGivenOnesDoNot) {
  Limits limits;
  limits.heap_bytes = 16 << 20;
  auto task = isolate(
      "import walle\ndef make(n):\n    return len([walle.Tensor('uint8', (1 << 20,)) for _ in range(n)])\n"
      "def take(t):\n    return [t] * 5\n",
      limits);
  EXPECT_TRUE(task->call("main", "make", {Value(10)}).ok());
  EXPECT_EQ(task->call("main", "make", {Value(20)}).failure->reason, Reason::heap);
  EXPECT_TRUE(task->call("main", "make", {Value(10)}).ok());
  const int64_t large = 64 << 20;
  EXPECT_TRUE(
      task->call("main", "take", {Value(*Tensor::zeros(DType::uint8, Shape(std::span(&large, 1))))}).ok());
}

TEST_F(VmTest, FailuresAreData) {
  auto task = isolate("def f():\n    raise ValueError('no')\n");
  const Outcome outcome = task->call("main", "f", {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->type, "ValueError");
  EXPECT_EQ(outcome.failure->message, "no");
  ASSERT_EQ(outcome.failure->traceback.size(), 1u);
  EXPECT_EQ(outcome.failure->traceback[0].line, 2);
  EXPECT_NE(outcome.failure->text().find("File \"main.py\", line 2, in f"), std::string::npos);
}

TEST_F(VmTest, LimitsEndTheCallAndNotTheIsolate) {
  Limits limits;
  limits.wall_ms = 50;
  limits.heap_bytes = 16 << 20;
  auto task = isolate(
      "def spin():\n    while True: pass\ndef eat():\n    return bytearray(1 << 30)\ndef ok():\n    return "
      "1\n",
      limits);
  EXPECT_EQ(task->call("main", "spin", {}).failure->reason, Reason::wall);
  EXPECT_EQ(task->call("main", "eat", {}).failure->reason, Reason::heap);
  EXPECT_TRUE(task->call("main", "ok", {}).ok());
}

TEST_F(VmTest, CancelFromAnotherThread) {
  auto task = isolate("def spin():\n    while True: pass\n");
  std::atomic<bool> ended = false;
  std::thread stopper([&] {
    // One before the call is lost.
    until([&] {
      task->cancel();
      return ended.load();
    });
  });
  const Outcome outcome = task->call("main", "spin", {});
  ended = true;
  stopper.join();
  EXPECT_EQ(outcome.failure->reason, Reason::cancelled);
}

TEST_F(VmTest, LogsAndState) {
  std::vector<std::string> lines;
  TaskContext context;
  context.log = [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); };
  const auto state = *container::TaskState::open("");
  context.set(container::kKvSlot, state);
  auto task = isolate(
      "import walle\ndef f():\n    print('a')\n    walle.log.info('b')\n    walle.kv.put('k', [1])\n    "
      "return walle.kv.get('k')\n",
      {}, context);
  const Outcome outcome = task->call("main", "f", {});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*state->keys({}), std::vector<std::string>{"k"});
}

TEST_F(VmTest, PoolHandsOverWarmIsolates) {
  PoolOptions options;
  options.size = 2;
  options.imports = std_imports();
  Result<std::unique_ptr<Pool>> pool = Pool::create(vm_, options);
  ASSERT_TRUE(pool.ok()) << pool.error().message();
  (*pool)->wait_until_full();
  for (int i = 0; i < 4; ++i) {
    Result<std::unique_ptr<Isolate>> taken = (*pool)->take();
    ASSERT_TRUE(taken.ok());
    EXPECT_TRUE((*taken)->call("json", "dumps", {Value(1)}).ok());
  }
  EXPECT_EQ((*pool)->stats().handed_out, 4u);
}

TEST_F(VmTest, HostCallTableIsNamed) {
  const std::vector<std::string> names = container::host_call_names();
  for (const char* name : {"walle.kv.put", "walle.log.info", "walle.time.now", "walle.engine.run"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  const std::span<const HostCall> calls = vm_->host_calls();
  ASSERT_EQ(calls.size(), names.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string name = names[i];  // what may take long lets others of this interpreter's process go on
    const bool slow = name == "walle.engine.run" || name == "walle.engine.load" || name == "walle.kv.put";
    EXPECT_TRUE(calls[i].blocking || !slow) << name;
  }
  const std::vector<uint8_t> flags = *vm_->allowed({"walle.log", "walle.kv.get"});
  EXPECT_FALSE(vm_->allowed({"walle.kv.got"}).ok());
  EXPECT_FALSE(vm_->allowed({"kv"}).ok());
  ASSERT_EQ(flags.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(flags[i], names[i].rfind("walle.log.", 0) == 0 || names[i] == "walle.kv.get") << names[i];
}

}  // namespace
}  // namespace walle::vm
