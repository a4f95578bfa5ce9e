// walle.results inside an isolate: what a task appends, reads and is told when it is wrong.
#include <fstream>
#include <sstream>

#include "base/fault_env.h"
#include "container/device/commits.h"
#include "container/host/firing_scope.h"
#include "container/host/slots.h"
#include "vm/fixture.h"

namespace walle::vm {
namespace {

using base::FaultEnv;
using container::Commits;
using container::FiringScope;

class Results : public VmTest {
 protected:
  void SetUp() override {
    VmTest::SetUp();
    if (IsSkipped()) return;
    auto opened = Commits::open(env_, "/device", {.journal_bytes = 1 << 20});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    commits_ = *std::move(opened);
    declare("clicks",
            {{"user", ColumnType::text}, {"count", ColumnType::integer}, {"score", ColumnType::real}});
    declare("means", {{"user", ColumnType::text}, {"mean", ColumnType::real}});
    declare("all", {{"i", ColumnType::integer},
                    {"f", ColumnType::real},
                    {"b", ColumnType::boolean},
                    {"t", ColumnType::text},
                    {"y", ColumnType::bytes}});
  }

  void declare(const std::string& name, std::vector<store::ColumnDecl> columns) {
    const store::TableDecl decl{.name = "task." + name, .columns = std::move(columns)};
    ASSERT_TRUE(commits_->declare(decl).ok());
    declared_.push_back({.name = name, .decl = decl});
  }

  // An isolate with a firing under way.
  std::unique_ptr<Isolate> task(const std::string& source) {
    scope_ = std::make_shared<FiringScope>(commits_->tables(), declared_, env_);
    TaskContext context;
    context.set(container::kResultsSlot, scope_);
    return isolate(source, {}, std::move(context));
  }

  Value run(const std::string& body) {
    const Outcome out = task("import walle\ndef f():\n" + body)->call("main", "f", {});
    EXPECT_TRUE(out.ok()) << out.failure->text();
    return out.value;
  }

  void commit() {
    auto number =
        commits_->commit({.task = "task", .number = ++firing_, .rows = scope_->take(), .sends = {}});
    EXPECT_TRUE(number.ok()) << number.error().message();
  }

  std::string fails(const std::string& line) {
    const Outcome out = task("import walle\ndef f():\n    " + line + "\n")->call("main", "f", {});
    EXPECT_FALSE(out.ok()) << line;
    EXPECT_TRUE(scope_->take().empty()) << line;
    return out.ok() ? "" : out.failure->type + ": " + out.failure->message;
  }

  FaultEnv env_;
  std::unique_ptr<Commits> commits_;
  std::vector<container::ScopeTable> declared_;
  std::shared_ptr<FiringScope> scope_;
  uint64_t firing_ = 0;
};

TEST_F(Results, ATaskReadsItsOwnRowsBeforeAndBehindTheCommit) {
  run("    walle.results.append('clicks', {'user': 'a', 'count': 1})\n");
  commit();
  const Value out =
      run("    walle.results.append('clicks', {'user': 'b', 'score': 2})\n"
          "    walle.results.append(table='clicks', row={'user': 'c', 'score': 0.5})\n"
          "    return [walle.results.read('clicks'), walle.results.last('clicks', 2),\n"
          "            walle.results.read('clicks', start=2, limit=1), walle.results.last('clicks')]\n");
  const List& reads = *out.get<List>();
  const auto column = [&](size_t i, const char* name) { return *reads[i].find(name)->get<List>(); };
  ASSERT_EQ(column(0, "_number").size(), 3u);
  EXPECT_EQ(*column(0, "_number")[2].get<int64_t>(), 3);
  EXPECT_EQ(*column(0, "user")[0].get<std::string>(), "a");
  EXPECT_EQ(*column(0, "count")[0].get<int64_t>(), 1);
  EXPECT_TRUE(column(0, "count")[1].is_none());
  EXPECT_EQ(*column(0, "score")[1].get<double>(), 2.0);
  EXPECT_EQ(*column(1, "user")[0].get<std::string>(), "b");
  EXPECT_EQ(column(1, "user").size(), 2u);
  EXPECT_EQ(*column(2, "user")[0].get<std::string>(), "b");
  EXPECT_EQ(*column(3, "user")[0].get<std::string>(), "c");
  EXPECT_EQ(*column(3, "_ts")[0].get<int64_t>(), env_.wall_us());
  // A firing that failed leaves nothing; the numbers are those that the rows got.
  scope_->forget();
  EXPECT_EQ(commits_->tables().read("task.clicks")->rows(), 1u);
  run("    walle.results.append('clicks', {})\n");
  commit();
  EXPECT_EQ(commits_->tables().read("task.clicks")->numbers.back(), 2u);
}

TEST_F(Results, EveryTypeComesBackAsItWas) {
  const char* body =
      "    walle.results.append('all', {'i': -2**63, 'f': 1e300, 'b': True, 't': 'h\\u00e9', 'y': "
      "b'\\x00\\xff'})\n"
      "    r = walle.results.last('all')\n"
      "    return [r['i'], r['f'], r['b'], r['t'], r['y']] == "
      "[[-2**63], [1e300], [True], ['h\\u00e9'], [b'\\x00\\xff']] and type(r['b'][0]) is bool\n";
  EXPECT_TRUE(*run(body).get<bool>());
}

TEST_F(Results, MistakesAreTypedAndLeaveNothing) {
  const auto expect = [&](const std::string& line, const std::string& type, const std::string& part) {
    const std::string told = fails(line);
    EXPECT_EQ(told.substr(0, type.size()), type) << told;
    EXPECT_NE(told.find(part), std::string::npos) << told;
  };
  expect("walle.results.append('clikcs', {})", "KeyError", "did you mean 'clicks'?");
  expect("walle.results.append('clicks', {'usr': 'a'})", "KeyError", "did you mean 'user'?");
  expect("walle.results.append('clicks', {'count': 'a'})", "TypeError", "column 'count'");
  expect("walle.results.append('clicks', {'count': 1.5})", "TypeError", "int, or nothing");
  expect("walle.results.append('clicks', {'user': ['a']})", "TypeError", "column 'user'");
  expect("walle.results.append('clicks', ['a'])", "TypeError", "a row that is no dict");
  expect("walle.results.append('clicks', {'user': 'x' * 100_000_000})", "ValueError", "at most 262144");
  expect("walle.results.read('clicks', limit=10**6)", "ValueError", "at most 65536");
  expect("walle.results.read('clicks', start=-1)", "ValueError", "0 or more");
  // A megabyte of rows in one firing, in rows of 200 KB.
  const std::string many =
      "    for i in range(10):\n"
      "        walle.results.append('clicks', {'user': 'x' * 200_000})\n";
  const Outcome out = task("import walle\ndef f():\n" + many)->call("main", "f", {});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.failure->message.find("at most 1048576"), std::string::npos) << out.failure->message;
  EXPECT_LE(scope_->bytes(), FiringScope::kMostBytes);
}

TEST_F(Results, WithoutADeviceACallSaysWhatIsMissing) {
  const Outcome out =
      isolate("import walle\ndef f():\n    walle.results.append('t', {})\n")->call("main", "f", {});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.failure->type, "OSError");
  EXPECT_NE(out.failure->message.find("a task without result tables"), std::string::npos);
}

// The task of docs/reference/walle-results.md does what the page says.
TEST_F(Results, TheExampleOfThePageRuns) {
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto page =
      program.parent_path().parent_path().parent_path() / "docs" / "reference" / "walle-results.md";
  std::ifstream file(page);
  if (!file) GTEST_SKIP() << "no page at " << page;
  std::stringstream text;
  text << file.rdbuf();
  const std::string whole = text.str();
  const size_t begin = whole.find("# clicks/main.py");
  ASSERT_NE(begin, std::string::npos);
  const std::string source = whole.substr(begin, whole.find("```", begin) - begin);
  const auto fire = [&](Value score) {
    const Value event = Map{{"fields", Map{{"user", "ann"}, {"score", std::move(score)}}}};
    const Outcome out = task(source)->call("main", "main", {event});
    ASSERT_TRUE(out.ok()) << out.failure->text();
    commit();
  };
  fire(0.5);
  fire(Value());
  fire(1.0);
  EXPECT_EQ(commits_->tables().read("task.clicks")->rows(), 3u);
  const auto means = commits_->tables().read("task.means");
  EXPECT_EQ(means->columns[1].cells.reals(), (std::vector<double>{0.5, 0.5, 0.75}));
}

}  // namespace
}  // namespace walle::vm
