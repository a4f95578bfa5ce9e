// Local time of a processor: taken over while it runs, and the same in every replay.
#include <cstdlib>

#include "stream/match/local_time.h"
#include "stream/processor_case.h"

namespace walle::stream::testing {
namespace {

constexpr int64_t kMidnight = 1'700'006'400'000'000;  // 2023-11-15 00:00 UTC

// TZ for as long as it lives.
class Zone {
 public:
  explicit Zone(const char* name) { setenv("TZ", name, 1); }
  ~Zone() {
    unsetenv("TZ");
    (void)LocalTime::host();
  }
};

TEST(HostZone, HasItsOffsetsAndWhenTheyChange) {
  const Zone berlin("CET-1CEST,M3.5.0,M10.5.0/3");
  const LocalTime local = LocalTime::host();
  EXPECT_TRUE(local.valid());
  EXPECT_EQ(local.of(kMidnight), kMidnight + kHourUs);
  const int64_t forward = 1'711'846'800'000'000;  // 2024-03-31 01:00 UTC
  EXPECT_EQ(local.of(forward - 1), forward - 1 + kHourUs);
  EXPECT_EQ(local.of(forward), forward + 2 * kHourUs);
}

TEST(HostZone, OfNoChangesIsOneOffset) {
  const Zone india("IST-5:30");
  EXPECT_EQ(LocalTime::host(), LocalTime(5 * kHourUs + 30 * kMinuteUs));
}

class LocalZoneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    env.set_wall_us(kMidnight);
    p = open_processor(env);
    install(*p, task("night", {"daily 03:00"}));
    ASSERT_TRUE(put(*p, "a", kMidnight).ok());
  }
  std::vector<int64_t> fired() {
    std::vector<int64_t> out;
    for (TaskFiring f; p->take("night", f);) out.push_back(f.ts - kMidnight);
    return out;
  }

  base::FaultEnv env;
  std::unique_ptr<Processor> p;
};

TEST_F(LocalZoneTest, AChangeTakesEffectAtOnce) {
  ASSERT_TRUE(p->set_local(LocalTime(2 * kHourUs)).ok());
  EXPECT_EQ(p->next_deadline(), kMidnight + kHourUs + 1) << "03:00 at UTC+2";
  ASSERT_TRUE(p->advance(kMidnight + 2 * kHourUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{kHourUs});
  ASSERT_TRUE(p->set_local(LocalTime(-kHourUs)).ok());
  EXPECT_EQ(p->next_deadline(), kMidnight + 4 * kHourUs + 1);
}

// Killed behind the change: what was fired before it and after it comes again as it was.
TEST_F(LocalZoneTest, AReplayGoesByTheTimesThatWere) {
  ASSERT_TRUE(p->advance(kMidnight + 4 * kHourUs).ok());
  ASSERT_TRUE(p->set_local(LocalTime(-6 * kHourUs)).ok());
  ASSERT_TRUE(p->advance(kMidnight + 10 * kHourUs).ok());
  const std::vector<int64_t> expected{3 * kHourUs, 9 * kHourUs};
  kill(env, p);
  ProcessorOptions options = small_processor();
  options.matcher.local = LocalTime(5 * kHourUs);
  p = open_processor(env, options);
  EXPECT_EQ(fired(), expected);
  EXPECT_EQ(p->next_deadline(), kMidnight + 22 * kHourUs + 1) << "03:00 at UTC+5";
}

TEST_F(LocalZoneTest, OnADiskThatIsFullItStays) {
  env.fail_at(0);
  EXPECT_FALSE(p->set_local(LocalTime(kHourUs)).ok());
  env.fail_at(-1);
  EXPECT_EQ(p->next_deadline(), kMidnight + 3 * kHourUs + 1);
}

TaskTriggers in_zone(TaskTriggers task, LocalTime local) {
  task.local = std::make_shared<const LocalTime>(std::move(local));
  return task;
}

// A task's own: the device's passes it by, behind a restart too.
TEST_F(LocalZoneTest, ATaskHasOneOfItsOwn) {
  const TaskTriggers east = in_zone(task("night", {"daily 03:00"}), LocalTime(9 * kHourUs));
  install(*p, east);
  install(*p, task("other", {"daily 03:00"}));
  ASSERT_TRUE(p->advance(kMidnight + 4 * kHourUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{}) << "03:00 at UTC+9 is 18:00";
  ASSERT_TRUE(p->set_local(LocalTime(-2 * kHourUs)).ok());
  kill(env, p);
  ProcessorOptions options = small_processor();
  options.matcher.local = LocalTime(-2 * kHourUs);
  p = open_processor(env, options);
  EXPECT_TRUE(same_local(p->stats("night")->local, east.local));
  EXPECT_EQ(p->stats("other")->local, nullptr);
  ASSERT_TRUE(p->advance(kMidnight + 20 * kHourUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{18 * kHourUs});
  std::vector<int64_t> others;
  for (TaskFiring f; p->take("other", f);) others.push_back(f.ts - kMidnight);
  EXPECT_EQ(others, (std::vector<int64_t>{3 * kHourUs, 5 * kHourUs}));
}

// The same text under another local time is another trigger; under the same one it goes on.
TEST_F(LocalZoneTest, AnotherOneOfATaskTakesEffectWithItsInstallation) {
  const auto hourly = [](int64_t hours) {
    return in_zone(task("night", {"a cooldown 1d during 02:00-04:00"}), LocalTime(hours * kHourUs));
  };
  install(*p, hourly(3));
  ASSERT_TRUE(put(*p, "a", kMidnight + kMinuteUs).ok());
  install(*p, hourly(3));
  ASSERT_TRUE(put(*p, "a", kMidnight + 2 * kMinuteUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{kMinuteUs}) << "the cooldown goes on";
  install(*p, hourly(-3));
  ASSERT_TRUE(put(*p, "a", kMidnight + 3 * kMinuteUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{}) << "21:03 there";
  ASSERT_TRUE(put(*p, "a", kMidnight + 6 * kHourUs).ok());
  EXPECT_EQ(fired(), std::vector<int64_t>{6 * kHourUs});
}

// What the past gives a task is by its local time as well.
TEST_F(LocalZoneTest, ThePastIsMatchedByATasksOwn) {
  for (int64_t hour = 1; hour < 24; ++hour) ASSERT_TRUE(put(*p, "a", kMidnight + hour * kHourUs).ok());
  TaskTriggers late = in_zone(task("night", {"a during 02:30-04:30"}), LocalTime(-6 * kHourUs));
  late.past = Past::delivered;
  EXPECT_EQ(fired(), std::vector<int64_t>{3 * kHourUs}) << "of the trigger that goes";
  install(*p, late);
  EXPECT_EQ(fired(), (std::vector<int64_t>{9 * kHourUs, 10 * kHourUs}));
}

// An installation that fails leaves the local time that was.
TEST_F(LocalZoneTest, AFailedInstallationLeavesATasksOwn) {
  install(*p, in_zone(task("night", {"daily 03:00"}), LocalTime(9 * kHourUs)));
  env.fail_at(0);
  EXPECT_FALSE(p->install(task("night", {"daily 03:00"})).ok());
  env.fail_at(-1);
  EXPECT_EQ(p->next_deadline(), kMidnight + 18 * kHourUs + 1);
  EXPECT_EQ(p->stats("night")->local->first(), 9 * kHourUs);
}

TEST_F(LocalZoneTest, OffsetsThatAreNoneAreRefused) {
  EXPECT_FALSE(p->install(in_zone(task("night", {"daily 03:00"}), LocalTime(27 * kHourUs))).ok());
  EXPECT_FALSE(p->set_local(LocalTime(27 * kHourUs)).ok());
  EXPECT_FALSE(p->set_local(LocalTime(0, {{2, 0}, {1, 0}})).ok());
  EXPECT_FALSE(p->set_local(LocalTime(0, std::vector<UtcOffset>(kMaxOffsetChanges + 1))).ok());
}

}  // namespace
}  // namespace walle::stream::testing
