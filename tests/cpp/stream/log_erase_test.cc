// What is erased is in no file any more, whatever fails while it is being erased.
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

constexpr const char* kName = "Rumpelstilzchen";

// Ann's events and the other one's, in two segments and the journal.
void two_people(EventLog& log, FaultEnv& env) {
  for (int part = 0; part < 3; ++part) {
    for (int i = 0; i < 10; ++i) fill(log, env, 1, i % 2 ? kName : "ann");
    if (part == 2) break;
    ASSERT_TRUE(log.compact().ok());
  }
}

EraseRule person(const EventLog& log, std::string_view who) {
  return {.field = log.catalog().find_field("who"), .value = Value::of(who)};
}

// In plain sight or packed: what can be read holds it nowhere.
bool mentions(FaultEnv& env, std::string_view text) {
  const std::vector<std::string> names = *env.list_files(kDir);
  for (const std::string& file : names) {
    const std::string& bytes = env.file(std::string(kDir) + "/" + file);
    if (bytes.find(text) != std::string::npos) return true;
    const auto segment = store::decode_segment(bytes);
    if (!segment.ok()) continue;
    for (const store::SegmentColumn& c : segment->columns)
      for (size_t row = 0; row < c.cells.size(); ++row)
        if (c.cells[row].text == text) return true;
  }
  return false;
}

TEST(LogErase, RemovesAPersonFromSegmentsAndJournal) {
  FaultEnv env;
  auto log = open_log(env);
  two_people(*log, env);
  ASSERT_TRUE(mentions(env, kName));
  const auto erased = log->erase(person(*log, kName));
  ASSERT_TRUE(erased.ok()) << erased.error().message();
  EXPECT_EQ(*erased, 15u);
  EXPECT_FALSE(mentions(env, kName));
  EXPECT_EQ(numbers(*log).size(), 15u);
  EXPECT_EQ(put(*log, env.wall_us())->seq, 31u);
  log.reset();
  log = open_log(env);
  EXPECT_EQ(numbers(*log).size(), 16u);
  EXPECT_TRUE(losses(*log).empty()) << "what was erased is not lost";
  EXPECT_EQ(log->report().erased, 15u);
  EXPECT_EQ(*log->erase(person(*log, kName)), 0u);
}

TEST(LogErase, TakesPagesFieldsAndWholeEvents) {
  FaultEnv env;
  auto log = open_log(env);
  fill(*log, env, 4);
  ASSERT_TRUE(put(*log, env.wall_us(), "ann", 2).ok());
  Event bare;
  bare.event = *log->catalog().find_event("timer");
  bare.ts = env.wall_us();
  ASSERT_TRUE(log->append(bare).ok());
  EXPECT_EQ(*log->erase({.page = uint16_t{2}}), 1u);
  EXPECT_EQ(*log->erase({.event = bare.event}), 1u);
  EXPECT_EQ(*log->erase({.field = log->catalog().find_field("who")}), 4u);
  EXPECT_TRUE(numbers(*log).empty());
  EXPECT_EQ(put(*log, env.wall_us())->seq, 7u);
  EXPECT_FALSE(log->erase({}).ok());
  EXPECT_FALSE(log->erase({.value = Value::of(int64_t{1})}).ok());
}

TEST(LogErase, IsFinishedByTheNextOpenWhereverItWasCut) {
  int64_t operations = 0;
  {
    FaultEnv env;
    auto log = open_log(env);
    two_people(*log, env);
    const int64_t before = env.operations();
    ASSERT_TRUE(log->erase(person(*log, kName)).ok());
    operations = env.operations() - before;
  }
  for (int64_t k = 0; k < operations; ++k) {
    FaultEnv env;
    auto log = open_log(env);
    two_people(*log, env);
    env.fail_at(k);
    const bool erased = log->erase(person(*log, kName)).ok();
    kill(env, log);
    log = open_log(env);
    ASSERT_TRUE(log) << k;
    const size_t left = numbers(*log).size();
    EXPECT_TRUE(left == 15 || (left == 30 && !erased)) << k << ": " << left;
    EXPECT_TRUE(losses(*log).empty()) << k;
    EXPECT_EQ(mentions(env, kName), left == 30) << k;
  }
}

TEST(LogErase, LeavesNoWayBackThroughADamagedHeader) {
  FaultEnv env;
  auto log = open_log(env);
  two_people(*log, env);
  ASSERT_TRUE(log->erase(person(*log, kName)).ok());
  log.reset();
  std::string& journal = env.file("/log/journal.walj");
  std::fill_n(journal.begin(), store::kJournalHeaderBytes, '\0');
  EXPECT_EQ(numbers(*open_log(env)).size(), 15u);
}

}  // namespace
}  // namespace walle::stream
