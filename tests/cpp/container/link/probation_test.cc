// A version on probation: what fails in each phase is told by phase, type and limit, the device does not
// notice, and a disk that is full says nothing about the version.
#include "container/link/probation.h"
#include "columns.h"

#include <thread>

#include "container/link/link_case.h"

namespace walle::container {
namespace {

class ProbationTest : public LinkTest {
 protected:
  void SetUp() override {
    LinkTest::SetUp();
    if (IsSkipped()) return;
    open_device();
  }
  void TearDown() override {
    if (device_) {
      EXPECT_FALSE(fs::exists(folder())) << "the probation's folder stayed";
    }
    LinkTest::TearDown();
  }
  std::string folder() const { return dir_ + "/probation"; }
  Result<link::Probation> hold(const link::StagedPackage& staged, ProbationOptions options = {}) {
    return hold_probation(*env_, *core(), staged, folder(), cancelled_, options);
  }
  link::Probation held(const link::StagedPackage& staged, ProbationOptions options = {}) {
    const Result<link::Probation> out = hold(staged, options);
    EXPECT_TRUE(out.ok()) << out.error().message();
    return out.ok() ? *out : link::Probation{};
  }
  Manifest phased(const std::string& version) {
    Manifest m = manifest("rank", version);
    m.main_function.clear();
    m.preprocess = "before";
    m.execute_function = "run";
    m.postprocess = "behind";
    return m;
  }

  std::atomic<bool> cancelled_ = false;
};

// Three phases, one of which does something else than to hand on.
std::string phases(const std::string& name, const std::string& body) {
  std::string out;
  for (const char* phase : {"before", "run", "behind"})
    out += std::string("def ") + phase + "(x):\n    " + (name == phase ? body : "return x") + "\n";
  return out;
}

TEST_F(ProbationTest, WhatWorksFiresOnTheNewestEventsAndLeavesNothing) {
  const link::StagedPackage first = stage(with_table(manifest("rank", "1.0.0")), source(1));
  ASSERT_TRUE(device_->install_package(first.manifest, first.blobs).ok());
  taps(20);
  const link::StagedPackage next = stage(with_table(manifest("rank", "2.0.0")), source(2));
  const link::Probation out = held(next, {.firings = 8});
  EXPECT_GE(out.firings, 8u);
  EXPECT_FALSE(out.trouble);
  // Its rows are nobody's, and the version that runs is the one that ran.
  const Result<store::TableColumns> rows = device_->read("rank", "rows", 0, 100);
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  EXPECT_EQ(texts_of(rows->columns[1].cells), std::vector<std::string>(20, "1"));
  EXPECT_EQ(core()->task("rank")->version, "1.0.0");
  EXPECT_EQ(core()->task("rank")->firings, 20u);
}

TEST_F(ProbationTest, WithoutEventsItIsLoadedAlone) {
  const link::Probation out = held(stage(manifest("rank"), source(1)));
  EXPECT_EQ(out.firings, 0u);
  EXPECT_FALSE(out.trouble);
}

TEST_F(ProbationTest, EachPhaseThatFailsIsNamed) {
  taps(3);
  const std::pair<const char*, const char*> kPhases[] = {
      {"before", "preprocess"}, {"run", "execute"}, {"behind", "postprocess"}};
  int at = 0;
  for (const auto& [function, phase] : kPhases) {
    SCOPED_TRACE(phase);
    const std::string version = "1.0." + std::to_string(at++);
    const link::Probation out =
        held(stage(phased(version), phases(function, "raise KeyError('a secret of the user')")));
    ASSERT_TRUE(out.trouble);
    EXPECT_EQ(out.trouble->phase, phase);
    EXPECT_EQ(out.trouble->type, "KeyError");
    EXPECT_EQ(out.trouble->limit, "");
    EXPECT_NE(out.trouble->message.find(version), std::string::npos);
    EXPECT_GE(out.firings, 1u);
  }
}

TEST_F(ProbationTest, EachLimitThatIsMetIsNamed) {
  taps(2);
  Manifest slow = phased("1.0.0");
  slow.preprocess_limits.wall_ms = slow.execute_limits.wall_ms = slow.postprocess_limits.wall_ms = 60;
  for (const auto& [function, phase] : {std::pair{"before", "preprocess"}, {"run", "execute"}}) {
    SCOPED_TRACE(phase);
    const link::Probation out = held(stage(slow, phases(function, "while True: pass")));
    ASSERT_TRUE(out.trouble);
    EXPECT_EQ(out.trouble->phase, phase);
    EXPECT_EQ(out.trouble->limit, "wall") << out.trouble->message;
  }
  Manifest greedy = phased("1.1.0");
  greedy.heap_bytes = 8 << 20;
  const link::Probation out = held(stage(greedy, phases("run", "return len([0] * (1 << 24))")));
  ASSERT_TRUE(out.trouble);
  EXPECT_EQ(out.trouble->phase, "execute");
  EXPECT_EQ(out.trouble->limit, "heap") << out.trouble->message;
}

TEST_F(ProbationTest, AResultThatDoesNotFitItsTableIsTrouble) {
  taps(1);
  const link::Probation out =
      held(stage(with_table(manifest("rank")), "def main(event):\n    return {'item': 'no number'}\n"));
  ASSERT_TRUE(out.trouble);
  EXPECT_EQ(out.trouble->phase, "results") << out.trouble->message;
}

TEST_F(ProbationTest, FactsThatItWaitsForHold) {
  taps(2);
  Manifest m = phased("1.0.0");
  m.requires_facts = {"charging"};
  const link::Probation out = held(stage(m, phases("none", "")));
  EXPECT_GE(out.firings, 1u);
  EXPECT_FALSE(out.trouble);
}

TEST_F(ProbationTest, CancelledItEndsSoonAndSaysSo) {
  taps(1);
  Manifest m = manifest("rank");
  m.execute_limits.wall_ms = 300'000;
  const link::StagedPackage staged = stage(m, "def main(event):\n    while True: pass\n");
  std::thread closer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancelled_ = true;
  });
  const int64_t start = env_->steady_us();
  const Result<link::Probation> out = hold(staged);
  closer.join();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().group(), base::ErrorGroup::cancelled);
  EXPECT_LT(env_->steady_us() - start, 60 * kSecondUs);
}

TEST_F(ProbationTest, WhatDoesNotOpenIsAnError) {
  Packed broken = pack(manifest("rank"), source(1));
  broken.package.vm = "cpython-9.9.9/walle-9";
  const Result<link::Probation> out = hold(stage(broken));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message().find("VM"), std::string::npos) << out.error().message();
}

// The disk is full at every write of a probation: always an error, never a verdict, and the device goes on.
TEST_F(ProbationTest, AFullDiskSaysNothingAboutTheVersion) {
  const link::StagedPackage first = stage(with_table(manifest("rank", "1.0.0")), source(1));
  ASSERT_TRUE(device_->install_package(first.manifest, first.blobs).ok());
  taps(4);
  const link::StagedPackage next = stage(with_table(manifest("rank", "2.0.0")), source(2));
  FullBelow roomy(*env_, folder(), INT64_MAX);
  ASSERT_TRUE(hold_probation(roomy, *core(), next, folder(), cancelled_, {.firings = 2}).ok());
  ASSERT_GT(roomy.writes(), 5);
  size_t refused = 0;
  for (int64_t writes = 0; writes < roomy.writes(); ++writes) {
    SCOPED_TRACE("full after " + std::to_string(writes) + " writes");
    FullBelow full(*env_, folder(), writes);
    const auto out = hold_probation(full, *core(), next, folder(), cancelled_, {.firings = 2});
    refused += !out.ok();
    if (out.ok()) {
      EXPECT_FALSE(out->trouble) << out->trouble->message;
    }
    EXPECT_FALSE(fs::exists(folder()));
  }
  EXPECT_GT(refused, 4u);
  taps(1);
  EXPECT_EQ(core()->task("rank")->version, "1.0.0");
  EXPECT_EQ(core()->task("rank")->failures, 0u);
}

}  // namespace
}  // namespace walle::container
