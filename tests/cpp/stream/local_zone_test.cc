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

TEST_F(LocalZoneTest, OffsetsThatAreNoneAreRefused) {
  EXPECT_FALSE(p->set_local(LocalTime(27 * kHourUs)).ok());
  EXPECT_FALSE(p->set_local(LocalTime(0, {{2, 0}, {1, 0}})).ok());
  EXPECT_FALSE(p->set_local(LocalTime(0, std::vector<UtcOffset>(kMaxOffsetChanges + 1))).ok());
}

}  // namespace
}  // namespace walle::stream::testing
