// Answers on the tunnel: what is said of them, and when.
#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fake_broker.h"
#include "fake_source.h"
#include "link/tunnel/tunnel.h"

namespace walle::link {
namespace {

class Taker : public AnswerTaker {
 public:
  std::vector<AnswerMark> marks() override { return {{.stream = "doubt", .taken = taken}}; }
  Result<AnswerMark> take(const Answer& answer) override {
    if (full) return resource_error("a full disk", "room", "taker", "make room");
    if (answer.number > taken && answer.after <= taken) taken = answer.number;
    return AnswerMark{.stream = answer.stream, .taken = taken};
  }
  uint64_t taken = 0;
  bool full = false;
};

class AnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    TunnelListener listener;
    listener.answers = &taker;
    auto made = Tunnel::make(env, source, broker, {.device = "d1", .seed = 1}, listener);
    ASSERT_TRUE(made.ok()) << made.error().message();
    tunnel = std::move(*made);
    run();
  }
  void run() {
    for (int i = 0; i < 100; ++i) {
      (void)tunnel->turn();
      env.advance_us(100'000);
    }
  }
  void answer(uint64_t number, uint64_t after) {
    const auto bytes = pack_answer({.stream = "doubt",
                                    .seq = number,
                                    .number = number,
                                    .after = after,
                                    .task = "t",
                                    .error = "",
                                    .rows = {}});
    ASSERT_TRUE(bytes.ok());
    broker.publish("w/d1/down", *bytes, 1);
    run();
  }
  // What the newest mark says.
  uint64_t said() {
    EXPECT_FALSE(broker.marks.empty());
    const auto marks = read_marks(broker.marks.back());
    EXPECT_TRUE(marks.ok() && marks->size() == 1);
    return marks.ok() ? (*marks)[0].taken : UINT64_MAX;
  }

  base::FaultEnv env;
  FakeSource source;
  FakeBroker broker;
  Taker taker;
  std::unique_ptr<Tunnel> tunnel;
};

TEST_F(AnswersTest, WhatWasTakenIsSaidBehindEachConnectionAndEachAnswer) {
  ASSERT_EQ(broker.marks.size(), 1u) << "the connection's";
  EXPECT_EQ(said(), 0u);
  answer(1, 0);
  EXPECT_EQ(broker.marks.size(), 2u);
  EXPECT_EQ(said(), 1u);
  answer(1, 0);
  EXPECT_EQ(said(), 1u) << "of one that came again, too: its mark was lost";
  answer(3, 2);
  EXPECT_EQ(said(), 1u) << "2 is lacking";
  const size_t before = broker.marks.size();
  broker.cut();
  run();
  EXPECT_EQ(broker.marks.size(), before + 1);
  EXPECT_EQ(said(), 1u);
}

TEST_F(AnswersTest, OneThatIsDamagedOrCannotBeWrittenEndsNoConnectionAndSaysNothing) {
  const size_t before = broker.marks.size();
  broker.publish("w/d1/down", "no answer", 1);
  run();
  EXPECT_EQ(tunnel->stats().damaged_answers, 1u);
  taker.full = true;
  answer(1, 0);
  EXPECT_NE(tunnel->stats().last_error.find("a full disk"), std::string::npos);
  EXPECT_EQ(broker.marks.size(), before);
  EXPECT_EQ(tunnel->stats().failures, 0u);
  taker.full = false;
  answer(1, 0);
  EXPECT_EQ(said(), 1u);
}

}  // namespace
}  // namespace walle::link
