// What a session gives back when it is asked to, and that nothing of its results depends on it.
#include <atomic>
#include <thread>

#include "build.h"
#include "runtime/live_sessions.h"

namespace walle::runtime {
namespace {

// y = softmax(relu(x w)): weights are packed, the product lies in the arena.
std::shared_ptr<Model> product() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {64, ""}});
  const auto made = b.node("MatMul", {x, b.constant(ramp({64, 96}, 1e-3F))});
  b.output(b.node("Softmax", {b.node("Relu", {made})}), "y");
  return model_of(b.data());
}

std::vector<float> run(Session& session, int64_t n) {
  const std::vector<NamedValue> in{{"x", ramp({n, 64}, 1e-3F)}};
  const auto out = session.run(in);
  EXPECT_TRUE(out.ok());
  const auto floats = (*out)[0].tensor()->as<float>();
  return {floats.begin(), floats.end()};
}

int64_t held(Session& session) {
  const MemoryReport m = session.memory();
  return m.steps + m.arena + m.free + m.packed + m.folded;
}

TEST(Trim, GivesBackAllThatARunMakesAgain) {
  const auto model = product();
  const auto session = *model->session({});
  std::vector<std::vector<float>> before;
  for (const int64_t n : {1, 7, 33}) before.push_back(run(*session, n));
  const int64_t full = held(*session);
  ASSERT_GT(full, 64 * 96 * 4) << "weights are packed";
  EXPECT_EQ(*session->trim(), full);
  EXPECT_EQ(held(*session), 0);
  EXPECT_EQ(session->memory().plans, 0);
  EXPECT_EQ(*session->trim(), 0) << "nothing is left to give";
  size_t i = 0;
  for (const int64_t n : {1, 7, 33}) EXPECT_EQ(run(*session, n), before[i++]) << n;
  EXPECT_GT(held(*session), 64 * 96 * 4);
}

TEST(Trim, AResultThatSomebodyHoldsStays) {
  const auto model = product();
  const auto session = *model->session({});
  const std::vector<NamedValue> in{{"x", ramp({5, 64}, 1e-3F)}};
  const auto kept = session->run(in);
  const auto floats = (*kept)[0].tensor()->as<float>();
  const std::vector<float> before(floats.begin(), floats.end());
  ASSERT_TRUE(session->trim().ok());
  run(*session, 5);
  run(*session, 9);
  EXPECT_TRUE(std::ranges::equal((*kept)[0].tensor()->as<float>(), before));
}

TEST(Trim, AnotherSessionOfTheModelKeepsItsWeights) {
  const auto model = product();
  const auto one = *model->session({}), other = *model->session({});
  const auto before = run(*other, 3);
  run(*one, 3);
  ASSERT_TRUE(one->trim().ok());
  EXPECT_GE(other->memory().packed, 64 * 96 * 4);
  EXPECT_EQ(run(*other, 3), before);
}

TEST(Trim, ReachesEverySessionOfTheProcess) {
  const auto model = product(), another = product();
  const auto one = *model->session({});
  {
    const auto gone = *another->session({});
    run(*gone, 2);
  }
  const auto two = *another->session({});
  run(*one, 3);
  run(*two, 4);
  const int64_t full = held(*one) + held(*two);
  EXPECT_EQ(trim_sessions(), full);
  EXPECT_EQ(held(*one) + held(*two), 0);
  EXPECT_EQ(trim_sessions(), 0);
}

// Runs, trims and new sessions at the same time: each run's result is the one of a quiet session.
TEST(Trim, MayComeAtAnyMoment) {
  const auto model = product();
  const auto wanted = run(**model->session({}), 8);
  std::atomic<bool> done = false;
  std::thread system([&] {
    while (!done) trim_sessions();
  });
  std::vector<std::thread> apps;
  for (int i = 0; i < 2; ++i)
    apps.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const auto session = *model->session({});
        for (int j = 0; j < 5; ++j) EXPECT_EQ(run(*session, 8), wanted);
      }
    });
  for (std::thread& app : apps) app.join();
  done = true;
  system.join();
}

// Asks for all there is while its session runs, on the run's own thread.
class AsksWithin final : public HostCheck {
 public:
  explicit AsksWithin(Session& session) : session_(session) {}
  Status check() override {
    everybody_ += trim_sessions();
    refused_ += !session_.trim().ok();
    ++asked_;
    return {};
  }
  int64_t everybody_ = 0;
  int refused_ = 0, asked_ = 0;

 private:
  Session& session_;
};

TEST(Trim, ARunUnderWayKeepsWhatItHas) {
  GraphBuilder b;
  auto last = b.input("x", DType::float32, {{1 << 16, ""}});
  for (int i = 0; i < 4000; ++i) last = b.node(i % 2 ? "Cos" : "Exp", {last});
  b.output(last, "y");
  const auto model = model_of(b.data());
  const auto session = *model->session({});
  const std::vector<NamedValue> in{{"x", ramp({1 << 16})}};
  const auto quiet = session->run(in);
  ASSERT_TRUE(quiet.ok());
  AsksWithin host(*session);
  RunOptions options;
  options.host = &host;
  const auto asked = session->run(in, options);
  ASSERT_TRUE(asked.ok()) << asked.error().message();
  EXPECT_TRUE((*asked)[0].tensor()->identical(*(*quiet)[0].tensor()));
  ASSERT_GT(host.asked_, 0) << "4000 steps of 65,536 elements take longer than the host's period";
  EXPECT_EQ(host.refused_, host.asked_);
  EXPECT_EQ(host.everybody_, 0);
}

}  // namespace
}  // namespace walle::runtime
