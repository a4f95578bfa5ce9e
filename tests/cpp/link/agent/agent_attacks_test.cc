// Whoever is not believed: a director that chooses what no scenario lists, packages and files that were
// changed, swapped, cut or never end, plans that go back.
#include "agent_case.h"

namespace walle::link {
namespace {

class Attacks : public AgentCase {
 protected:
  void SetUp() override {
    AgentCase::SetUp();
    if (IsSkipped()) return;
    good = publish("1.0.0", {{"model", std::string(5000, 'm')}});
    direct({good});
    expect_settled();
  }
  // The old version runs on, and nothing else was run or put in.
  void expect_refused(const std::string& version = "1.1.0") {
    if (!agent) restart();
    (void)agent->pull().ok();
    EXPECT_EQ(host->version("rank"), "1.0.0");
    EXPECT_EQ(std::ranges::count(host->probations, version), 0);
  }
  void expect_told(const std::string& error_type) {
    agent->tend();
    ASSERT_FALSE(reports().empty());
    EXPECT_EQ(reports().back().status, ReportStatus::install_error);
    EXPECT_EQ(reports().back().error_type, error_type);
  }
  PlanRelease good;
};

TEST_F(Attacks, AChoiceThatItsScenarioDoesNotListIsRefused) {
  PlanRelease stolen = publish("1.1.0");
  repository->roles["shop"].targets.erase(stolen.path);
  // The director's own role lists it, and the server has every byte of it.
  repository->roles["director"].targets["director/rank-1.1.0.walp"] = "x";
  direct({stolen});
  expect_refused();
  expect_told("NotAuthentic");
}

TEST_F(Attacks, TheWayBackToWhatItVerifiedItselfNeedsNobodysList) {
  direct({publish("1.1.0")});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0");
  repository->roles["shop"].targets.clear();
  sign();
  PlanRelease back = good;
  back.id = "back";
  direct({back});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
  EXPECT_TRUE(reports().empty() || reports().back().error_type != "NotAuthentic");
}

TEST_F(Attacks, APathOfTheDirectorsOwnIsRefused) {
  PlanRelease stolen = publish("1.1.0");
  const std::string manifest = repository->roles["shop"].targets[stolen.path];
  for (const std::string path : {"director/rank-1.1.0.walp", "director/rank/rank-1.1.0.walp"}) {
    repository->roles["shop"].targets.erase(stolen.path);
    repository->roles["director"].targets[path] = manifest;
    PlanRelease choice = stolen;
    choice.id += "x";
    choice.path = path;
    if (path.starts_with("director/rank/")) choice.scenario = "director";
    plan.epoch += 1;
    plan.releases = {choice};
    const Result<std::string> bytes = write_plan(plan);
    if (!bytes.ok()) continue;  // no plan may say so in the first place
    repository->roles["director"].targets[kPlanTarget] = *bytes;
    sign();
    expect_refused();
  }
}

TEST_F(Attacks, AnotherDigestThanTheScenariosIsRefused) {
  PlanRelease choice = publish("1.1.0");
  choice.sha256[0] ^= 1;
  direct({choice});
  expect_refused();
  expect_told("NotAuthentic");
}

TEST_F(Attacks, AnotherScenariosTaskOfTheNameIsRefused) {
  repository->delegate({"targets", "bank", {"bank/*/*"}, true});
  PlanRelease choice = publish("1.1.0");
  const std::string manifest = repository->roles["shop"].targets[choice.path];
  choice.scenario = "bank";
  choice.path = "bank/rank/rank-1.1.0.walp";
  repository->roles["bank"].targets[choice.path] = manifest;
  repository->publish({"bank"});
  direct({choice});
  expect_refused();
}

TEST_F(Attacks, APackageThatSaysAnotherNameIsRefused) {
  PlanRelease choice = publish("1.1.0");
  const PlanRelease other = publish("2.0.0");
  // The scenario's key signed the bytes of 2.0.0 under the path of 1.1.0.
  const std::string manifest = repository->roles["shop"].targets[other.path];
  repository->roles["shop"].targets[choice.path] = manifest;
  choice.sha256 = other.sha256;
  choice.size = other.size;
  direct({choice});
  expect_refused();
  expect_told("WrongPackage");
}

TEST_F(Attacks, APackageForAnotherVmIsTurnedDownBeforeItsFilesAreFetched) {
  direct({publish("1.1.0", {}, "rank", "cpython-3.14.0/walle-1")});
  server.asked.clear();
  expect_refused();
  for (const std::string& url : server.asked) EXPECT_EQ(url.find("/v1/blobs/"), std::string::npos);
  expect_told("WrongPackage");
}

TEST_F(Attacks, AFileThatWasChangedCutSwappedOrIsMissingIsNotRun) {
  const std::string model(6000, 'n');
  direct({publish("1.1.0", {{"model", model}})});
  const std::string url = blob_url(model);
  for (const std::string& other :
       {std::string(6000, 'o'), model.substr(0, 3000), model + "x", std::string(), std::string(5000, 'm')}) {
    server.files[url] = other;
    expect_refused();
    restart();
  }
  server.files.erase(url);
  expect_refused();
  server.endless = url;
  expect_refused();
  server.endless.clear();
  server.files[url] = model;
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.1.0") << "what a server did wrong is not the version's fault";
}

TEST_F(Attacks, AManifestThatWasChangedIsNotUsed) {
  const PlanRelease next = publish("1.1.0");
  direct({next});
  const std::string url = repository->target_url(next.path);
  const std::string whole = server.files[url];
  for (const std::string& other : {whole.substr(1), whole + "x", std::string(whole.size(), 'x')}) {
    server.files[url] = other;
    expect_refused();
  }
  server.endless = url;
  expect_refused();
  server.endless.clear();
  server.files[url] = whole;
  expect_settled();
}

TEST_F(Attacks, APlanIsTakenFromTheDirectorAloneAndWhole) {
  const PlanRelease next = publish("1.1.0");
  direct({next});
  const std::string url = repository->target_url(kPlanTarget);
  const std::string whole = server.files[url];
  for (size_t size = 0; size < whole.size(); size += 7) {
    server.files[url] = whole.substr(0, size);
    expect_refused();
  }
  for (size_t at = 0; at < whole.size(); at += 5) {
    server.files[url] = whole;
    server.files[url][at] ^= 0x20;
    expect_refused();
  }
  server.endless = url;
  expect_refused();
}

TEST_F(Attacks, AnOlderPlanUnderANewerSignatureIsRefused) {
  const std::string old_plan = repository->roles["director"].targets[kPlanTarget];
  direct({good});
  expect_settled();
  repository->roles["director"].targets[kPlanTarget] = old_plan;
  sign();
  const auto pull = agent->pull();
  ASSERT_FALSE(pull.ok());
  EXPECT_NE(pull.error().message().find("epoch 1"), std::string::npos) << pull.error().message();
}

TEST_F(Attacks, OldMetadataIsRefused) {
  const auto before = server.files;
  direct({publish("1.1.0")});
  expect_settled();
  server.files = before;
  EXPECT_FALSE(agent->pull().ok());
  EXPECT_EQ(host->version("rank"), "1.1.0");
}

TEST_F(Attacks, ASignedPlanThatIsNoneChangesNothing) {
  repository->roles["director"].targets[kPlanTarget] = std::string(300, 'p');
  sign();
  EXPECT_FALSE(agent->pull().ok());
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

TEST_F(Attacks, AStolenDirectorChoosesAmongWhatIsListed) {
  direct({publish("1.1.0")});
  expect_settled();
  repository->new_keys("director");
  repository->publish({"targets"});
  // Its new owner goes back to the older version, which the scenario still lists: a release that says so.
  PlanRelease back = good;
  back.id = "back";
  direct({back});
  expect_settled();
  EXPECT_EQ(host->version("rank"), "1.0.0");
}

}  // namespace
}  // namespace walle::link
