#include "stream/egress/egress.h"

#include "base/fault_env.h"
#include "base/names.h"
#include "stream/batches.h"
#include "stream/egress/feature_bytes.h"

namespace walle::stream {
namespace {

using base::FaultEnv;
using namespace testing;

constexpr const char* kLedger = "/gate/ledger.walj";
constexpr const char* kState = "/gate/egress.wals";
constexpr const char* kMirror = "/gate/egress.wals.mirror";
constexpr int64_t kSends = 3;

TracedBatch made(int64_t value = 1) {
  Batch rows;
  rows.ts = {1};
  rows.columns.push_back({.name = "x", .cells = typed({value})});
  auto op = make_select({"x"});
  auto out = TracedBatch::push(**op, TracedBatch::given(std::move(rows)));
  EXPECT_TRUE(out.ok());
  return *out;
}

EgressPolicy policy(std::string task = "t", int64_t sends = kSends) {
  return {.task = std::move(task),
          .feature = "f",
          .fields = {{.name = "x", .type = ColumnType::integer, .highest = Sensitivity::personal}},
          .bytes_per_day = 1 << 20,
          .sends_per_day = sends,
          .consent = ""};
}

std::unique_ptr<EgressGate> opened(Env& env, int64_t sends = kSends) {
  auto gate = EgressGate::open(env, "/gate");
  EXPECT_TRUE(gate.ok()) << gate.error().message();
  if (!gate.ok()) return nullptr;
  EXPECT_TRUE((*gate)->allow(policy("t", sends)).ok());
  return std::move(*gate);
}

// All of the day's budget.
void spend(FaultEnv& env) {
  const auto gate = opened(env);
  for (int i = 0; i < kSends; ++i) ASSERT_TRUE(gate->send("t", "f", made()).ok()) << i;
  ASSERT_FALSE(gate->send("t", "f", made()).ok());
}

TEST(EgressGate, RowsThatNoGraphMadeDoNotLeave) {
  FaultEnv env;
  const auto gate = opened(env);
  Batch rows = made().rows();
  const auto by_hand = gate->send("t", "f", TracedBatch::given(rows));
  ASSERT_FALSE(by_hand.ok());
  EXPECT_NE(by_hand.error().message().find("no graph made"), std::string::npos);
  EXPECT_TRUE(gate->send("t", "f", made().confirmed(rows)).ok());
  rows.columns[0].cells = typed({int64_t{2}});
  EXPECT_FALSE(gate->send("t", "f", made().confirmed(rows)).ok());
  EXPECT_EQ(gate->ledger().size(), 1u);
}

// No single flipped bit of the counters gives a send back. Of the ledger's megabyte, all that is written.
TEST(EgressGate, AFlippedBitGivesNoBudgetBack) {
  FaultEnv env;
  spend(env);
  for (const char* path : {kState, kMirror, kLedger}) {
    const std::string good = env.file(path);
    const size_t used = path == kLedger ? size_t{4096} + 64 * kSends : good.size();
    for (size_t bit = 0; bit < 8 * used; ++bit) {
      if (path == kLedger && good[bit / 8] == 0 && bit >= 8 * 160 && bit < 8 * 4096) continue;
      env.file(path) = good;
      env.file(path)[bit / 8] = static_cast<char>(good[bit / 8] ^ (1 << bit % 8));
      const auto gate = opened(env);
      ASSERT_FALSE(gate->send("t", "f", made()).ok()) << path << " bit " << bit;
      ASSERT_FALSE(gate->report().lost);
    }
    env.file(path) = good;
  }
}

TEST(EgressGate, NoFileCutOrRemovedGivesBudgetBack) {
  for (const char* path : {kState, kMirror, kLedger})
    for (const double part : {0.0, 0.3, 0.6, 0.99, -1.0}) {
      FaultEnv env;
      spend(env);
      if (part < 0)
        ASSERT_TRUE(env.remove_file(path).ok());
      else
        env.file(path).resize(static_cast<size_t>(part * static_cast<double>(env.file(path).size())));
      const auto gate = opened(env);
      EXPECT_FALSE(gate->send("t", "f", made()).ok()) << path << " " << part;
      EXPECT_FALSE(gate->report().lost);
    }
}

// And says so until somebody knows: the second open as well.
TEST(EgressGate, ALostLedgerIsReportedAndItsNewestEntryKept) {
  FaultEnv env;
  spend(env);
  ASSERT_TRUE(env.remove_file(kLedger).ok());
  for (int i = 0; i < 2; ++i) {
    const auto gate = opened(env);
    EXPECT_EQ(gate->report().lost_entries, 2u);
    ASSERT_EQ(gate->ledger().size(), 1u);
    EXPECT_EQ(gate->ledger()[0].task, "t");
  }
  ASSERT_TRUE(opened(env)->acknowledge_loss().ok());
  EXPECT_EQ(opened(env)->report().lost_entries, 0u);
  EXPECT_FALSE(opened(env)->send("t", "f", made()).ok());
}

TEST(EgressGate, LosingBothCountersClosesTheGateForTheDay) {
  for (const bool removed : {false, true}) {
    FaultEnv env;
    {
      (void)opened(env)->send("t", "f", made());
    }
    for (const char* path : {kState, kMirror})
      if (removed)
        ASSERT_TRUE(env.remove_file(path).ok());
      else
        env.file(path)[20] ^= 8;
    for (int i = 0; i < 2; ++i) {
      const auto gate = opened(env);
      EXPECT_TRUE(gate->report().lost);
      const auto refused = gate->send("t", "f", made());
      ASSERT_FALSE(refused.ok());
      EXPECT_NE(refused.error().message().find("acknowledge"), std::string::npos);
    }
    const auto gate = opened(env);
    ASSERT_TRUE(gate->acknowledge_loss().ok());
    EXPECT_FALSE(gate->send("t", "f", made()).ok());
    env.advance_us(kDayUs);
    EXPECT_TRUE(gate->send("t", "f", made()).ok());
    EXPECT_FALSE(gate->report().lost);
  }
}

TEST(EgressGate, AGateThatNeverSentKnowsThatItsStateIsGone) {
  FaultEnv env;
  {
    (void)opened(env);
  }
  for (const char* path : {kState, kMirror}) ASSERT_TRUE(env.remove_file(path).ok());
  EXPECT_TRUE(opened(env)->report().lost);
}

TEST(EgressGate, AKillWhileAGateIsMadeIsNoLoss) {
  for (int64_t k = 0; k < 30; ++k) {
    FaultEnv env;
    env.fail_at(k);
    {
      (void)EgressGate::open(env, "/gate").ok();
    }
    env.fail_at(-1);
    EXPECT_FALSE(opened(env)->report().lost) << k;
  }
}

// Whatever operation fails: no more than the budget leaves, and all that left is in the ledger.
TEST(EgressGate, EveryFailingOperationKeepsTheBudgetAndTheLedger) {
  for (int64_t k = 0; k < 120; ++k) {
    FaultEnv env;
    int64_t left = 0;
    env.fail_at(k);
    for (int round = 0; round < 4; ++round) {
      auto gate = EgressGate::open(env, "/gate");
      if (!gate.ok()) continue;
      ASSERT_TRUE((*gate)->allow(policy()).ok());
      for (int i = 0; i < 2; ++i) left += (*gate)->send("t", "f", made()).ok();
    }
    env.fail_at(-1);
    env.lose_power(k, 0.5);
    const auto gate = opened(env);
    while (gate->send("t", "f", made()).ok()) ++left;
    ASSERT_LE(left, kSends) << k;
    ASSERT_GE(left, kSends - 1) << k;  // a send that failed may have been counted
    ASSERT_GE(std::ssize(gate->ledger()), left) << k;
    ASSERT_EQ(gate->report().lost_entries, 0u) << k;
  }
}

// The ledger forgets its oldest entries, the counters do not: with the longest name after nine thousand
// sends.
TEST(EgressGate, ADayOfMoreSendsThanTheLedgerHoldsIsCounted) {
  FaultEnv env;
  const std::string task(base::name_rule(base::NameKind::task).most, 't');
  constexpr int64_t kMany = 12'000;
  auto gate = opened(env);
  ASSERT_TRUE(gate->allow(policy(task, kMany)).ok());
  for (int64_t i = 0; i < kMany; ++i) ASSERT_TRUE(gate->send(task, "f", made()).ok()) << i;
  EXPECT_LT(std::ssize(gate->ledger()), kMany);
  EXPECT_FALSE(gate->send(task, "f", made()).ok());
  gate = nullptr;
  gate = opened(env);
  ASSERT_TRUE(gate->allow(policy(task, kMany)).ok());
  EXPECT_FALSE(gate->send(task, "f", made()).ok());
  EXPECT_LT(std::ssize(gate->ledger()), kMany);
}

TEST(EgressGate, AClockThatGoesBackGivesNothingBack) {
  FaultEnv env;
  const int64_t now = env.wall_us();
  spend(env);
  env.set_wall_us(now + 365 * kDayUs);
  spend(env);
  for (const int64_t back : {int64_t{0}, kDayUs, 300 * kDayUs}) {
    env.set_wall_us(now + back);
    EXPECT_FALSE(opened(env)->send("t", "f", made()).ok()) << back;
  }
  env.set_wall_us(now + 366 * kDayUs);
  spend(env);
}

TEST(EgressGate, AClockThatWasOnManyDaysIsCountedOnAnEarlierOne) {
  FaultEnv env;
  const int64_t now = env.wall_us();
  constexpr int64_t kDays = 12;
  constexpr int64_t kBudget = 20;
  for (int64_t day = 1; day <= kDays; ++day) {
    env.set_wall_us(now + day * kDayUs);
    ASSERT_TRUE(opened(env, kBudget)->send("t", "f", made()).ok()) << day;
  }
  env.set_wall_us(now);
  const auto gate = opened(env, kBudget);
  int64_t more = 0;
  while (more <= kBudget && gate->send("t", "f", made()).ok()) ++more;
  EXPECT_EQ(more, kBudget - kDays);
}

TEST(EgressGate, ConsentsOutliveTheProcess) {
  FaultEnv env;
  EgressPolicy asked = policy();
  asked.consent = "statistics";
  const auto sends = [&] {
    const auto gate = opened(env);
    EXPECT_TRUE(gate->allow(asked).ok());
    return gate->send("t", "f", made()).ok();
  };
  EXPECT_FALSE(sends());
  ASSERT_TRUE(opened(env)->set_consents({"statistics", "other"}).ok());
  env.lose_power();
  EXPECT_TRUE(sends());
  EXPECT_EQ(opened(env)->consents(), (std::vector<std::string>{"other", "statistics"}));
  ASSERT_TRUE(opened(env)->set_consents({}).ok());
  EXPECT_FALSE(sends());
}

TEST(EgressGate, APermitSetsItsBudgetAsideUntilItIsLetGo) {
  FaultEnv env;
  const auto gate = opened(env);
  std::vector<Permit> permits;
  for (int64_t i = 0; i < kSends; ++i) permits.push_back(gate->permit("t", "f", made(i)).value());
  EXPECT_FALSE(gate->permit("t", "f", made()).ok());
  EXPECT_EQ(gate->ledger().size(), 0u);
  const Permit copy = permits.back();
  permits.pop_back();
  EXPECT_FALSE(gate->permit("t", "f", made()).ok());  // a copy holds it
  ASSERT_TRUE(gate->apply(copy).ok());
  ASSERT_TRUE(gate->apply(permits[0]).ok());
  EXPECT_EQ(gate->ledger().size(), 2u);
  permits.clear();
  EXPECT_TRUE(gate->send("t", "f", made()).ok());
  EXPECT_FALSE(gate->send("t", "f", made()).ok());
}

TEST(EgressGate, APermitMayOutliveItsGate) {
  FaultEnv env;
  Permit permit;
  {
    permit = opened(env)->permit("t", "f", made()).value();
  }
  EXPECT_GT(permit.bytes.size(), 0u);
}

TEST(EgressGate, ARevokedTaskSendsNothingAndItsBudgetStaysSpent) {
  FaultEnv env;
  const auto gate = opened(env);
  for (int i = 0; i < kSends; ++i) ASSERT_TRUE(gate->send("t", "f", made()).ok());
  gate->revoke("t");
  EXPECT_NE(gate->send("t", "f", made()).error().message().find("without a policy"), std::string::npos);
  ASSERT_TRUE(gate->allow(policy()).ok());
  EXPECT_FALSE(gate->send("t", "f", made()).ok());
}

TEST(EgressGate, AVersionKeepsTheFeaturesThatItNames) {
  FaultEnv env;
  const auto gate = opened(env);
  EgressPolicy other = policy();
  other.feature = "other";
  ASSERT_TRUE(gate->allow(other).ok());
  other.task = "u";
  ASSERT_TRUE(gate->allow(other).ok());
  gate->keep_only("t", {"f"});
  EXPECT_TRUE(gate->send("t", "f", made()).ok());
  EXPECT_NE(gate->send("t", "other", made()).error().message().find("without a policy"), std::string::npos);
  EXPECT_TRUE(gate->send("u", "other", made()).ok()) << "of another task";
  gate->keep_only("t", {});
  EXPECT_FALSE(gate->send("t", "f", made()).ok());
}

// Sends that somebody else's journal holds: counted at once, in the files with a checkpoint, and once only
// whatever operation of it fails and whatever is replayed.
TEST(EgressGate, RedoneSendsAreCountedOnceWhateverFails) {
  for (int64_t fail = -1; fail < 12; ++fail) {
    FaultEnv env;
    {
      const auto gate = opened(env);
      ASSERT_TRUE(gate->send("t", "f", made()).ok());
      const Permit permit = gate->permit("t", "f", made(2)).value();
      gate->redo(7, permit);
      EXPECT_EQ(gate->ledger().size(), 2u);
      EXPECT_TRUE(gate->permit("t", "f", made()).ok());  // the third
      env.fail_at(fail);
      (void)gate->checkpoint(gate->begin_checkpoint(7)).ok();
      env.fail_at(-1);
    }
    for (int open = 0; open < 2; ++open) {
      const auto gate = opened(env);
      const Permit replayed{
          .entry = {.ts = env.wall_us(), .bytes = 10, .rows = 1, .task = "t", .feature = "f"}};
      gate->redo(7, replayed);
      EXPECT_EQ(gate->ledger().size(), 2u) << fail;
      EXPECT_EQ(gate->report().lost_entries, 0u);
      const Permit third = gate->permit("t", "f", made()).value();
      EXPECT_FALSE(gate->permit("t", "f", made()).ok()) << fail;
      ASSERT_TRUE(gate->checkpoint(gate->begin_checkpoint(7)).ok());
      EXPECT_EQ(gate->applied(), 7u);
    }
  }
}

TEST(EgressGate, AKeySealsLedgerAndState) {
  FaultEnv env;
  const std::string key(32, 'k');
  {
    auto gate = EgressGate::open(env, "/gate", key);
    ASSERT_TRUE(gate.ok()) << gate.error().message();
    ASSERT_TRUE((*gate)->allow(policy("canary")).ok());
    for (int i = 0; i < kSends; ++i) ASSERT_TRUE((*gate)->send("canary", "f", made()).ok());
  }
  const std::vector<std::string> files = env.list_files("/gate").value();
  for (const std::string& file : files)
    EXPECT_EQ(env.file("/gate/" + file).find("canary"), std::string::npos) << file;
  EXPECT_FALSE(EgressGate::open(env, "/gate").ok());
  EXPECT_FALSE(EgressGate::open(env, "/gate", std::string(32, 'x')).ok());
  auto gate = EgressGate::open(env, "/gate", key);
  ASSERT_TRUE((*gate)->allow(policy("canary")).ok());
  EXPECT_EQ((*gate)->ledger().size(), static_cast<size_t>(kSends));
  EXPECT_FALSE((*gate)->send("canary", "f", made()).ok());
  // One that began without a key keeps to that.
  FaultEnv plain;
  spend(plain);
  EXPECT_FALSE(EgressGate::open(plain, "/gate", key).ok());
}

TEST(FeatureBytes, AreReadBack) {
  Batch rows;
  rows.ts = {1, -2};
  rows.columns.push_back({.name = "n", .cells = typed({int64_t{-5}, kAbsent})});
  rows.columns.push_back({.name = "v", .cells = typed({Floats{1.5F, -0.0F}, Floats{}})});
  rows.columns.push_back({.name = "d", .cells = typed({0.1, -0.0})});
  rows.columns.push_back({.name = "s", .cells = typed({std::string("\0x", 2), std::string()})});
  rows.columns.push_back({.name = "b", .cells = typed({kAbsent, true})});
  rows.columns.push_back({.name = "none", .cells = typed({kAbsent, kAbsent})});
  const std::string bytes = pack_batch(rows);
  const auto read = unpack_batch(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->ts, rows.ts);
  ASSERT_EQ(read->columns.size(), rows.columns.size());
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    EXPECT_EQ(read->columns[c].name, rows.columns[c].name);
    EXPECT_EQ(cells_of(read->columns[c].cells), cells_of(rows.columns[c].cells));
    EXPECT_EQ(read->columns[c].cells.type(), rows.columns[c].cells.type());
    EXPECT_EQ(read->columns[c].sensitivity, Sensitivity::personal);
  }
  EXPECT_EQ(pack_batch(*read), bytes);
}

TEST(FeatureBytes, DamageIsAnErrorOrOtherRows) {
  Batch rows;
  rows.ts = {1, 2};
  rows.columns.push_back({.name = "ab", .cells = typed({kAbsent, std::string("text")})});
  rows.columns.push_back({.name = "c", .cells = typed({Floats{1, 2, 3}, Floats{}})});
  rows.columns.push_back({.name = "d", .cells = typed({true, kAbsent})});
  const std::string good = pack_batch(rows);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(unpack_batch(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(unpack_batch(good + "x").ok());
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto read = unpack_batch(bad);
    if (read.ok()) {
      EXPECT_EQ(pack_batch(*read), bad) << bit;
    }
  }
}

}  // namespace
}  // namespace walle::stream
