// kill -9 and power loss at every write of an update, a rollback and a kill order, every failing operation,
// and a full disk at every size: always the old version or the new one, whole, and the next pull gets there.
#include "agent_case.h"

namespace walle::link {
namespace {

class Kills : public AgentCase {
 protected:
  void SetUp() override {
    AgentCase::SetUp();
    if (IsSkipped()) return;
    direct({publish("1.0.0", {{"model", std::string(5000, 'm')}})});
    expect_settled();
  }
  // The disk at every write while `act` runs.
  template <class Act>
  std::vector<std::unique_ptr<base::FaultEnv>> states_of(const Act& act) {
    std::vector<std::unique_ptr<base::FaultEnv>> out;
    restart();
    env->before_writes([&] { out.push_back(env->copy()); });
    act();
    env->before_writes(nullptr);
    agent.reset();
    return out;
  }
  template <class Check>
  void for_each_end(std::vector<std::unique_ptr<base::FaultEnv>> states, const Check& check) {
    ASSERT_GT(states.size(), 5u);
    for (size_t i = 0; i < states.size(); ++i) {
      for (const uint64_t power : {0u, 1u, 2u}) {
        SCOPED_TRACE("write " + std::to_string(i) + " of " + std::to_string(states.size()) +
                     (power ? ", power lost " : ", killed ") + std::to_string(power));
        env = states[i]->copy();
        if (power > 0) env->lose_power(power, power == 1 ? 0.0 : 0.5);
        server.posted.clear();
        restart();
        check();
        agent.reset();
        if (HasFailure()) return;
      }
    }
  }
};

TEST_F(Kills, AnUpdateIsOldOrNewAndGetsThere) {
  direct({publish("1.1.0", {{"model", std::string(7000, 'n')}})});
  for_each_end(states_of([&] { expect_settled(); }), [&] {
    const std::string there = host->version("rank");
    EXPECT_TRUE(there == "1.0.0" || there == "1.1.0") << there;
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.1.0");
    EXPECT_EQ(agent->memory().tasks.at("rank").last_good.version, "1.0.0");
    EXPECT_EQ(agent->memory().tasks.at("rank").stage, Stage::none);
    // And back, from the disk alone.
    host->fare["1.1.0"].stopped = true;
    agent->tend();
    EXPECT_EQ(host->version("rank"), "1.0.0");
  });
}

TEST_F(Kills, ARollbackGetsThereWithoutTheNetworkAndIsToldOnce) {
  direct({publish("1.1.0")});
  expect_settled();
  restart();
  host->fare["1.1.0"].stopped = true;
  agent.reset();
  const auto before = server.files;
  for_each_end(states_of([&] { agent->tend(); }), [&] {
    server.files.clear();
    agent->tend();
    agent->tend();
    EXPECT_EQ(host->version("rank"), "1.0.0");
    server.files = before;
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.0.0") << "the release had its turn";
    EXPECT_LE(std::ranges::count(statuses(), ReportStatus::rolled_back), 1);
  });
}

TEST_F(Kills, AKillOrderIsCarriedOut) {
  direct({}, {{.scenario = "shop", .task = "rank"}});
  for_each_end(states_of([&] { expect_settled(); }), [&] {
    const std::string there = host->version("rank");
    EXPECT_TRUE(there.empty() || there == "1.0.0");
    expect_settled();
    EXPECT_EQ(host->version("rank"), "");
  });
}

TEST_F(Kills, AKillOrderThatIsTakenBackWhereverItWas) {
  const PlanRelease rank = plan.releases[0];
  direct({}, {{.scenario = "shop", .task = "rank"}});
  auto states = states_of([&] { expect_settled(); });
  direct({rank});
  for_each_end(std::move(states), [&] {
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.0.0");
    EXPECT_EQ(agent->memory().tasks.at("rank").stage, Stage::none);
    EXPECT_EQ(agent->memory().tasks.at("rank").active.version, "1.0.0");
  });
}

TEST_F(Kills, AKillOrderThatFailsAndIsTakenBack) {
  const PlanRelease rank = plan.releases[0];
  direct({}, {{.scenario = "shop", .task = "rank"}});
  const std::unique_ptr<base::FaultEnv> before = env->copy();
  const auto files = server.files;
  direct({rank});
  const auto later = server.files;
  for (int64_t at = 1; at < 60; ++at) {
    SCOPED_TRACE("operation " + std::to_string(at));
    server.files = files;
    env = before->copy();
    restart();
    env->fail_at(at);
    (void)agent->pull().ok();
    env->fail_at(-1);
    server.files = later;
    expect_settled();  // the same process
    EXPECT_EQ(host->version("rank"), "1.0.0");
    EXPECT_EQ(agent->memory().tasks.at("rank").stage, Stage::none);
    agent.reset();
    if (HasFailure()) return;
  }
}

TEST_F(Kills, AFirstInstallIsAllOrNothing) {
  direct({publish("1.0.0", {}, "cart"), publish("1.2.0")});
  for_each_end(states_of([&] { expect_settled(); }), [&] {
    expect_settled();
    EXPECT_EQ(host->version("cart"), "1.0.0");
    EXPECT_EQ(host->version("rank"), "1.2.0");
  });
}

TEST_F(Kills, EveryFailingOperationLeavesAVersionAndTheNextPullGetsThere) {
  direct({publish("1.1.0", {{"model", std::string(7000, 'n')}})});
  agent.reset();
  const std::unique_ptr<base::FaultEnv> before = env->copy();
  for (int64_t at = 0; at < 10'000; ++at) {
    SCOPED_TRACE("operation " + std::to_string(at));
    env = before->copy();
    restart();
    const int64_t begun = env->operations();
    env->fail_at(at);
    (void)agent->pull().ok();
    const bool reached = env->operations() - begun > at;
    env->fail_at(-1);
    const std::string there = host->version("rank");
    EXPECT_TRUE(there == "1.0.0" || there == "1.1.0") << there;
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.1.0");
    agent.reset();
    if (HasFailure() || !reached) break;
  }
}

TEST_F(Kills, AFullDiskAtEverySize) {
  direct({publish("1.1.0", {{"model", std::string(7000, 'n')}})});
  agent.reset();
  const std::unique_ptr<base::FaultEnv> before = env->copy();
  for (int64_t bytes = 15'000; bytes < 50'000; bytes += 500) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes of disk");
    env = before->copy();
    restart();
    env->limit_disk(bytes);
    (void)agent->pull().ok();
    agent->tend();
    env->limit_disk(-1);
    const std::string there = host->version("rank");
    EXPECT_TRUE(there == "1.0.0" || there == "1.1.0") << there;
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.1.0");
    agent.reset();
    if (HasFailure()) break;
  }
}

TEST_F(Kills, AConnectionThatEndsAtAnyRequestLeavesAVersion) {
  direct({publish("1.1.0", {{"model", std::string(7000, 'n')}})});
  agent.reset();
  const std::unique_ptr<base::FaultEnv> before = env->copy();
  restart();
  server.asked.clear();
  expect_settled();
  const std::vector<std::string> asked = server.asked;
  ASSERT_GT(asked.size(), 6u);
  for (const std::string& url : asked) {
    SCOPED_TRACE(url);
    agent.reset();
    env = before->copy();
    restart();
    server.broken = url;
    (void)agent->pull().ok();
    // What the device tells of itself comes behind all else, and keeps nothing from being done.
    EXPECT_EQ(host->version("rank"), url.ends_with("/v1/device") ? "1.1.0" : "1.0.0");
    server.broken.clear();
    server.cut[url] = 100;
    (void)agent->pull().ok();
    server.cut.clear();
    expect_settled();
    EXPECT_EQ(host->version("rank"), "1.1.0");
  }
}

}  // namespace
}  // namespace walle::link
