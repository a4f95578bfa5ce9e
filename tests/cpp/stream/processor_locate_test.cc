// First and last events of matches by number, against what the tests themselves know of each event.
#include <random>

#include "stream/processor_case.h"

namespace walle::stream::testing {
namespace {

struct Put {
  uint64_t seq = 0;
  std::string name;
  int64_t ts = 0;
};

class LocateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    env.set_wall_us(kStart);
    p = open_processor(env);
  }
  void add(std::string_view name, int64_t ts) {
    const auto e = put(*p, name, ts);
    ASSERT_TRUE(e.ok());
    all.push_back({e->seq, std::string(name), ts});
  }
  TaskFiring take(std::string_view name) {
    TaskFiring f;
    EXPECT_TRUE(p->take(name, f));
    const Status s = p->locate(f);
    EXPECT_TRUE(s.ok()) << s.error().message();
    return f;
  }

  base::FaultEnv env;
  std::unique_ptr<Processor> p;
  std::vector<Put> all;
};

// `a ~> b every`: the newest a before the b, however many events share a microsecond.
TEST_F(LocateTest, EventsOfOneMicrosecondAreToldApart) {
  install(*p, task("pairs", {"a ~> b every"}));
  std::mt19937 random(7);
  int64_t ts = kStart;
  for (int i = 0; i < 600; ++i) {
    ts += random() % 3 == 0 ? static_cast<int64_t>(random() % 90) : 0;
    add(random() % 2 ? "a" : "b", ts);
  }
  size_t fired = 0;
  for (size_t i = 0, newest = SIZE_MAX; i < all.size(); ++i) {
    if (all[i].name == "a") newest = i;
    if (all[i].name != "b" || newest == SIZE_MAX) continue;
    const TaskFiring f = take("pairs");
    EXPECT_EQ(f.start_seq, all[newest].seq);
    EXPECT_EQ(f.last_seq, all[i].seq);
    p->settle("pairs", f.number);
    ++fired;
  }
  EXPECT_GT(fired, 100u);
}

TEST_F(LocateTest, AMicrosecondRunsOverBehindItsPlaces) {
  install(*p, task("pairs", {"a ~> b"}));
  for (int i = 0; i < 1500; ++i) add("c", kStart);
  add("a", kStart);
  for (int i = 0; i < 1500; ++i) add("c", kStart + 1);
  add("b", kStart + 1);
  const TaskFiring f = take("pairs");
  EXPECT_EQ(f.start_seq, 1501u);
  EXPECT_EQ(f.last_seq, all.back().seq);
}

TEST_F(LocateTest, AnAbsenceEndsWithTheEventItWaitedBehind) {
  install(*p, task("carts", {"a ~ b !~ c for 10s scope by(who)"}));
  ASSERT_TRUE(put(*p, "a", kStart, "ann").ok());
  const auto b = put(*p, "b", kStart + kSecondUs, "ann");
  ASSERT_TRUE(b.ok());
  // An hour later, in another session.
  const auto other = put(*p, "b", kStart + kHourUs, "bob");
  ASSERT_TRUE(other.ok());
  const TaskFiring f = take("carts");
  EXPECT_EQ(f.start_seq, 1u);
  EXPECT_EQ(f.last_seq, b->seq);
  EXPECT_EQ(f.seq, b->seq);
  EXPECT_EQ(f.session, b->session);
  EXPECT_NE(f.session, other->session);
  EXPECT_EQ(f.scope.count, 1u);
  EXPECT_EQ(p->catalog().field_names()[f.scope.fields[0]], "who");
}

TEST_F(LocateTest, ATimerHasNeither) {
  install(*p, task("often", {"every 1m"}));
  add("a", kStart);
  add("a", kStart + 2 * kMinuteUs);
  const TaskFiring f = take("often");
  EXPECT_EQ(f.start_seq, 0u);
  EXPECT_EQ(f.last_seq, 0u);
}

// Of the events of one microsecond the erased one may have been the first.
TEST_F(LocateTest, AnErasedEventIsNoOther) {
  install(*p, task("pairs", {"a ~> b"}));
  add("b", kStart - 1);
  add("c", kStart);
  add("a", kStart);
  add("b", kStart);
  const auto rule = erase_rule(p->catalog(), "c", std::nullopt, std::nullopt);
  ASSERT_TRUE(rule.ok());
  ASSERT_TRUE(p->log().erase(*rule).ok());
  const TaskFiring f = take("pairs");
  EXPECT_EQ(f.start_seq, 0u);
  EXPECT_EQ(f.last_seq, all.back().seq);
}

TEST_F(LocateTest, APlaceOutlivesTheProcess) {
  install(*p, task("carts", {"a ~ b !~ c for 10s scope by(who)"}));
  add("c", kStart);
  add("a", kStart);
  add("b", kStart);
  ASSERT_TRUE(p->advance(kStart + kMinuteUs).ok());
  ASSERT_TRUE(p->checkpoint().ok());
  kill(env, p);
  p = open_processor(env);
  const TaskFiring f = take("carts");
  EXPECT_EQ(f.start_seq, 2u);
  EXPECT_EQ(f.last_seq, 3u);
  EXPECT_EQ(f.scope.count, 1u);
}

}  // namespace
}  // namespace walle::stream::testing
