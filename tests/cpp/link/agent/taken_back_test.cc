// Why an older version runs, or none: what a device knows of what was taken back, and for how long.
#include "agent_case.h"

namespace walle::link {
namespace {

using enum TakenWhy;

// How the newer version came to the device before it was taken back.
enum class Had : uint8_t { gray, full, by_another_release, never };

struct Case {
  TakenWhy why;
  Had had;
};

class WhyTakenBack : public AgentCase, public testing::WithParamInterface<Case> {
 protected:
  std::string said() const {
    std::string out;
    for (const TakenBack& taken : agent->memory().taken_back)
      out += taken.task + " " + taken.version + " " + taken.release + " " +
             std::string(kTakenWhyNames[static_cast<size_t>(taken.why)]) + ";";
    return out;
  }
  void run(PlanRelease release, Had had) {
    if (had == Had::never) return direct({release});
    if (had == Had::gray) release.ramp = PlanRamp{.from = kWhole, .to = kWhole};
    if (had == Had::by_another_release) release.id = "another";
    direct({release, good});
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.1.0");
  }
  // Rolled back, the older content has a release of its own.
  void take_back(TakenWhy why) {
    PlanRelease left = good;
    plan.taken_back.clear();
    if (why == killed) return direct({bad, good}, {{.scenario = "shop", .task = "rank"}});
    if (why == rolled_back) left.id = "r9";
    if (why != refused) plan.taken_back = {{bad.id, "shop", "rank", "1.1.0", why}};
    direct({why == refused ? bad : left});
  }

  PlanRelease good, bad;
};

TEST_P(WhyTakenBack, IsKnownToThoseThatHadItUntilThePlanForgets) {
  const auto [why, had] = GetParam();
  good = publish("1.0.0");
  bad = publish("1.1.0");
  direct({good});
  expect_settled();
  if (why == refused) host->bad["1.1.0"] = {"main", "KeyError", "", "oh"};
  if (why != refused) run(bad, had);
  take_back(why);
  expect_settled();
  // One that never had it has nothing to say of it; a kill takes what there is.
  const std::string version = had == Had::never && why == killed ? "1.0.0 r1" : "1.1.0 ";
  const std::string release = had == Had::by_another_release && why == killed ? "another" : bad.id;
  const bool knows = had != Had::never || why == killed || why == refused;
  const std::string expected = !knows
                                   ? std::string()
                                   : "rank " + version + (version.ends_with(' ') ? release : std::string()) +
                                         " " + std::string(kTakenWhyNames[static_cast<size_t>(why)]) + ";";
  EXPECT_EQ(said(), expected);
  EXPECT_EQ(host->version("rank"), why == killed ? "" : "1.0.0");
  restart();
  EXPECT_EQ(said(), expected) << "it is on the disk";
  expect_settled();
  EXPECT_EQ(said(), expected) << "as long as the plan says so";
  plan.taken_back.clear();
  direct({good});
  expect_settled();
  EXPECT_EQ(said(), "");
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const TakenWhy why : {halted, guard, rolled_back, killed})
    for (const Had had : {Had::gray, Had::full, Had::by_another_release, Had::never})
      out.push_back({why, had});
  out.push_back({refused, Had::never});
  return out;
}

INSTANTIATE_TEST_SUITE_P(, WhyTakenBack, testing::ValuesIn(all_cases()));

using Agents = AgentCase;

TEST_F(Agents, WhatRunsOnUnderAnotherReleaseWasNotTakenBack) {
  PlanRelease release = publish("1.0.0");
  direct({release});
  expect_settled();
  plan.taken_back = {{release.id, "shop", "rank", "1.0.0", halted}};
  release.id = "again";
  direct({release});
  expect_settled();
  EXPECT_TRUE(agent->memory().taken_back.empty());
}

DeviceHeader told_last(const FakeServer& server) {
  return *decode_text(server.profiles.back().at(std::string(kHeaderName)));
}

TEST_F(Agents, EachPullTellsWhatWasCarriedOutSignedWithIt) {
  direct({publish("1.0.0")});
  restart();
  AgentOptions signing = options();
  std::string method, path, said;
  signing.signs = [&](const std::string& how, const std::string& where, std::string_view what) {
    method = how;
    path = where;
    said = what;
    return std::vector<HttpHeader>{{"Authorization", "it is me"}};
  };
  agent = std::move(*Agent::open(*env, *routes, *host, signing));
  expect_settled();
  ASSERT_EQ(server.profiles.size(), 1u);
  EXPECT_EQ(server.profiles[0].at("Authorization"), "it is me");
  EXPECT_EQ(method + " " + path, "GET /v1/device");
  EXPECT_EQ(said, server.profiles[0].at("X-Walle")) << "nobody on the way may tell another one";
  EXPECT_EQ(told_last(server).active, agent->header().active);
  EXPECT_EQ(told_last(server).flags, 0);
  EXPECT_TRUE(server.posted.empty()) << "it only pulls";
}

TEST_F(Agents, WhatDoesNotRunHereIsNotToldAsWhole) {
  const PlanRelease good = publish("1.0.0"), bad = publish("1.1.0");
  direct({good});
  expect_settled();
  EXPECT_EQ(told_last(server).flags, 0);
  direct({bad, good});
  host->bad["1.1.0"] = {"main", "KeyError", "", "oh"};
  expect_settled();
  EXPECT_EQ(told_last(server).flags, kPartly) << "turned down";
  direct({good});
  expect_settled();
  EXPECT_EQ(told_last(server).flags, 0);
  host->bad.clear();
  direct({publish("1.2.0"), good});
  expect_settled();
  EXPECT_EQ(told_last(server).flags, 0);
  host->fare["1.2.0"].stopped = true;
  agent->tend();
  EXPECT_EQ(agent->header().flags, kPartly) << "it gave way, and the plan still wants it";
  EXPECT_NE(agent->header().active, 0u);
  expect_settled();
  EXPECT_EQ(told_last(server).flags, kPartly);
}

TEST_F(Agents, AServerThatKnowsTheDeviceNoMoreIsATroubleAndNoFailedPull) {
  direct({publish("1.0.0")});
  server.device_status = 401;
  expect_settled();
  agent->tend();
  EXPECT_NE(agent->trouble().find("a server that does not know this device"), std::string::npos);
  agent->tend();
  EXPECT_NE(agent->trouble(), "") << "until it is known again";
  server.device_status = 204;
  expect_settled();
  agent->tend();
  EXPECT_EQ(agent->trouble(), "");
  server.device_status = 404;  // a server of another make
  expect_settled();
  agent->tend();
  EXPECT_EQ(agent->trouble(), "");
}

}  // namespace
}  // namespace walle::link
