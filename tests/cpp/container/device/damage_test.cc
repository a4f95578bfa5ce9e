// Every bit of what is not checkpointed yet, flipped: what is gone is told, and no number is given out twice.
#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "container/device/commits.h"

namespace walle::container {
namespace {

constexpr const char* kDir = "/device";
constexpr uint64_t kDone = 5;  // firings

CommitsOptions small() {
  CommitsOptions out;
  out.journal_bytes = 8192;
  return out;
}

store::TableDecl table() { return {.name = "t.rows", .columns = {{"firing", ColumnType::integer}}}; }

Status leave(Commits& commits, uint64_t firing) {
  Commit c{.task = "t", .number = firing, .rows = {}, .sends = {}};
  c.rows.resize(1);
  const Cell cells[] = {Cell::of(static_cast<int64_t>(firing))};
  WALLE_TRY(store::add_row(table(), 1'700'000'000'000'000, cells, c.rows[0]));
  return commits.commit(c).status();
}

std::unique_ptr<Commits> opened(Env& env) {
  auto commits = Commits::open(env, kDir, small());
  EXPECT_TRUE(commits.ok()) << commits.error().message();
  return commits.ok() ? *std::move(commits) : nullptr;
}

// A device that was killed behind `kDone` firings, of which a checkpoint has the first two.
void fill(base::FaultEnv& env) {
  auto commits = opened(env);
  ASSERT_TRUE(commits->declare(table()).ok());
  for (uint64_t firing = 1; firing <= kDone; ++firing) {
    ASSERT_TRUE(leave(*commits, firing).ok());
    if (firing == 2) {
      ASSERT_TRUE(commits->checkpoint().ok());
    }
  }
  env.fail_at(0);  // as if killed: nothing is written on the way
  commits.reset();
  env.fail_at(-1);
}

std::vector<uint64_t> numbers(Commits& commits) {
  auto rows = commits.tables().read("t.rows");
  EXPECT_TRUE(rows.ok());
  return rows.ok() ? rows->numbers : std::vector<uint64_t>();
}

// Opens what is damaged; the first row to come must have a number that nobody can have seen.
void expect_told(base::FaultEnv& env, uint64_t most, const std::string& where) {
  SCOPED_TRACE(where);
  auto commits = opened(env);
  ASSERT_TRUE(commits);
  const std::vector<uint64_t> left = numbers(*commits);
  ASSERT_GT(commits->tables().next_row("t.rows"), most);
  if (left.size() < kDone) {
    ASSERT_FALSE(commits->tables().losses().empty());
    ASSERT_GT(commits->lost(), 0u);
  }
  // What is read, too: rows that the replay found and rows that are new have a gap between them.
  const uint64_t next = commits->tables().next_row("t.rows");
  ASSERT_TRUE(leave(*commits, kDone + 1).ok());
  const std::vector<uint64_t> more = numbers(*commits);
  ASSERT_EQ(more.size(), left.size() + 1);
  ASSERT_EQ(more.back(), next);
}

TEST(Damage, OfEveryBitOfTheJournalIsToldOf) {
  base::FaultEnv whole;
  fill(whole);
  const std::string bytes = whole.file("/device/commits.walj");
  size_t used = bytes.size();
  while (used > 0 && bytes[used - 1] == 0) --used;
  ASSERT_GT(used, store::kJournalHeaderBytes);
  // The header's numbers lie in its first three cache lines.
  for (size_t at = 0; at < used; at = at == 191 ? store::kJournalHeaderBytes : at + 1) {
    for (int bit = 0; bit < 8; ++bit) {
      base::FaultEnv env;
      fill(env);
      env.file("/device/commits.walj")[at] ^= static_cast<char>(1 << bit);
      expect_told(env, kDone, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
      if (HasFatalFailure()) return;
    }
  }
}

// Damage behind damage, without a checkpoint between: numbers go on behind those of the first loss.
TEST(Damage, ComesAgainAndAgain) {
  base::FaultEnv env;
  fill(env);
  uint64_t newest = kDone;
  for (int time = 0; time < 6; ++time) {
    std::string& bytes = env.file("/device/commits.walj");
    size_t last = bytes.size();
    while (last > 0 && bytes[last - 1] == 0) --last;
    bytes[last - 1] ^= 1;
    auto commits = opened(env);
    ASSERT_TRUE(commits);
    ASSERT_FALSE(commits->tables().losses().empty());
    ASSERT_GT(commits->tables().next_row("t.rows"), newest) << time;
    ASSERT_TRUE(leave(*commits, commits->settled("t") + 1).ok());
    newest = numbers(*commits).back();
    env.fail_at(0);
    commits.reset();
    env.fail_at(-1);
  }
}

}  // namespace
}  // namespace walle::container
