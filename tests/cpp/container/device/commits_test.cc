#include "container/device/commits.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/fault_env.h"
#include "container/device/commit_frame.h"
#include "stream/egress/feature_bytes.h"

namespace walle::container {
namespace {

using base::FaultEnv;

constexpr const char* kDir = "/device";
constexpr int64_t kTs = 1'700'000'000'000'000;
constexpr uint64_t kFirings = 24;

CommitsOptions small() {
  CommitsOptions out;
  out.journal_bytes = 64 << 10;
  out.outbox = {.max_bytes = 1 << 20, .max_records = 1000};
  return out;
}

store::TableDecl table(const char* name) {
  return {.name = name, .columns = {{"firing", ColumnType::integer}, {"text", ColumnType::text}}};
}

stream::TracedBatch made(int64_t value) {
  stream::Batch rows;
  rows.ts = {1};
  rows.columns.push_back({.name = "x", .cells = tensor::Column(std::vector<int64_t>{value})});
  auto op = stream::make_select({"x"});
  auto out = stream::TracedBatch::push(**op, stream::TracedBatch::given(std::move(rows)));
  EXPECT_TRUE(out.ok());
  return *out;
}

void allow(Commits& commits) {
  EXPECT_TRUE(commits.gate()
                  .allow({.task = "t",
                          .feature = "f",
                          .fields = {{.name = "x",
                                      .type = ColumnType::integer,
                                      .highest = stream::Sensitivity::personal}},
                          .bytes_per_day = 1 << 20,
                          .sends_per_day = 1000,
                          .consent = ""})
                  .ok());
}

std::unique_ptr<Commits> opened(Env& env, CommitsOptions options = small()) {
  auto commits = Commits::open(env, kDir, std::move(options));
  EXPECT_TRUE(commits.ok()) << commits.error().message();
  if (!commits.ok()) return nullptr;
  allow(**commits);
  EXPECT_TRUE((*commits)->maps().open("t").ok());
  return *std::move(commits);
}

// Rows of table a: 1 to 3 by firing; of b: one; sends: one of every second firing.
uint64_t rows_of(uint64_t firing) { return firing % 3 + 1; }
uint64_t sends_of(uint64_t firing) { return firing % 2; }
// Of the task's map: one of five keys is set, or removed by every fourth firing.
std::string key_of(uint64_t firing) { return "key" + std::to_string(firing % 5); }
std::optional<std::string> value_of(uint64_t firing) {
  if (firing % 4 == 0) return std::nullopt;
  return store::put_number(int64_t{0}) + std::to_string(firing);
}

Commit what_leaves(Commits& commits, uint64_t firing) {
  Commit c{.task = "t", .number = firing, .rows = {}, .sends = {}, .state = {}};
  c.state.push_back({"t", key_of(firing), value_of(firing)});
  c.rows.resize(2);
  const std::string text(firing * 7 % 50, 'x');
  const Cell cells[] = {Cell::of(static_cast<int64_t>(firing)), Cell::of(std::string_view(text))};
  for (uint64_t i = 0; i < rows_of(firing); ++i)
    EXPECT_TRUE(store::add_row(table("a"), kTs, cells, c.rows[0]).ok());
  EXPECT_TRUE(store::add_row(table("b"), kTs, cells, c.rows[1]).ok());
  for (uint64_t i = 0; i < sends_of(firing); ++i) {
    auto permit = commits.gate().permit("t", "f", made(static_cast<int64_t>(firing)));
    EXPECT_TRUE(permit.ok()) << permit.error().message();
    if (permit.ok()) c.sends.push_back(*std::move(permit));
  }
  return c;
}

int64_t number_sent(const stream::OutboxRecord& record) {
  auto batch = stream::unpack_batch(record.bytes);
  EXPECT_TRUE(batch.ok());
  return batch->columns[0].cells[0].i;
}

// Everything of firings 1 to `settled` and nothing of later ones, each once; records up to `acknowledged` may
// be gone.
void expect_exactly(Commits& commits, uint64_t settled, const std::string& where) {
  SCOPED_TRACE(where);
  auto a = commits.tables().read("a");
  ASSERT_TRUE(a.ok()) << a.error().message();
  std::vector<int64_t> expected;
  for (uint64_t f = 1; f <= settled; ++f)
    expected.insert(expected.end(), rows_of(f), static_cast<int64_t>(f));
  ASSERT_EQ(a->columns[0].cells.integers(), expected);
  for (size_t i = 0; i < a->rows(); ++i) ASSERT_EQ(a->numbers[i], i + 1);
  ASSERT_EQ(commits.tables().read("b")->rows(), settled);
  uint64_t sends = 0;
  for (uint64_t f = 1; f <= settled; ++f) sends += sends_of(f);
  ASSERT_EQ(commits.gate().ledger().size(), sends);
  const auto streams = commits.outbox().streams();
  ASSERT_EQ(streams.empty() ? 0 : streams[0].newest, sends);
  const uint64_t gone = streams.empty() ? 0 : streams[0].acknowledged;
  const auto waiting = commits.outbox().read("f");
  ASSERT_EQ(waiting.size(), sends - gone);
  for (size_t i = 0; i < waiting.size(); ++i) {
    ASSERT_EQ(waiting[i].seq, gone + i + 1);
    ASSERT_EQ(number_sent(waiting[i]), static_cast<int64_t>(2 * (gone + i) + 1));
  }
  std::map<std::string, std::optional<std::string>> kept;
  for (uint64_t f = 1; f <= settled; ++f) kept[key_of(f)] = value_of(f);
  auto map = commits.maps().open("t");
  ASSERT_TRUE(map.ok()) << map.error().message();
  for (const auto& [key, value] : kept) ASSERT_EQ((*map)->get(key), value) << key;
  ASSERT_EQ(commits.settled("t"), settled);
  ASSERT_FALSE(commits.outbox().lost());
  ASSERT_TRUE(commits.tables().losses().empty());
  ASSERT_FALSE(commits.gate().report().lost);
}

// kill -9 before and behind every write: a firing's rows, its sends and that it is settled are all there or
// none of them, and going on from there gives everything once.
TEST(Commits, AKillAtAnyWriteLeavesAllOfAFiringOrNothing) {
  FaultEnv env;
  std::vector<std::pair<std::unique_ptr<FaultEnv>, uint64_t>> kills;
  uint64_t accepted = 0;
  auto commits = opened(env);
  ASSERT_TRUE(commits->declare(table("a")).ok());
  ASSERT_TRUE(commits->declare(table("b")).ok());
  const auto keep = [&] { kills.emplace_back(env.copy(), accepted); };
  env.before_writes(keep);
  for (uint64_t f = 1; f <= kFirings; ++f) {
    ASSERT_TRUE(commits->commit(what_leaves(*commits, f)).ok());
    accepted = f;
    keep();
    if (f % 5 == 0) {
      ASSERT_TRUE(commits->checkpoint().ok());
    }
    if (f % 7 == 0) {
      ASSERT_TRUE(commits->acknowledge("f", f / 4).ok());
    }
    if (f % 11 == 0) {
      ASSERT_TRUE(commits->sync().ok());
    }
  }
  env.before_writes(nullptr);
  EXPECT_GT(kills.size(), 100u);
  for (size_t i = 0; i < kills.size(); ++i) {
    auto& [copy, settled] = kills[i];
    auto again = opened(*copy);
    ASSERT_NE(again, nullptr);
    expect_exactly(*again, settled, "kill " + std::to_string(i));
    if (HasFatalFailure()) return;
    if (i % 10 != 0) continue;
    // What had been handed out comes again, and the whole is as if nothing had happened.
    for (uint64_t f = settled + 1; f <= kFirings; ++f)
      ASSERT_TRUE(again->commit(what_leaves(*again, f)).ok());
    ASSERT_TRUE(again->checkpoint().ok());
    again.reset();
    again = opened(*copy);
    expect_exactly(*again, kFirings, "going on from kill " + std::to_string(i));
    if (HasFatalFailure()) return;
  }
}

// And a kill while a killed one is opened.
TEST(Commits, AKillWhileOpeningChangesNothing) {
  FaultEnv env;
  {
    auto commits = opened(env);
    ASSERT_TRUE(commits->declare(table("a")).ok());
    ASSERT_TRUE(commits->declare(table("b")).ok());
    for (uint64_t f = 1; f <= 9; ++f) {
      ASSERT_TRUE(commits->commit(what_leaves(*commits, f)).ok());
      if (f == 4) {
        ASSERT_TRUE(commits->checkpoint().ok());
      }
    }
  }
  std::vector<std::unique_ptr<FaultEnv>> kills;
  env.before_writes([&] { kills.push_back(env.copy()); });
  opened(env);
  env.before_writes(nullptr);
  EXPECT_GT(kills.size(), 2u);
  for (size_t i = 0; i < kills.size(); ++i) expect_exactly(*opened(*kills[i]), 9, std::to_string(i));
}

TEST(Commits, AKillWhileAFolderIsMadeIsNoLoss) {
  FaultEnv env;
  std::vector<std::unique_ptr<FaultEnv>> kills;
  env.before_writes([&] { kills.push_back(env.copy()); });
  opened(env);
  env.before_writes(nullptr);
  for (size_t i = 0; i < kills.size(); ++i) {
    auto again = opened(*kills[i]);
    ASSERT_NE(again, nullptr) << i;
    EXPECT_FALSE(again->report().state_lost) << i;
    EXPECT_FALSE(again->outbox().lost()) << i;
    EXPECT_FALSE(again->gate().report().lost) << i;
    EXPECT_EQ(again->report().lost, 0u) << i;
  }
}

// Every operation fails once; then the disk is full. What was accepted is there, what was refused is not.
TEST(Commits, AFailureOfAnyOperationKeepsWhatWasAccepted) {
  int64_t operations = 1;
  for (int64_t fail = 0; fail < operations; ++fail) {
    FaultEnv env;
    auto commits = opened(env);
    ASSERT_TRUE(commits->declare(table("a")).ok());
    ASSERT_TRUE(commits->declare(table("b")).ok());
    const int64_t before = env.operations();
    env.fail_at(fail);
    uint64_t accepted = 0;
    for (uint64_t f = 1; f <= 12; ++f) {
      const Commit c = what_leaves(*commits, f);
      if (!commits->commit(c).ok()) {
        ASSERT_TRUE(commits->commit(c).ok());
      }
      accepted = f;
      if (f % 4 == 0) (void)commits->checkpoint().ok();
    }
    if (operations == 1) operations = env.operations() - before;
    env.fail_at(-1);
    const auto killed = env.copy();
    expect_exactly(*opened(*killed), accepted, "killed after operation " + std::to_string(fail));
    ASSERT_TRUE(commits->checkpoint().ok());
    expect_exactly(*commits, accepted, "operation " + std::to_string(fail));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(operations, 20);
}

TEST(Commits, AFullDiskIsAnErrorAndLosesNothing) {
  FaultEnv env;
  auto commits = opened(env);
  ASSERT_TRUE(commits->declare(table("a")).ok());
  ASSERT_TRUE(commits->declare(table("b")).ok());
  env.limit_disk(0);
  uint64_t accepted = 0;
  // The journal takes them until it is full; then a commit says why not.
  for (uint64_t f = 1; f <= 5000; ++f) {
    const Commit c = what_leaves(*commits, f);
    auto number = commits->commit(c);
    if (!number.ok()) {
      EXPECT_NE(number.error().message().find("No space left"), std::string::npos)
          << number.error().message();
      break;
    }
    accepted = f;
  }
  ASSERT_GT(accepted, 100u);
  ASSERT_LT(accepted, 5000u);
  EXPECT_FALSE(commits->checkpoint().ok());
  const auto killed = env.copy();
  expect_exactly(*opened(*killed), accepted, "killed with a full disk");
  env.limit_disk(-1);
  ASSERT_TRUE(commits->commit(what_leaves(*commits, accepted + 1)).ok());
  expect_exactly(*commits, accepted + 1, "with room again");
}

TEST(Commits, APowerLossKeepsWhatWasSynced) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FaultEnv env;
    uint64_t synced = 0;
    {
      auto commits = opened(env);
      ASSERT_TRUE(commits->declare(table("a")).ok());
      ASSERT_TRUE(commits->declare(table("b")).ok());
      for (uint64_t f = 1; f <= 20; ++f) {
        ASSERT_TRUE(commits->commit(what_leaves(*commits, f)).ok());
        if (f == 8) {
          ASSERT_TRUE(commits->checkpoint().ok());
        }
        if (f == 13) {
          ASSERT_EQ(commits->read_outbox("f").value().size(), 7u);  // synced before it is read
        }
        if (f == 8 || f == 13) synced = f;
      }
      const auto cut = env.copy();
      cut->lose_power(seed, seed % 2 ? 0.5 : 0.0);
      auto again = opened(*cut);
      ASSERT_NE(again, nullptr);
      const uint64_t settled = again->settled("t");
      EXPECT_GE(settled, synced);
      auto rows = again->tables().read("b");
      EXPECT_EQ(rows->rows(), settled) << "seed " << seed;
      EXPECT_EQ(again->gate().ledger().size(), (settled + 1) / 2) << "seed " << seed;
    }
  }
}

TEST(Commits, ASettledFiringIsNotCommittedAgain) {
  FaultEnv env;
  auto commits = opened(env);
  ASSERT_TRUE(commits->commit({.task = "t", .number = 3, .rows = {}, .sends = {}}).ok());
  const auto again = commits->commit({.task = "t", .number = 3, .rows = {}, .sends = {}});
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message().find("a number above 3"), std::string::npos) << again.error().message();
  EXPECT_TRUE(commits->commit({.task = "other", .number = 1, .rows = {}, .sends = {}}).ok());
  commits.reset();
  commits = opened(env);
  EXPECT_EQ(commits->settled("t"), 3u);
  EXPECT_EQ(commits->settled("other"), 1u);
}

TEST(Commits, RowsOfNoTableAndCommitsThatAreTooLargeAreRefusedWhole) {
  FaultEnv env;
  auto commits = opened(env);
  ASSERT_TRUE(commits->declare(table("a")).ok());
  Commit c = what_leaves(*commits, 1);
  auto refused = commits->commit(c);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("result table 'b'"), std::string::npos);
  EXPECT_EQ(commits->tables().read("a")->rows(), 0u);
  EXPECT_EQ(commits->settled("t"), 0u);
  const std::string text(10'000, 'x');
  const Cell cells[] = {Cell::of(int64_t{1}), Cell::of(std::string_view(text))};
  c.rows.resize(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store::add_row(table("a"), kTs, cells, c.rows[0]).ok());
  refused = commits->commit(c);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("at most 16384"), std::string::npos) << refused.error().message();
  EXPECT_EQ(commits->tables().read("a")->rows(), 0u);
}

TEST(Commits, APermitThatIsLetGoGivesItsBudgetBack) {
  FaultEnv env;
  auto commits = opened(env);
  stream::EgressPolicy policy{
      .task = "t",
      .feature = "f",
      .fields = {{.name = "x", .type = ColumnType::integer, .highest = stream::Sensitivity::personal}},
      .bytes_per_day = 1 << 20,
      .sends_per_day = 2,
      .consent = ""};
  ASSERT_TRUE(commits->gate().allow(policy).ok());
  Commit c{.task = "t", .number = 1, .rows = {}, .sends = {}};
  for (int i = 0; i < 2; ++i) c.sends.push_back(commits->gate().permit("t", "f", made(i)).value());
  EXPECT_FALSE(commits->gate().permit("t", "f", made(3)).ok());
  c.sends.pop_back();  // a firing that failed, say
  EXPECT_TRUE(commits->gate().permit("t", "f", made(3)).ok());
  ASSERT_TRUE(commits->commit(c).ok());
  c.sends.clear();
  EXPECT_TRUE(commits->gate().permit("t", "f", made(3)).ok());
  EXPECT_TRUE(commits->gate().send("t", "f", made(3)).ok());
  EXPECT_FALSE(commits->gate().permit("t", "f", made(3)).ok());
  commits.reset();
  commits = opened(env);
  ASSERT_TRUE(commits->gate().allow(policy).ok());
  EXPECT_FALSE(commits->gate().permit("t", "f", made(3)).ok());
  EXPECT_EQ(commits->gate().ledger().size(), 2u);
}

// The journal emptied, removed, or damaged: told at this and later opens, today's budget is closed, and no
// number is given out again.
TEST(Commits, ALostJournalIsToldOfAndItsNumbersAreNotReused) {
  for (const int how : {0, 1, 2}) {
    FaultEnv env;
    {
      auto commits = opened(env);
      ASSERT_TRUE(commits->declare(table("a")).ok());
      ASSERT_TRUE(commits->declare(table("b")).ok());
      for (uint64_t f = 1; f <= 9; ++f) {
        ASSERT_TRUE(commits->commit(what_leaves(*commits, f)).ok());
        if (f == 4) {
          ASSERT_TRUE(commits->checkpoint().ok());
        }
      }
    }
    std::string& journal = env.file("/device/commits.walj");
    if (how == 0) {
      ASSERT_TRUE(env.remove_file("/device/commits.walj").ok());
    }
    if (how == 1) std::fill(journal.begin(), journal.end(), '\0');
    if (how == 2) {
      const size_t at = journal.rfind(std::string(3 * 7, 'x'));  // in the middle of what was not applied
      ASSERT_NE(at, std::string::npos);
      journal[at] ^= 1;
    }
    for (int open = 0; open < 2; ++open) {
      auto commits = opened(env);
      ASSERT_FALSE(commits->tables().losses().empty()) << how;
      EXPECT_EQ(commits->tables().losses()[0].kind, store::LossKind::journal);
      EXPECT_TRUE(commits->outbox().lost());
      EXPECT_FALSE(commits->gate().permit("t", "f", made(1)).ok());
      const uint64_t settled = commits->settled("t");
      EXPECT_GE(settled, 4u);
      EXPECT_LT(settled, 9u);
      EXPECT_EQ(commits->tables().read("b")->rows(), settled);
      EXPECT_GT(commits->tables().next_row("b"), 9u);
      EXPECT_GT(commits->outbox().next("f"), 5u);
    }
    auto commits = opened(env);
    ASSERT_TRUE(commits->acknowledge(commits->tables().losses()).ok());
    ASSERT_TRUE(commits->acknowledge_outbox_loss().ok());
    env.advance_us(stream::kDayUs);
    const uint64_t settled = commits->settled("t");
    ASSERT_TRUE(commits->commit(what_leaves(*commits, settled + 1)).ok());
    commits.reset();
    commits = opened(env);
    EXPECT_TRUE(commits->tables().losses().empty());
    EXPECT_FALSE(commits->outbox().lost());
    EXPECT_EQ(commits->settled("t"), settled + 1);
  }
}

TEST(Commits, LostStateIsToldOf) {
  FaultEnv env;
  {
    auto commits = opened(env);
    ASSERT_TRUE(commits->commit({.task = "t", .number = 3, .rows = {}, .sends = {}}).ok());
    ASSERT_TRUE(commits->checkpoint().ok());
  }
  ASSERT_TRUE(env.remove_file("/device/commits.wals").ok());
  ASSERT_TRUE(env.remove_file("/device/commits.wals.mirror").ok());
  for (int open = 0; open < 2; ++open) EXPECT_TRUE(opened(env)->report().state_lost);
  ASSERT_TRUE(opened(env)->acknowledge_state_loss().ok());
  EXPECT_FALSE(opened(env)->report().state_lost);
}

TEST(Commits, WithAKeyNothingIsReadable) {
  FaultEnv env;
  CommitsOptions sealed = small();
  sealed.key = std::string(32, 'k');
  const std::string canary = "a very secret text that no file may hold";
  store::TableDecl decl = table("a");
  {
    auto opening = Commits::open(env, kDir, sealed);
    ASSERT_TRUE(opening.ok()) << opening.error().message();
    auto commits = *std::move(opening);
    allow(*commits);
    ASSERT_TRUE(commits->declare(decl).ok());
    Commit c{.task = "t", .number = 1, .rows = {}, .sends = {}};
    c.rows.resize(1);
    const Cell cells[] = {Cell::of(int64_t{1}), Cell::of(std::string_view(canary))};
    ASSERT_TRUE(store::add_row(decl, kTs, cells, c.rows[0]).ok());
    c.sends.push_back(commits->gate().permit("t", "f", made(1)).value());
    ASSERT_TRUE(commits->commit(c).ok());
    ASSERT_TRUE(commits->checkpoint().ok());
    c.number = 2;
    c.sends.clear();
    ASSERT_TRUE(commits->commit(c).ok());
  }
  for (const char* dir : {"/device", "/device/tables", "/device/egress", "/device/outbox"}) {
    const std::vector<std::string> names = env.list_files(dir).value();
    for (const std::string& name : names)
      EXPECT_EQ(env.file(std::string(dir) + "/" + name).find("secret"), std::string::npos) << name;
  }
  EXPECT_FALSE(Commits::open(env, kDir, small()).ok());
  CommitsOptions other = sealed;
  other.key = std::string(32, 'x');
  EXPECT_FALSE(Commits::open(env, kDir, other).ok());
  auto commits = opened(env, sealed);
  EXPECT_EQ(commits->tables().read("a")->rows(), 2u);
  EXPECT_EQ(commits->tables().read("a")->columns[1].cells[1].text, canary);
  EXPECT_EQ(commits->gate().ledger().size(), 1u);
  EXPECT_EQ(commits->outbox().read("f").size(), 1u);
}

TEST(Commits, ThreadsCommitBesideCheckpointsAndReaders) {
  // The system's: the tests' own file system has one thread.
  const std::string dir = testing::TempDir() + "walle_commits_threads" + std::to_string(::getpid());
  std::filesystem::remove_all(dir);
  auto opening = Commits::open(Env::system(), dir, small());
  ASSERT_TRUE(opening.ok()) << opening.error().message();
  const auto commits = *std::move(opening);
  ASSERT_TRUE(commits->declare(table("a")).ok());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const std::string task = "task " + std::to_string(t);
      for (uint64_t f = 1; f <= 400; ++f) {
        Commit c{.task = task, .number = f, .rows = {}, .sends = {}};
        c.rows.resize(1);
        const Cell cells[] = {Cell::of(static_cast<int64_t>(f)), Cell::of(std::string_view(task))};
        EXPECT_TRUE(store::add_row(table("a"), kTs, cells, c.rows[0]).ok());
        EXPECT_TRUE(commits->commit(c).ok());
      }
    });
  std::thread reader([&] {
    while (!done) {
      auto last = commits->tables().last("a", 10);
      EXPECT_TRUE(last.ok());
      std::this_thread::yield();
    }
  });
  for (std::thread& t : threads) t.join();
  done = true;
  reader.join();
  auto rows = commits->tables().read("a");
  ASSERT_EQ(rows->rows(), 1200u);
  std::map<std::string, int64_t> newest;
  for (size_t i = 0; i < rows->rows(); ++i)
    EXPECT_EQ(rows->columns[0].cells[i].i, ++newest[std::string(rows->columns[1].cells[i].text)]);
}

TEST(CommitFrame, CutBytesAreNoFrame) {
  stream::Permit permit;
  permit.stream = "s";
  permit.bytes = "payload";
  permit.entry = {.ts = 3, .bytes = 7, .rows = 1, .task = "t", .feature = "f"};
  FrameOut out{.task = "t", .number = 9};
  out.rows.push_back({.rows = {"a", 2, 2, "rowbytes"}, .first = 5});
  out.sends.push_back({.permit = &permit, .seq = 4});
  FrameText text;
  put_frame(out, text);
  const std::string bytes = text.take();
  FrameSize size;
  put_frame(out, size);
  EXPECT_EQ(size.size(), bytes.size());
  FrameIn in;
  ASSERT_TRUE(read_frame(bytes, in));
  EXPECT_EQ(in.rows[0].first, 5u);
  EXPECT_EQ(in.rows[0].rows.bytes, "rowbytes");
  EXPECT_EQ(in.sends[0].permit.entry.bytes, 7);
  EXPECT_EQ(in.sends[0].seq, 4u);
  for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(read_frame(bytes.substr(0, cut), in)) << cut;
  EXPECT_FALSE(read_frame(bytes + "x", in));
  const std::string acknowledged = acknowledge_frame("s", 3);
  EXPECT_TRUE(read_frame(acknowledged, in));
  EXPECT_EQ(in.number, 3u);
  EXPECT_FALSE(read_frame("\x03", in));
}

}  // namespace
}  // namespace walle::container
