// One warm pool for all tasks: limits and context come when an isolate is taken.
#include "container/host/slots.h"
#include "container/host/task_state.h"
#include "vm/fixture.h"
#include "vm/pool.h"

namespace walle::vm {
namespace {

class Given : public VmTest {
 protected:
  void SetUp() override {
    VmTest::SetUp();
    if (IsSkipped()) return;
    Result<std::unique_ptr<Pool>> made = Pool::create(vm_, {.size = 2, .imports = {"json"}});
    ASSERT_TRUE(made.ok()) << made.error().message();
    pool_ = std::move(made).value();
    pool_->wait_until_full();
  }

  std::shared_ptr<const Bundle> bundle(const std::string& source) {
    return *Bundle::open(vm_, *vm_->compile({{"main", "main.py", source, false}}));
  }

  std::unique_ptr<Isolate> take(const std::string& source, Limits limits = {}, TaskContext context = {}) {
    Result<std::unique_ptr<Isolate>> taken = pool_->take(std::move(limits), std::move(context));
    EXPECT_TRUE(taken.ok()) << taken.error().message();
    EXPECT_TRUE((*taken)->attach(bundle(source)).ok());
    return std::move(taken).value();
  }

  std::unique_ptr<Pool> pool_;
};

TEST_F(Given, LimitsAreThoseOfTheTaskThatTakes) {
  const std::string grow = "def f():\n    return len([0] * 2_000_000)\n";
  EXPECT_TRUE(take(grow)->call("main", "f", {}).ok());
  const Outcome full = take(grow, {.heap_bytes = 8 << 20})->call("main", "f", {});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.failure->reason, Reason::heap);
  const std::string spin = "def f():\n    while True: pass\n";
  EXPECT_EQ(take(spin, {.wall_ms = 30})->call("main", "f", {}).failure->reason, Reason::wall);
  const std::string deep = "def g(n):\n    return n and g(n - 1)\ndef f():\n    return g(150)\n";
  EXPECT_TRUE(take(deep)->call("main", "f", {}).ok());
  EXPECT_EQ(take(deep, {.python_depth = 100})->call("main", "f", {}).failure->reason, Reason::stack);
}

TEST_F(Given, AListOfImportsHoldsForWhatIsLoadedAlready) {
  const std::string source = "def f():\n    import json\n    return json.dumps(1)\n";
  EXPECT_TRUE(take(source)->call("main", "f", {}).ok());
  const Limits none{.imports = std::vector<std::string>{}};
  const Outcome refused = take(source, none)->call("main", "f", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure->reason, Reason::imports);
  const Limits one{.imports = std::vector<std::string>{"json"}};
  EXPECT_TRUE(take(source, one)->call("main", "f", {}).ok());
}

TEST_F(Given, ContextsDoNotMix) {
  std::vector<std::string> lines[2];
  std::shared_ptr<container::TaskState> states[2];
  std::unique_ptr<Isolate> tasks[2];
  for (size_t i = 0; i < 2; ++i) {
    states[i] = *container::TaskState::open("");
    TaskContext context;
    context.log = [&lines, i](base::LogLevel, std::string_view line) { lines[i].emplace_back(line); };
    context.set(container::kKvSlot, states[i]);
    tasks[i] = take("import walle\ndef f(x):\n    print(x)\n    walle.kv.put(x, 1)\n", {}, context);
  }
  ASSERT_TRUE(tasks[0]->call("main", "f", {Value("a")}).ok());
  ASSERT_TRUE(tasks[1]->call("main", "f", {Value("b")}).ok());
  EXPECT_EQ(lines[0], std::vector<std::string>{"a"});
  EXPECT_EQ(lines[1], std::vector<std::string>{"b"});
  EXPECT_EQ(*states[0]->keys({}), std::vector<std::string>{"a"});
  EXPECT_EQ(*states[1]->keys({}), std::vector<std::string>{"b"});
}

TEST_F(Given, LimitsThatCannotBeAreErrors) {
  for (const Limits& limits : {Limits{.imports = std::vector<std::string>{"a.b"}},
                               Limits{.host_calls = std::vector<std::string>{"walle.nothing"}}}) {
    EXPECT_FALSE(Isolate::check(*vm_, limits).ok());
    const Result<std::unique_ptr<Isolate>> taken = pool_->take(limits);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().group(), base::ErrorGroup::argument);
  }
}

TEST_F(Given, LimitsMayChangeBetweenTwoCalls) {
  auto task = take("def f():\n    return len([0] * 2_000_000)\n", {.heap_bytes = 8 << 20});
  EXPECT_FALSE(task->call("main", "f", {}).ok());
  ASSERT_TRUE(task->give({.heap_bytes = 64 << 20}, {}).ok());
  EXPECT_TRUE(task->call("main", "f", {}).ok());
  ASSERT_TRUE(task->give({.heap_bytes = 8 << 20}, {}).ok());
  EXPECT_FALSE(task->call("main", "f", {}).ok());
  // Refused limits leave those that hold.
  EXPECT_FALSE(task->give({.host_calls = std::vector<std::string>{"x"}}, {}).ok());
  EXPECT_EQ(task->limits().heap_bytes, uint64_t{8} << 20);
}

TEST_F(Given, ABundleOpensFromParts) {
  const std::string source =
      "from walle import engine\ndef f():\n    return [engine.resources(), bytes(engine.read('b/c.txt'))]\n";
  auto code = std::make_shared<std::string>(*vm_->compile({{"main", "main.py", source, false}}));
  const Buffer bytes = Buffer::window(code, code->data(), code->size());
  const auto file = [](const char* text) {
    auto kept = std::make_shared<std::string>(text);
    return Buffer::window(kept, kept->data(), kept->size());
  };
  const Buffer shared = file("text");
  Result<std::shared_ptr<const Bundle>> opened =
      Bundle::open(vm_, bytes, {{"z.txt", file("")}, {"b/c.txt", shared}, {"a.txt", file("1")}});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->find("b/c.txt")->bytes.data(), shared.data());  // used where it lies
  EXPECT_EQ((*opened)->find("b"), nullptr);
  auto task = *pool_->take();
  ASSERT_TRUE(task->attach(*opened).ok());
  const Outcome outcome = task->call("main", "f", {});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
  const List& answer = *outcome.value.get<List>();
  EXPECT_EQ(answer[0].get<List>()->size(), 3u);
  EXPECT_EQ(*(*answer[0].get<List>())[0].get<std::string>(), "a.txt");
  EXPECT_EQ(answer[1].get<Bytes>()->data, "text");
  for (const char* name : {"", "../a", "/a", "a.txt"}) {
    const auto refused = Bundle::open(vm_, bytes, {{"a.txt", file("1")}, {name, file("2")}});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().group(), base::ErrorGroup::argument);
  }
  EXPECT_FALSE(Bundle::open(vm_, file("no code"), {}).ok());
  EXPECT_TRUE(Bundle::open(vm_, bytes, {}).ok());
}

}  // namespace
}  // namespace walle::vm
