#include "link/agent/agent.h"

#include "agent_case.h"

namespace walle::link {
namespace {

using Agents = AgentCase;
using What = TaskStep::What;

PlanRelease gray(PlanRelease release, uint64_t treated = kWhole, uint64_t control = 0) {
  release.ramp = PlanRamp{.from = treated, .to = treated, .control = control};
  return release;
}

TEST_F(Agents, BringsAVersionFromThePlanToTheDevice) {
  direct({publish("1.0.0", {{"model.walle", std::string(5000, 'm')}})});
  const Pull pull = pulled();
  ASSERT_EQ(pull.steps.size(), 1u);
  EXPECT_EQ(pull.steps[0].what, What::activated) << pull.steps[0].error;
  EXPECT_TRUE(pull.settled);
  EXPECT_GT(pull.fetched, 5000u);
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_EQ(host->probations, std::vector<std::string>{"1.0.0"}) << "before it was put in";
  EXPECT_EQ(agent->header().epoch, 1u);
  EXPECT_NE(agent->header().active, 0u);
}

TEST_F(Agents, NothingIsFetchedTwice) {
  const std::string model(5000, 'm');
  const PlanRelease first = publish("1.0.0", {{"model.walle", model}});
  direct({first});
  pulled();
  const Pull again = pulled();
  EXPECT_EQ(again.steps[0].what, What::kept);
  EXPECT_EQ(again.fetched, 0u);
  server.asked.clear();
  direct({publish("1.1.0", {{"model.walle", model}})});
  EXPECT_LT(pulled().fetched, 200u) << "the model is there";
  EXPECT_EQ(std::ranges::count(server.asked, blob_url(model)), 0);
  EXPECT_EQ(host->version("rank"), "1.1.0");
}

TEST_F(Agents, AnEmptyRepositoryIsAnErrorAndNothingChanges) {
  restart();
  host->put_by_hand("rank", "0.1.0");
  const auto pull = agent->pull();
  ASSERT_FALSE(pull.ok());
  EXPECT_NE(pull.error().message().find("plan"), std::string::npos);
  EXPECT_EQ(host->version("rank"), "0.1.0");
}

TEST_F(Agents, ATaskPutInByHandGivesWayAndIsNotTouchedOtherwise) {
  restart();
  host->put_by_hand("rank", "0.1.0");
  host->put_by_hand("mine", "0.1.0");
  direct({publish("1.0.0")});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  direct({});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "") << "it came with a plan";
  EXPECT_EQ(host->version("mine"), "0.1.0");
}

TEST_F(Agents, AKillOrderRemovesTheTaskBeforeAnythingIsFetched) {
  const PlanRelease rank = publish("1.0.0");
  direct({rank});
  pulled();
  const PlanRelease cart = publish("1.0.0", {{"large", std::string(9000, 'l')}}, "cart");
  direct({rank, cart}, {{.scenario = "shop", .task = "rank"}});
  bool was_there = true;
  server.on_get = [&](const std::string& url) {
    if (url.find("/v1/blobs/") != std::string::npos) was_there = host->version("rank") != "";
  };
  const Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::removed);
  EXPECT_FALSE(was_there);
  EXPECT_EQ(host->version("rank"), "");
  EXPECT_EQ(host->version("cart"), "1.0.0");
  // Its files went with it.
  EXPECT_EQ(env->list_files("/cloud/packages")->size(), 1u);
  // And what was killed comes back when the order is lifted.
  direct({rank, cart});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

TEST_F(Agents, OtherParametersOfAReleaseAreTriedAndTakenBackAsAnotherVersionIs) {
  const PlanRelease plain = publish("1.0.0", {{"model.walle", std::string(5000, 'm')}});
  direct({plain});
  pulled();
  const uint32_t before = agent->header().active;
  PlanRelease tuned = plain;
  tuned.id = "r9";
  tuned.params = "eager";
  direct({tuned});
  const Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::activated);
  EXPECT_EQ(pull.fetched, 0u);
  EXPECT_EQ(host->params("rank"), "eager");
  EXPECT_EQ(host->probations.size(), 2u) << "parameters can be wrong as code can";
  EXPECT_NE(agent->header().active, before);
  restart();
  EXPECT_EQ(pulled().steps[0].what, What::kept);
  EXPECT_EQ(host->probations.size(), 2u);

  // It fails: what was there comes back, parameters included, and is not left for this release again.
  HostedTask& fare = host->fare["1.0.0"];
  fare.firings = fare.failures = 5;
  fare.stopped = true;
  fare.trouble = {"main", "KeyError", "", "eager"};
  agent->tend();
  EXPECT_EQ(host->params("rank"), "");
  host->fare.clear();
  pulled();
  EXPECT_EQ(host->params("rank"), "");
  // A release behind it says none, and others say others.
  tuned.id = "r10";
  tuned.params = "calm";
  direct({tuned, plain});
  expect_settled();
  EXPECT_EQ(host->params("rank"), "calm");
  direct({plain});
  expect_settled();
  EXPECT_EQ(host->params("rank"), "");
}

TEST_F(Agents, ParametersThatTheTaskRefusesAreTurnedDown) {
  const PlanRelease plain = publish("1.0.0");
  direct({plain});
  pulled();
  PlanRelease tuned = plain;
  tuned.id = "r9";
  tuned.params = "eager";
  host->install_error = argument_error("'mode' = eager", "calm", "parameters of a task", "say calm");
  direct({tuned});
  EXPECT_EQ(pulled().steps[0].what, What::turned_down);
  EXPECT_EQ(host->params("rank"), "");
  agent->tend();
  ASSERT_EQ(statuses(), std::vector<ReportStatus>{ReportStatus::install_error});
}

TEST_F(Agents, AVersionThatFailsItsProbationIsTurnedDownOnceAndForThisRelease) {
  direct({publish("1.0.0")});
  pulled();
  PlanRelease bad = publish("1.1.0");
  host->bad["1.1.0"] = {"execute", "ValueError", "", "the item 4711 of Ms Doe"};
  direct({bad});
  const Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::turned_down);
  EXPECT_TRUE(pull.settled);
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_EQ(agent->header().active, decide(*Plan::read(*write_plan(plan)), agent->header(), 1).digest)
      << "tried and turned down is carried out";
  restart();
  pulled();
  EXPECT_EQ(std::ranges::count(host->probations, "1.1.0"), 1) << "not tried again";
  agent->tend();
  ASSERT_EQ(reports().size(), 1u);
  const Report report = reports()[0];
  EXPECT_EQ(report.status, ReportStatus::phase_error);
  EXPECT_EQ(report.phase, "execute");
  EXPECT_EQ(report.error_type, "ValueError");
  EXPECT_EQ(report.version, "1.1.0");
  EXPECT_EQ(report.release, bad.id);
  for (const std::string& body : server.posted) EXPECT_EQ(body.find("Doe"), std::string::npos);
  // Another release may name it again.
  bad.id = "r9";
  host->bad.clear();
  direct({bad});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
}

TEST_F(Agents, ALimitIsToldAsALimit) {
  direct({publish("1.0.0")});
  restart();
  host->bad["1.0.0"] = {"execute", "MemoryError", "heap", "32 MiB"};
  pulled();
  agent->tend();
  ASSERT_EQ(statuses(), std::vector<ReportStatus>{ReportStatus::limit});
  EXPECT_EQ(reports()[0].limit, "heap");
  EXPECT_EQ(host->version("rank"), "") << "there was none before";
}

TEST_F(Agents, AVersionThatIsSetAsideGivesWayToTheLastGoodOne) {
  direct({publish("1.0.0")});
  pulled();
  const PlanRelease second = publish("1.1.0");
  direct({second});
  pulled();
  HostedTask& fare = host->fare["1.1.0"];
  fare.firings = 5;
  agent->tend();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  fare.failures = 5;
  fare.stopped = true;
  fare.trouble = {"postprocess", "KeyError", "", "secret"};
  server.asked.clear();
  agent->tend();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_TRUE(server.asked.empty()) << "it lies on the disk";
  agent->tend();
  agent->tend();
  const std::vector<ReportStatus> told = statuses();
  EXPECT_EQ(std::ranges::count(told, ReportStatus::rolled_back), 1) << "once";
  const Report last = reports().back();
  EXPECT_EQ(last.status, ReportStatus::rolled_back);
  EXPECT_EQ(last.version, "1.1.0");
  EXPECT_EQ(last.error_type, "KeyError");
  EXPECT_EQ(last.failures, 5u);
  // The plan still wants it, and does not get it a second time.
  restart();
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

// Whether the device had the older one before or not.
class AfterAHalt : public Agents, public testing::WithParamInterface<bool> {};

TEST_P(AfterAHalt, AVersionDoesNotComeBackByItself) {
  const PlanRelease good = publish("1.0.0"), bad = publish("1.1.0");
  if (GetParam()) {
    direct({good});
    pulled();
  }
  direct({gray(bad), good});
  pulled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  direct({good});
  pulled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  host->fare["1.0.0"].stopped = true;
  host->fare["1.0.0"].trouble = {"main", "KeyError", "", ""};
  agent->tend();
  EXPECT_EQ(host->version("rank"), "");
  restart();
  expect_settled();
  EXPECT_EQ(host->version("rank"), "");
}

INSTANTIATE_TEST_SUITE_P(, AfterAHalt, testing::Bool());

TEST_F(Agents, AProcessThatDiesInItThreeTimesIsACrashLoop) {
  direct({publish("1.0.0")});
  pulled();
  direct({publish("1.1.0")});
  pulled();
  host->fare["1.1.0"].deaths = kMostDeaths - 1;
  agent->tend();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  host->fare["1.1.0"].deaths = kMostDeaths;
  agent->tend();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_EQ(reports().back().error_type, "ProcessDied");
}

TEST_F(Agents, ProcessesThatEndBeforeItHasFiredAreACrashLoop) {
  direct({publish("1.0.0")});
  pulled();
  host->fare["1.0.0"].firings = 1;
  agent->tend();
  direct({publish("1.1.0")});
  pulled();
  for (uint32_t death = 1; death < kMostDeaths; ++death) {
    restart();
    agent->tend();
    EXPECT_EQ(host->version("rank"), "1.1.0") << death;
  }
  restart();
  agent->tend();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_EQ(reports().back().error_type, "ProcessDied");
  EXPECT_EQ(reports().back().status, ReportStatus::rolled_back);
}

TEST_F(Agents, ProcessesThatEndInOrderOrBehindAFiringAreNone) {
  direct({publish("1.0.0")});
  pulled();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(agent->close().ok());
    restart();
    agent->tend();
  }
  EXPECT_EQ(host->version("rank"), "1.0.0");
  host->fare["1.0.0"].firings = 1;
  agent->tend();
  for (int i = 0; i < 10; ++i) {
    restart();
    agent->tend();
  }
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

TEST_F(Agents, AProbationThatKillsTheProcessIsTriedThreeTimes) {
  direct({publish("1.0.0")});
  pulled();
  direct({publish("1.1.0")});
  for (uint32_t death = 0; death < kMostDeaths; ++death) {
    // The disk as it is in the middle of the probation.
    std::unique_ptr<base::FaultEnv> left;
    host->on_probation = [&] { left = env->copy(); };
    pulled();
    ASSERT_TRUE(left);
    agent.reset();
    env = std::move(left);
    restart();
    EXPECT_EQ(host->version("rank"), "1.0.0");
  }
  EXPECT_EQ(pulled().steps[0].what, What::turned_down);
  EXPECT_EQ(std::ranges::count(host->probations, "1.1.0"), kMostDeaths);
  agent->tend();
  EXPECT_EQ(reports().back().error_type, "ProcessDied");
  EXPECT_EQ(reports().back().phase, "probation");
}

TEST_F(Agents, WithoutALastGoodVersionTheTaskGoes) {
  direct({publish("1.0.0")});
  pulled();
  host->fare["1.0.0"].stopped = true;
  agent->tend();
  EXPECT_EQ(host->version("rank"), "");
  EXPECT_EQ(reports().back().status, ReportStatus::rolled_back);
}

TEST_F(Agents, APlaceIsClaimedBeforeAnythingChanges) {
  direct({gray(publish("1.0.0"))});
  restart();
  server.post_status = 429;
  Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::waits);
  EXPECT_EQ(pull.wait_s, 7);
  EXPECT_FALSE(pull.settled);
  EXPECT_EQ(host->version("rank"), "");
  EXPECT_EQ(agent->header().active, 0u);
  server.post_status = 200;
  pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::activated);
  ASSERT_EQ(statuses(), std::vector<ReportStatus>{ReportStatus::claim});
  pulled();
  EXPECT_EQ(reports().size(), 1u) << "claimed once";
  env->advance_us(options().report_after_us);
  agent->tend();
  EXPECT_EQ(statuses(), (std::vector{ReportStatus::claim, ReportStatus::ok}));
  EXPECT_LT(reports()[0].seq, reports()[1].seq);
  agent->tend();
  EXPECT_EQ(reports().size(), 2u);
}

TEST_F(Agents, WhereTheBrokerIsComesSigned) {
  repository->roles["director"].targets[kBrokerTarget] = "mqtts://first.example:8883";
  direct({publish("1.0.0")});
  expect_settled();
  const std::string file = std::string("/cloud") + kAgentBroker;
  EXPECT_EQ(env->read_prefix(file, 100).value(), "mqtts://first.example:8883");
  repository->roles["director"].targets[kBrokerTarget] = "mqtts://second.example:9";
  sign();
  expect_settled();
  EXPECT_EQ(env->read_prefix(file, 100).value(), "mqtts://second.example:9");
  repository->roles["director"].targets[kBrokerTarget] = std::string(513, 'x');
  sign();
  expect_settled();
  EXPECT_EQ(env->read_prefix(file, 100).value(), "mqtts://second.example:9") << "no address is so long";
}

TEST_F(Agents, ASignatureThatIsRefusedIsMadeOnceMoreByAnotherClock) {
  direct({gray(publish("1.0.0"))});
  restart();
  int asked = 0;
  AgentOptions told = options();
  told.signs = [&](const std::string&, const std::string&, std::string_view) {
    return std::vector<HttpHeader>{{"Authorization", std::to_string(asked)}};
  };
  told.sets_clock = [&](Transport&) {
    server.post_status = 200;
    return ++asked == 1;
  };
  agent.reset();
  agent = std::move(*Agent::open(*env, *routes, *host, told));
  server.post_status = 401;
  expect_settled();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

TEST_F(Agents, WhatIsWrongLiesInAFile) {
  direct({publish("1.0.0")});
  expect_settled();
  const std::string file = std::string("/cloud") + kAgentTrouble;
  agent->note("no answer", "no room");
  EXPECT_EQ(env->read_prefix(file, 100).value(), "no answer\nno room\n");
  restart();
  agent->note("", "");
  EXPECT_EQ(env->read_prefix(file, 100).value(), "");
}

TEST_F(Agents, APlaceThatIsNeverGivenIsNotAskedForAgain) {
  direct({gray(publish("1.0.0"))});
  server.post_status = 429;
  server.wait_reply = R"({"granted":false,"wait_s":0})";
  const Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::absent);
  EXPECT_TRUE(pull.settled);
  EXPECT_EQ(host->version("rank"), "");
}

TEST(ClaimReply, SaysWhenToAskAgain) {
  EXPECT_EQ(read_wait_s(R"({"wait_s":30})"), 30);
  EXPECT_EQ(read_wait_s(R"({"wait_s":0})"), 0);
  EXPECT_EQ(read_wait_s(R"({"wait_s":-5})"), 0);
  EXPECT_EQ(read_wait_s(R"({"wait_s":1000000000})"), 86'400) << "a day at most";
  for (const char* other : {"", "{}", "[]", R"({"wait_s":1.5})", R"({"wait_s":"5"})"})
    EXPECT_EQ(read_wait_s(other), 10) << other;
}

TEST_F(Agents, TheFirstFiringIsToldAtOnceAndTheFirstFailureToo) {
  direct({publish("1.0.0")});
  pulled();
  EXPECT_TRUE(agent->tend());
  EXPECT_TRUE(reports().empty());
  host->fare["1.0.0"].firings = 3;
  EXPECT_FALSE(agent->tend());
  EXPECT_EQ(statuses(), std::vector<ReportStatus>{ReportStatus::ok});
  EXPECT_EQ(reports()[0].firings, 3u);
  host->fare["1.0.0"].failures = 1;
  host->fare["1.0.0"].trouble = {"main", "Value Error!", "", ""};
  agent->tend();
  agent->tend();
  EXPECT_EQ(statuses(), (std::vector{ReportStatus::ok, ReportStatus::phase_error}));
  EXPECT_EQ(reports()[1].error_type, "Value_Error_") << "letters that a report may carry";
}

TEST_F(Agents, TheControlCohortKeepsWhatItHasAndReports) {
  const PlanRelease base = publish("1.0.0");
  direct({base});
  pulled();
  host->fare["1.0.0"].firings = 1;
  agent->tend();
  const PlanRelease next = publish("1.1.0");
  // Half are treated and half are control: this device is one of them.
  direct({gray(next, kWhole / 2, kWhole / 2), base});
  const Decision decision = decide(*Plan::read(*write_plan(plan)), agent->header(), 1'861'920'001);
  expect_settled();
  env->advance_us(options().report_after_us);
  agent->tend();
  const bool control = decision.choices[0].cohort == Cohort::control;
  EXPECT_EQ(host->version("rank"), control ? "1.0.0" : "1.1.0");
  const Report last = reports().back();
  EXPECT_EQ(last.release, next.id);
  EXPECT_EQ(last.cohort, decision.choices[0].cohort);
  EXPECT_EQ(last.version, control ? "1.0.0" : "1.1.0");
}

// Whatever ends a trial, what fails behind it is told of the release that runs, and as treated.
class BehindATrial : public Agents, public testing::WithParamInterface<std::pair<std::string, bool>> {
 protected:
  // Under an id by which this device is in the control cohort, where half are treated.
  PlanRelease as_control(PlanRelease next, const PlanRelease& base) {
    for (int n = 0; n < 100; ++n) {
      next.id = "half-" + std::to_string(n);
      PlanData half;
      half.epoch = 1;
      half.releases = {gray(next, kWhole / 2, kWhole / 2), base};
      const Decision decision = decide(*Plan::read(*write_plan(half)), agent->header(), 1'861'920'001);
      if (decision.choices[0].cohort == Cohort::control) return next;
    }
    ADD_FAILURE() << "no id brings this device into the control cohort";
    return next;
  }
};

TEST_P(BehindATrial, FailuresAreToldOfTheReleaseThatRuns) {
  const auto& [end, control] = GetParam();
  const PlanRelease base = publish("1.0.0");
  direct({base});
  pulled();
  host->fare["1.0.0"].firings = 1;
  agent->tend();
  PlanRelease next = publish("1.1.0");
  if (control) next = as_control(next, base);
  if (end == "turned down") host->bad["1.1.0"] = {"execute", "KeyError", "", ""};
  direct({control ? gray(next, kWhole / 2, kWhole / 2) : gray(next), base});
  expect_settled();
  EXPECT_EQ(host->version("rank"), control || end == "turned down" ? "1.0.0" : "1.1.0");
  env->advance_us(options().report_after_us);
  agent->tend();
  EXPECT_EQ(reports().back().release, next.id);
  if (end == "gives way") {
    host->fare["1.1.0"].stopped = true;
    host->fare["1.1.0"].trouble = {"execute", "KeyError", "", ""};
    agent->tend();
    EXPECT_EQ(reports().back().status, ReportStatus::rolled_back);
    EXPECT_EQ(reports().back().release, next.id);
  } else if (end == "another one waits") {
    direct({gray(publish("1.2.0")), base});
    server.post_status = 429;
    pulled();
    server.post_status = 200;
  } else {
    direct({base});
    expect_settled();
  }
  if (end != "another one waits") {
    EXPECT_EQ(host->version("rank"), "1.0.0");
  }
  const std::string runs = host->version("rank");
  host->fare[runs].firings = 1;
  host->fare[runs].failures = 1;
  host->fare[runs].trouble = {"execute", "ValueError", "", ""};
  agent->tend();
  const Report last = reports().back();
  EXPECT_EQ(last.error_type, "ValueError");
  EXPECT_EQ(last.version, runs);
  EXPECT_EQ(last.release, runs == "1.0.0" ? base.id : next.id);
  EXPECT_EQ(last.cohort, Cohort::treated);
}

INSTANTIATE_TEST_SUITE_P(, BehindATrial,
                         testing::Values(std::pair("halted", false), std::pair("halted", true),
                                         std::pair("gives way", false), std::pair("turned down", false),
                                         std::pair("another one waits", false),
                                         std::pair("another one waits", true)));

TEST_F(Agents, ReportsWaitForTheServerAndTheirNumberIsBounded) {
  direct({publish("1.0.0")});
  pulled();
  server.post_status = 0;
  host->fare["1.0.0"].firings = 1;
  EXPECT_TRUE(agent->tend());
  EXPECT_NE(agent->trouble(), "");
  EXPECT_EQ(agent->memory().reports.size(), 1u);
  server.post_status = 200;
  EXPECT_TRUE(agent->tend()) << "not at once";
  restart();
  EXPECT_FALSE(agent->tend());
  EXPECT_EQ(reports().size(), 1u);
  EXPECT_TRUE(agent->memory().reports.empty());
}

TEST_F(Agents, ReportsThatTheServerNeverTakesAreDropped) {
  direct({publish("1.0.0")});
  pulled();
  host->fare["1.0.0"].firings = 1;
  server.post_status = 400;
  EXPECT_FALSE(agent->tend());
  EXPECT_EQ(agent->memory().lost_reports, 1u);
}

TEST_F(Agents, AClockThatIsSetBackTakesNobodyOutOfARamp) {
  const PlanRelease base = publish("1.0.0");
  direct({base});
  pulled();
  PlanRelease next = publish("1.1.0");
  next.ramp = PlanRamp{.from = 0, .to = kWhole, .start_s = 1'861'920'000, .seconds = 100};
  direct({next, base});
  env->advance_us(200'000'000);
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  env->set_wall_us(1'861'910'000'000'000);
  restart();
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
}

TEST_F(Agents, AClockAheadOfEverythingBelievesNothing) {
  const PlanRelease base = publish("1.0.0");
  direct({base});
  pulled();
  PlanRelease next = publish("1.1.0");
  direct({next});
  env->set_wall_us(2'000'000'000'000'000);
  EXPECT_FALSE(agent->pull().ok());
  EXPECT_EQ(host->version("rank"), "1.0.0");
  env->set_wall_us(1'861'920'100'000'000);
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
}

TEST_F(Agents, ALostMemoryGoesOnWithWhatIsInstalled) {
  direct({publish("1.0.0")});
  pulled();
  agent.reset();
  for (const char* copy : {"/cloud/agent.wals", "/cloud/agent.wals.mirror"}) env->file(copy)[40] ^= 1;
  restart();
  EXPECT_EQ(agent->memory().tasks.at("rank").active.version, "1.0.0");
  EXPECT_EQ(pulled().steps[0].what, What::kept);
  direct({publish("1.1.0")});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  EXPECT_EQ(agent->memory().tasks.at("rank").last_good.version, "1.0.0");
}

TEST_F(Agents, ADiskThatCannotTakeItLeavesTheOldOneAndGoesOnLater) {
  direct({publish("1.0.0")});
  pulled();
  direct({publish("1.1.0", {{"large", std::string(500'000, 'l')}})});
  env->limit_disk(200'000);
  const Pull pull = pulled();
  EXPECT_EQ(pull.steps[0].what, What::later);
  EXPECT_FALSE(pull.settled);
  EXPECT_EQ(host->version("rank"), "1.0.0");
  env->limit_disk(-1);
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  EXPECT_TRUE(reports().empty()) << "a full disk says nothing about the version";
}

}  // namespace
}  // namespace walle::link
