#include "link/policy/decide.h"

#include <gtest/gtest.h>

#include <random>

#include "link/policy/plan_case.h"
#include "seed.h"

namespace walle::link {
namespace {

constexpr int64_t kStart = 1'000'000;

PlanRelease gray(const std::string& task, const std::string& id, uint64_t from, uint64_t to, uint32_t seconds,
                 uint64_t control = 0) {
  PlanRelease out = release_of_task(task, id, "2.0.0");
  out.ramp = PlanRamp{.from = from, .to = to, .start_s = kStart, .seconds = seconds, .control = control};
  return out;
}

std::string chosen(const Plan& plan, const DeviceHeader& header, int64_t now = kStart) {
  std::string out;
  for (const Choice& c : decide(plan, header, now).choices) {
    out += out.empty() ? "" : " ";
    out += c.release == kNoRelease ? "-" : plan.releases()[c.release].id;
    if (c.trial != kNoRelease) out += c.cohort == Cohort::control ? "(control)" : "(treated)";
  }
  return out;
}

TEST(Decide, TheFirstReleaseThatSuitsIsATasks) {
  PlanRelease narrow = release_of_task("rank", "rank-2", "2.0.0");
  narrow.segments = {only(HeaderField::os, {{2, 2}}),
                     only(HeaderField::app_version, {{100, 200}, {300, 300}})};
  const Plan plan = plan_of({narrow, release_of_task("rank", "rank-1"), release_of_task("sort", "sort-1")});
  DeviceHeader header;
  EXPECT_EQ(chosen(plan, header), "rank-1 sort-1");
  header.os = Os::android;
  EXPECT_EQ(chosen(plan, header), "rank-2 sort-1");
  header.os = Os::ios;
  for (const auto& [version, suits] : {std::pair{99u, false},
                                       {100u, true},
                                       {200u, true},
                                       {201u, false},
                                       {299u, false},
                                       {300u, true},
                                       {301u, false}}) {
    header.app_version = version;
    EXPECT_EQ(chosen(plan, header), suits ? "rank-2 sort-1" : "rank-1 sort-1") << version;
  }
}

TEST(Decide, AConditionWithoutSpansNeverHoldsAndTheLargestValueCounts) {
  PlanRelease never = release_of_task("a", "a-1");
  never.segments = {only(HeaderField::app, {})};
  PlanRelease top = release_of_task("b", "b-1");
  top.segments = {only(HeaderField::app, {{0xffffffff, 0xffffffff}})};
  const Plan plan = plan_of({never, top});
  EXPECT_EQ(chosen(plan, DeviceHeader{}), "");
  EXPECT_EQ(decide(plan, DeviceHeader{}, 0).digest, 0u);
  EXPECT_EQ(chosen(plan, DeviceHeader{.app = 0xffffffff}), "b-1");
}

TEST(Decide, KilledTasksRunNowhere) {
  const Plan plan =
      plan_of({release_of_task("rank", "rank-1"), release_of_task("sort", "sort-1")}, {{"shop", "rank"}});
  EXPECT_EQ(chosen(plan, DeviceHeader{}), "sort-1");
  EXPECT_TRUE(plan.killed("shop", "rank"));
  EXPECT_FALSE(plan.killed("shop", "sort"));
}

TEST(Decide, RampsBeginAtTheirStartAndEndAtTheirEnd) {
  const PlanRamp ramp{.from = 100, .to = kWhole, .start_s = kStart, .seconds = 1000, .control = kWhole / 10};
  EXPECT_EQ(share_at(ramp, kStart - 1), 0u);
  EXPECT_EQ(share_at(ramp, kStart), 100u);
  EXPECT_EQ(share_at(ramp, kStart + 999), 100 + (kWhole - 100) * 999 / 1000);
  EXPECT_EQ(share_at(ramp, kStart + 1000), kWhole);
  EXPECT_EQ(share_at(ramp, INT64_MAX), kWhole);
  EXPECT_EQ(share_at(ramp, INT64_MIN), 0u);
  EXPECT_EQ(control_at(ramp, kStart), 100u);
  EXPECT_EQ(control_at(ramp, kStart + 500), kWhole / 10);
  EXPECT_EQ(control_at(ramp, kStart + 1000), 0u);
  PlanRamp at_once = ramp;
  at_once.seconds = 0;
  EXPECT_EQ(share_at(at_once, kStart), kWhole);
  PlanRamp ever{.from = 0, .to = kWhole, .start_s = INT64_MIN, .seconds = 0xffffffff};
  EXPECT_EQ(share_at(ever, INT64_MAX), kWhole);
}

TEST(Decide, WhoIsInStaysInAndTheCohortsNeverMix) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const Plan plan = plan_of(
      {gray("rank", "rank-2", kWhole / 100, kWhole, 600, kWhole / 10), release_of_task("rank", "rank-1")});
  int treated = 0;
  int control = 0;
  for (int device = 0; device < 2000; ++device) {
    const DeviceHeader header{.bucket = static_cast<uint32_t>(rng())};
    bool in = false;
    for (int64_t now = kStart; now <= kStart + 600; now += 20) {
      const std::string what = chosen(plan, header, now);
      ASSERT_TRUE(what == "rank-2(treated)" || (!in && (what == "rank-1" || what == "rank-1(control)")))
          << what;
      in = what == "rank-2(treated)";
      if (now == kStart + 300) (what == "rank-1(control)" ? control : treated) += what == "rank-1" ? 0 : 1;
    }
    EXPECT_TRUE(in);
  }
  EXPECT_NEAR(treated, 1010, 150);
  EXPECT_NEAR(control, 200, 80);
}

TEST(Decide, ControlOfATasksFirstReleaseHasNone) {
  const Plan plan = plan_of({gray("rank", "rank-1", kWhole / 2, kWhole / 2, 0, kWhole / 2)});
  int none = 0;
  for (uint32_t b = 0; b < 100; ++b) {
    const std::string what = chosen(plan, DeviceHeader{.bucket = b * 42'949'672}, kStart);
    EXPECT_TRUE(what == "rank-1(treated)" || what == "-(control)") << what;
    none += what == "-(control)";
  }
  EXPECT_GT(none, 20);
}

TEST(Decide, SaltsPlaceDevicesIndependently) {
  int both = 0;
  for (uint32_t b = 0; b < 10'000; ++b)
    both += bucket_value(salt_of("one"), b) < kWhole / 2 && bucket_value(salt_of("two"), b) < kWhole / 2;
  EXPECT_NEAR(both, 2500, 250);
}

TEST(Decide, TheDigestIsOfContentAndOfControl) {
  const auto digest = [](const Plan& plan) { return decide(plan, DeviceHeader{}, kStart).digest; };
  const uint32_t first = digest(plan_of({release_of_task("rank", "rank-1")}));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(first, digest(plan_of({release_of_task("rank", "rank-9")})))
      << "another release of the same content";
  EXPECT_NE(first, digest(plan_of({release_of_task("rank", "rank-1", "2.0.0")})));
  EXPECT_NE(first, digest(plan_of({release_of_task("sort", "rank-1")})));
  // Treated: the content says it. Control: told once, so that it reports.
  const Plan all = plan_of({gray("rank", "rank-2", kWhole, kWhole, 0), release_of_task("rank", "rank-1")});
  EXPECT_EQ(digest(all), digest(plan_of({release_of_task("rank", "rank-3", "2.0.0")})));
  const Plan control = plan_of(
      {gray("rank", "rank-2", kWhole / 2, kWhole / 2, 0, kWhole / 2), release_of_task("rank", "rank-1")});
  for (uint32_t b = 0; b < 50; ++b) {
    const DeviceHeader header{.bucket = b * 80'000'000};
    const Decision decision = decide(control, header, kStart);
    const bool told = decision.choices.front().cohort == Cohort::control;
    EXPECT_EQ(told, chosen(control, header) == "rank-1(control)");
    EXPECT_TRUE(!told || decision.digest != first);
  }
}

TEST(Decide, UpToDateIsTheDigestAlone) {
  const Plan plan = plan_of({release_of_task("rank", "rank-1")});
  DeviceHeader header{.epoch = 3};
  EXPECT_FALSE(up_to_date(plan, header, 0));
  header.active = decide(plan, header, 0).digest;
  EXPECT_EQ(header.active, decide_digest(plan, header, 0));
  EXPECT_TRUE(up_to_date(plan, header, 0));
  header.active ^= 1;
  EXPECT_FALSE(up_to_date(plan, header, 0));
  EXPECT_TRUE(up_to_date(plan_of({}), DeviceHeader{}, 0)) << "nothing to run, nothing carried out";
}

// Many releases, so that words of the bit rows begin and end everywhere.
TEST(Decide, ManyReleasesAreJudgedOneByOne) {
  std::mt19937 rng(test_seed());
  std::vector<PlanRelease> releases;
  for (int t = 0; t < 150; ++t)
    for (int r = 0; r < 2; ++r) {
      releases.push_back(
          release_of_task("t" + std::to_string(t), "t" + std::to_string(t) + "-" + std::to_string(r)));
      for (uint32_t s = rng() % 3; s > 0; --s) {
        const uint32_t low = rng() % 100;
        const uint32_t high = low + static_cast<uint32_t>(rng() % 50);
        releases.back().segments.push_back(
            only(static_cast<HeaderField>(rng() % kHeaderFields), {{low, high}}));
      }
    }
  const Plan plan = plan_of(releases);
  for (int i = 0; i < 300; ++i) {
    const auto v = [&] { return static_cast<uint8_t>(rng() % 150); };
    const DeviceHeader header{.os = static_cast<Os>(rng() % 6),
                              .ram_class = v(),
                              .app = v(),
                              .app_version = v(),
                              .os_version = v(),
                              .op_set = v(),
                              .device = v(),
                              .vm = v()};
    const uint32_t values[] = {header.app,        header.app_version, static_cast<uint32_t>(header.os),
                               header.os_version, header.device,      header.ram_class,
                               header.op_set,     header.vm};
    std::string expected;
    std::string last;
    for (const PlanRelease& r : releases) {
      bool holds = r.segments.empty();
      for (const PlanSegment& s : r.segments) {
        const PlanCondition& c = s.conditions.front();
        holds = holds || (values[c.field] >= c.spans[0].low && values[c.field] <= c.spans[0].high);
      }
      if (!holds || r.task == last) continue;
      last = r.task;
      expected += (expected.empty() ? "" : " ") + r.id;
    }
    EXPECT_EQ(chosen(plan, header), expected);
  }
}

}  // namespace
}  // namespace walle::link
