// Host calls of a host of its own: a copy of the library is another VM, with another table.
#include "vm/host_call.h"

#include <numeric>

#include "vm/fixture.h"
#include "vm/pool.h"

namespace walle::vm {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

struct Counter {
  int64_t calls = 0;
};
constexpr Slot<Counter> kCounter{5};

Result<Value> add(TaskContext& /*context*/, HostArgs args) {
  int64_t sum = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    WALLE_ASSIGN(const int64_t each, int_arg(args, i));
    sum += each << i;
  }
  return Value(sum);
}

// What stands where: -1 for an argument that is None or was left out.
Result<Value> places(TaskContext& /*context*/, HostArgs args) {
  List out;
  for (size_t i = 0; i < args.size(); ++i) out.emplace_back(has_arg(args, i) ? args[i].as.integer : -1);
  return Value(std::move(out));
}

Result<Value> fail(TaskContext& /*context*/, HostArgs args) {
  WALLE_ASSIGN(const int64_t kind, int_arg(args, 0));
  WALLE_ASSIGN(const int64_t size, int_arg(args, 1));
  return argument_error(std::string(static_cast<size_t>(size), 'x'), "", "", "")
      .of_kind(static_cast<ErrorKind>(kind));
}

Result<Value> fail_by_group(TaskContext& /*context*/, HostArgs args) {
  WALLE_ASSIGN(const int64_t group, int_arg(args, 0));
  return Error(static_cast<base::ErrorGroup>(group), {"given", "expected", "where", "next"});
}

double count(TaskContext& context, HostArgs /*args*/) {
  return static_cast<double>(++context.room(kCounter)->calls);
}

constexpr const char* kLetters[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                    "i", "j", "k", "l", "m", "n", "o", "p"};
constexpr HostCall kTable[] = {
    host_call<add>("walle.test", "add", {0, 16, kLetters}, false, "add(...)"),
    host_call<places>("walle.test", "places", {1, 4, kLetters}, true, "places(a, b, c, d)"),
    host_call<fail>("walle.test", "fail", {2, 2, nullptr}, false, "fail(kind, size)"),
    host_call<fail_by_group>("walle.test", "fail_by_group", {1, 1, kLetters}, false, "fail_by_group(a)"),
    host_call<count>("walle.test", "count", {0, 0, nullptr}, false, "count()"),
};
constexpr HostCalls kCalls{.functions = kTable, .arrays = nullptr};

class HostCallTest : public VmTest {
 protected:
  void SetUp() override {
    VmTest::SetUp();
    if (IsSkipped()) return;
    // One copy for all tests of the process: each would be a VM that never ends.
    static const fs::path copy = [] {
      const fs::path to = fs::temp_directory_path() / ("libwalle_vm_host_calls." + std::to_string(getpid()));
      fs::copy_file(library_path("full"), to, fs::copy_options::overwrite_existing);
      return to;
    }();
    path_ = copy;
    Result<std::shared_ptr<const Vm>> opened = Vm::open(path_, kCalls);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    own_ = *opened;
    fs::remove(path_);  // what is mapped stays
  }

  Outcome run(const std::string& body, TaskContext context = {}, Limits limits = {}) {
    auto task = isolate_on(own_, "import walle\nfrom walle import test\ndef f():\n    " + body + "\n",
                           std::move(limits), std::move(context));
    return task->call("main", "f", {});
  }

  std::string path_;
  std::shared_ptr<const Vm> own_;
};

TEST_F(HostCallTest, TakesSixteenArguments) {
  const Outcome all = run("return test.add(*range(16))");
  ASSERT_TRUE(all.ok()) << all.failure->text();
  int64_t expected = 0;
  for (int64_t i = 0; i < 16; ++i) expected += i << i;
  EXPECT_EQ(*all.value.get<int64_t>(), expected);
  EXPECT_EQ(*run("return test.add()").value.get<int64_t>(), 0);
  const Outcome more = run("return test.add(*range(17))");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.failure->type, "TypeError");
  EXPECT_EQ(more.failure->message, "walle.test.add takes 0 to 16 arguments, got 17");
}

TEST_F(HostCallTest, KeywordsFindTheirPlaces) {
  const auto numbers = [&](const std::string& call) {
    const Outcome outcome = run("return test.places(" + call + ")");
    std::vector<int64_t> out;
    EXPECT_TRUE(outcome.ok()) << outcome.failure->text();
    for (const Value& item : *outcome.value.get<List>()) out.push_back(*item.get<int64_t>());
    return out;
  };
  EXPECT_EQ(numbers("1"), (std::vector<int64_t>{1}));
  EXPECT_EQ(numbers("a=1"), (std::vector<int64_t>{1}));
  EXPECT_EQ(numbers("1, d=4"), (std::vector<int64_t>{1, -1, -1, 4}));
  EXPECT_EQ(numbers("c=3, a=1"), (std::vector<int64_t>{1, -1, 3}));
  EXPECT_EQ(numbers("1, 2, **{'c': None, 'd': 4}"), (std::vector<int64_t>{1, 2, -1, 4}));
  EXPECT_EQ(numbers("1, **{}"), (std::vector<int64_t>{1}));
}

TEST_F(HostCallTest, KeywordsThatDoNotFitAreTypeErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"test.places(1, z=2)", "walle.test.places has no parameter 'z'"},
      {"test.places(1, a=2)", "walle.test.places got 'a' twice"},
      {"test.places(b=2)", "walle.test.places needs 'a'"},
      {"test.places(1, e=2)", "walle.test.places has no parameter 'e'"},  // the fifth of four
      {"test.places()", "walle.test.places takes 1 to 4 arguments, got 0"},
      {"test.fail(kind=1, size=2)", "walle.test.fail has no parameter 'kind'"},
      {"test.count(a=1)", "walle.test.count has no parameter 'a'"},
      {"test.places(1, **{'\\udc80': 1})", "walle.test.places has no parameter '\\udc80'"},
  };
  for (const auto& [call, message] : cases) {
    const Outcome outcome = run(std::string("return ") + call);
    ASSERT_FALSE(outcome.ok()) << call;
    EXPECT_EQ(outcome.failure->type, "TypeError") << call;
    EXPECT_EQ(outcome.failure->message, message) << call;
  }
}

TEST_F(HostCallTest, EveryKindIsItsException) {
  const std::pair<ErrorKind, const char*> kinds[] = {
      {ErrorKind::by_group, "ValueError"},
      {ErrorKind::wrong_type, "TypeError"},
      {ErrorKind::no_such_key, "KeyError"},
      {ErrorKind::no_such_index, "IndexError"},
      {ErrorKind::overflow, "OverflowError"},
      {ErrorKind::no_memory, "MemoryError"},
      {ErrorKind::not_found, "LookupError"},
      {ErrorKind::no_such_file, "FileNotFoundError"},
      {ErrorKind::file_exists, "FileExistsError"},
      {ErrorKind::not_permitted, "PermissionError"},
      {ErrorKind::timed_out, "TimeoutError"},
      {ErrorKind::not_connected, "ConnectionError"},
      {ErrorKind::not_supported, "NotImplementedError"},
  };
  for (const auto& [kind, type] : kinds) {
    const Outcome outcome = run("test.fail(" + std::to_string(static_cast<int>(kind)) + ", 3)");
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->type, type);
    EXPECT_NE(outcome.failure->message.find("xxx [at walle.test.fail]"), std::string::npos)
        << outcome.failure->message;
    EXPECT_EQ(outcome.failure->reason, Reason::none) << type;  // a refusal of the host's, not a limit's
  }
  using base::ErrorGroup;
  const std::pair<ErrorGroup, const char*> groups[] = {
      {ErrorGroup::argument, "ValueError"},   {ErrorGroup::model, "ValueError"},
      {ErrorGroup::resource, "OSError"},      {ErrorGroup::network, "ConnectionError"},
      {ErrorGroup::timeout, "TimeoutError"},  {ErrorGroup::backend, "RuntimeError"},
      {ErrorGroup::internal, "RuntimeError"}, {ErrorGroup::cancelled, "RuntimeError"},
  };
  for (const auto& [group, type] : groups) {
    const Outcome outcome = run("test.fail_by_group(" + std::to_string(static_cast<int>(group)) + ")");
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->type, type);
  }
}

TEST_F(HostCallTest, ErrorsAreOfAnyLength) {
  for (const int size : {0, 511, 512, 100'000}) {
    const Outcome outcome =
        run("try: test.fail(1, " + std::to_string(size) + ")\n    except TypeError as e: return len(str(e))");
    ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
    EXPECT_EQ(*outcome.value.get<int64_t>(),
              size + static_cast<int64_t>(std::string_view(" [at walle.test.fail]").size()));
  }
  // One that does not fit into the task's heap is a MemoryError there, and the task goes on.
  const Outcome large = run("try: test.fail(1, 50_000_000)\n    except MemoryError: return 'full'", {},
                            {.heap_bytes = 8 << 20});
  ASSERT_TRUE(large.ok()) << large.failure->text();
  EXPECT_EQ(*large.value.get<std::string>(), "full");
}

TEST_F(HostCallTest, ASlotIsSharedByWhoeverIsGivenIt) {
  const auto counter = std::make_shared<Counter>();
  TaskContext context;
  context.set(kCounter, counter);
  for (int i = 1; i <= 3; ++i) {
    const Outcome outcome = run("return test.count()", context);
    ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
    EXPECT_EQ(*outcome.value.get<double>(), i);
  }
  EXPECT_EQ(counter->calls, 3);
  EXPECT_EQ(TaskContext().room(kCounter), nullptr);
}

TEST_F(HostCallTest, AResetGoesBackToWhatWasGiven) {
  TaskContext context;
  context.set(kCounter, std::make_shared<Counter>());
  auto task = isolate_on(own_, "from walle import test\ndef f():\n    return test.count()\n", {}, context);
  EXPECT_EQ(*task->call("main", "f", {}).value.get<double>(), 1);
  ASSERT_TRUE(task->reset().ok());
  EXPECT_EQ(*task->call("main", "f", {}).value.get<double>(), 2);
}

TEST_F(HostCallTest, OneLibraryHasOneTable) {
  const Result<std::shared_ptr<const Vm>> other = Vm::open(library_path("full"), kCalls);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message().find("same table of host calls"), std::string::npos);
  const fs::path name = fs::temp_directory_path() / ("walle_vm_alias." + std::to_string(getpid()));
  fs::create_symlink(library_path("full"), name);
  const Result<std::shared_ptr<const Vm>> same = Vm::open(name, container::host_calls());
  fs::remove(name);
  ASSERT_TRUE(same.ok()) << same.error().message();
  EXPECT_EQ(&(*same)->api(), &vm_->api());
}

TEST_F(HostCallTest, ListsNameThisTable) {
  EXPECT_EQ(own_->allowed({"walle.test.count"})->size(), std::size(kTable));
  EXPECT_FALSE(own_->allowed({"walle.kv"}).ok());
  EXPECT_FALSE(own_->allowed({"walle.test."}).ok());
  EXPECT_FALSE(own_->allowed({"walle.test.cou"}).ok());
  const Outcome refused = run("test.add()", {}, {.host_calls = std::vector<std::string>{"walle.test.count"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure->type, "PermissionError");
  EXPECT_EQ(refused.failure->reason, Reason::host_call);
}

}  // namespace
}  // namespace walle::vm
