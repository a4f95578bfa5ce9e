#include "link/policy/plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "link/policy/plan_case.h"

namespace walle::link {
namespace {

PlanData good_plan() {
  PlanRelease gray = release_of_task("rank", "rank-2", "2.0.0");
  gray.ramp =
      PlanRamp{.from = 1, .to = kWhole, .start_s = 5, .seconds = 60, .control = 9, .report_seconds = 30};
  gray.segments = {only(HeaderField::os, {{1, 2}, {4, 4}})};
  gray.segments[0].conditions.push_back({.field = kBucketField, .salt = 99, .spans = {{0, 1000}}});
  return {.epoch = uint64_t{1} << 40,
          .releases = {gray, release_of_task("rank", "rank-1")},
          .kills = {{"shop", "old"}},
          .taken_back = {{"rank-0", "shop", "rank", "3.0.0", TakenWhy::guard}}};
}

TEST(Plan, OtherParametersAreOtherContent) {
  PlanData data{.epoch = 1, .releases = {release_of_task("rank", "rank-1")}};
  const auto digest = [&] {
    const Plan plan = *Plan::read(*write_plan(data));
    EXPECT_EQ(plan.releases()[0].params, data.releases[0].params);
    return decide_digest(plan, {.bucket = 1}, 100);
  };
  const uint32_t none = digest();
  data.releases[0].params = std::string("a\0b", 3);
  const uint32_t some = digest();
  EXPECT_NE(some, none);
  data.releases[0].params = std::string("a\0c", 3);
  EXPECT_NE(digest(), some);
  data.releases[0].params.clear();
  data.releases[0].id = "rank-9";
  EXPECT_EQ(digest(), none);
}

TEST(Plan, ComesBackAsItWasWritten) {
  const PlanData data = good_plan();
  const auto bytes = write_plan(data);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, *write_plan(data));
  const auto plan = Plan::read(*bytes);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->epoch(), data.epoch);
  ASSERT_EQ(plan->releases().size(), 2u);
  const PlanRelease& r = plan->releases()[0];
  EXPECT_EQ(r.path, "shop/rank/rank-2.0.0.walp");
  EXPECT_EQ(r.sha256, data.releases[0].sha256);
  EXPECT_EQ(r.ramp->report_seconds, 30u);
  ASSERT_EQ(r.segments[0].conditions.size(), 2u);
  EXPECT_EQ(r.segments[0].conditions[0].spans[1].low, 4u);
  EXPECT_EQ(r.segments[0].conditions[1].salt, 99u);
  EXPECT_FALSE(plan->releases()[1].ramp);
  EXPECT_TRUE(plan->killed("shop", "old"));
  EXPECT_EQ(plan->taken_back(), data.taken_back);
  // Moved plans answer as before: the table points into nothing that moved.
  const Plan moved = std::move(*Plan::read(*bytes));
  EXPECT_EQ(decide(moved, {.bucket = 1}, 100).choices.size(), 1u);
}

TEST(Plan, RefusesWhatMeansNothing) {
  struct Case {
    const char* what;
    std::function<void(PlanData&)> spoil;
  };
  const std::vector<Case> cases = {
      {"release ''", [](PlanData& d) { d.releases[0].id = ""; }},
      {"scenario '../x'", [](PlanData& d) { d.releases[0].scenario = "../x"; }},
      {"task 'ra nk'", [](PlanData& d) { d.releases[0].task = "ra nk"; }},
      {"version '.1'", [](PlanData& d) { d.releases[0].version = ".1"; }},
      {"path 'shop/rank/other-2.0.0.walp'",
       [](PlanData& d) { d.releases[0].path = "shop/rank/other-2.0.0.walp"; }},
      {"a digest of 31 bytes", [](PlanData& d) { d.releases[0].sha256.pop_back(); }},
      {"98305 bytes of parameters", [](PlanData& d) { d.releases[0].params.assign(98'305, 'x'); }},
      {"release 'rank-1' twice", [](PlanData& d) { d.releases[0].id = "rank-1"; }},
      {"the ramp", [](PlanData& d) { d.releases[0].ramp->from = kWhole + 1; }},
      {"the ramp", [](PlanData& d) { d.releases[0].ramp->to = 0; }},
      {"the ramp", [](PlanData& d) { d.releases[0].ramp->control = kWhole + 1; }},
      {"the ramp", [](PlanData& d) { d.releases[0].ramp->report_seconds = 0; }},
      {"a second gray release 'rank-1'", [](PlanData& d) { d.releases[1].ramp = PlanRamp{}; }},
      {"in two places",
       [](PlanData& d) { d.releases.insert(d.releases.begin() + 1, release_of_task("sort", "sort-1")); }},
      {"a condition of release 'rank-2' on field 8",
       [](PlanData& d) { d.releases[0].segments[0].conditions[0].field = 8; }},
      {"span 5..4", [](PlanData& d) { d.releases[0].segments[0].conditions[0].spans = {{5, 4}}; }},
      {"span 0..256", [](PlanData& d) { d.releases[0].segments[0].conditions[0].spans = {{0, 256}}; }},
      {"span 2..4", [](PlanData& d) { d.releases[0].segments[0].conditions[0].spans = {{1, 2}, {2, 4}}; }},
      {"two conditions on field 2",
       [](PlanData& d) {
         auto& conditions = d.releases[0].segments[0].conditions;
         conditions.push_back(conditions[0]);
       }},
      {"conditions in a segment",
       [](PlanData& d) {
         for (uint64_t salt = 0; salt < kMostConditions; ++salt)
           d.releases[0].segments[0].conditions.push_back({.field = kBucketField, .salt = salt});
       }},
      {"scenario ''", [](PlanData& d) { d.kills[0].scenario = ""; }},
      {"release ''", [](PlanData& d) { d.taken_back[0].release = ""; }},
      {"scenario ''", [](PlanData& d) { d.taken_back[0].scenario = ""; }},
      {"task ''", [](PlanData& d) { d.taken_back[0].task = ""; }},
      {"version ''", [](PlanData& d) { d.taken_back[0].version = ""; }},
      {"why 3", [](PlanData& d) { d.taken_back[0].why = TakenWhy::killed; }},
      {"2049 taken back", [](PlanData& d) { d.taken_back.assign(kMostTakenBack + 1, d.taken_back[0]); }},
      {"2049 releases",
       [](PlanData& d) {
         while (d.releases.size() < kMostReleases + 1) d.releases.push_back(d.releases[1]);
       }},
      {"segments", [](PlanData& d) { d.releases[1].segments.assign(kMostSegments, PlanSegment{}); }},
  };
  for (const Case& c : cases) {
    PlanData data = good_plan();
    c.spoil(data);
    const auto bytes = write_plan(data);
    ASSERT_FALSE(bytes.ok()) << c.what;
    EXPECT_NE(bytes.error().message().find(c.what), std::string::npos) << bytes.error().message();
  }
}

TEST(Plan, TellsApartNoMoreThanFits) {
  PlanData data;
  std::vector<PlanSpan> spans;
  for (uint32_t i = 0; i < 20'000; ++i) spans.push_back({.low = i * 4, .high = i * 4 + 1});
  data.releases = {release_of_task("rank", "rank-1")};
  data.releases[0].segments.assign(2000, only(HeaderField::device, {{1, 1}}));
  data.releases[0].segments[0] = only(HeaderField::device, spans);
  const auto bytes = write_plan(data);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message().find("2000 segments that tell apart"), std::string::npos)
      << bytes.error().message();
}

TEST(Plan, EveryFlippedByteIsAPlanOrAnError) {
  const std::string bytes = *write_plan(good_plan());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto plan = Plan::read(damaged);
      if (plan.ok()) (void)decide(*plan, DeviceHeader{}, 10);
    }
  for (size_t size = 0; size < bytes.size(); ++size) (void)Plan::read(bytes.substr(0, size)).ok();
  EXPECT_FALSE(Plan::read("").ok());
  EXPECT_FALSE(Plan::read(std::string(kMostPlanBytes + 1, '\0')).ok());
}

}  // namespace
}  // namespace walle::link
