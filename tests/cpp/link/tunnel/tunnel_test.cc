#include "link/tunnel/tunnel.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fake_broker.h"
#include "fake_source.h"
#include "seed.h"

namespace walle::link {
namespace {

using base::FaultEnv;

class TunnelTest : public testing::Test {
 protected:
  void make(TunnelOptions options = {}) {
    options.device = "d1";
    if (!options.seed) options.seed = 1;
    TunnelListener listener;
    listener.on_epoch = [this](const EpochMessage& m) { epochs.push_back(m); };
    listener.on_down = [this](std::string_view bytes) { answers.emplace_back(bytes); };
    listener.on_state = [this](TunnelState s) { states.push_back(s); };
    auto made = Tunnel::make(env, source, broker, options, listener);
    ASSERT_TRUE(made.ok()) << made.error().message();
    tunnel = std::move(*made);
  }
  // As the thread would, with time that passes as fast as nothing happens.
  void run(int64_t us) {
    const int64_t until = env.steady_us() + us;
    for (int i = 0; i < 100'000 && env.steady_us() < until; ++i) {
      const int64_t wants = tunnel->turn();
      env.advance_us(std::min(broker.speaks() ? 100 : wants, until - env.steady_us()));
    }
    (void)tunnel->turn();
  }
  void add(const std::string& stream, std::string bytes) {
    source.add(stream, std::move(bytes));
    tunnel->notify();
  }
  void expect_all_stored() {
    for (const auto& [key, bytes] : source.added) EXPECT_EQ(broker.stored.at(key), bytes);
    EXPECT_EQ(source.waiting(), 0u);
  }

  FaultEnv env;
  FakeSource source;
  FakeBroker broker;
  std::unique_ptr<Tunnel> tunnel;
  std::vector<EpochMessage> epochs;
  std::vector<std::string> answers;
  std::vector<TunnelState> states;
};

TEST_F(TunnelTest, ADeviceIdIsOneThatATopicCanHold) {
  for (const char* id : {"", "a/b", "a+", "#", "a b", "\xc3\xa9"})
    EXPECT_FALSE(Tunnel::make(env, source, broker, {.device = id}).ok()) << id;
  EXPECT_TRUE(Tunnel::make(env, source, broker, {.device = std::string(64, 'a')}).ok());
  EXPECT_FALSE(Tunnel::make(env, source, broker, {.device = std::string(65, 'a')}).ok());
  EXPECT_FALSE(Tunnel::make(env, source, broker, {.device = "a", .keepalive_s = 0}).ok());
}

TEST_F(TunnelTest, ANewConnectionCarriesRecordsInItsFirstFlight) {
  make();
  source.add("s", "first");
  broker.silent = true;  // nothing is answered, and the record is there all the same
  tunnel->turn();
  EXPECT_NE(broker.seen.find("first"), std::string::npos);
}

TEST_F(TunnelTest, RecordsAreGoneWhenTheSinkHasThem) {
  make();
  for (int i = 0; i < 100; ++i)
    source.add(i % 2 ? "odd" : "even", std::string(200, static_cast<char>('a' + i % 26)));
  broker.holds = true;
  run(100'000);
  EXPECT_EQ(broker.stored.size(), 100u);
  EXPECT_EQ(source.waiting(), 100u) << "a PUBACK proves nothing";
  broker.holds = false;
  broker.release();
  run(100'000);
  expect_all_stored();
  EXPECT_EQ(tunnel->stats().acknowledged, 100u);
  EXPECT_EQ(broker.duplicates, 0u);
}

TEST_F(TunnelTest, SendsAtOnceWhenNothingIsInFlightAndLingersBehindWhatIs) {
  make();
  run(1000);
  broker.holds = true;
  add("s", "one");
  tunnel->turn();
  EXPECT_EQ(broker.messages, 1u) << "at once";
  add("s", "two");
  run(49'000);
  EXPECT_EQ(broker.messages, 1u) << "it lingers";
  add("s", "three");
  run(2'000);
  EXPECT_EQ(broker.messages, 2u) << "50 ms after the first that waited, both";
  add("s", std::string(3071, 'x'));
  tunnel->turn();
  EXPECT_EQ(broker.messages, 2u);
  add("s", "y");
  tunnel->turn();
  EXPECT_EQ(broker.messages, 3u) << "3072 bytes wait for nothing";
  broker.release();
  run(100'000);
  expect_all_stored();
}

TEST_F(TunnelTest, AtMostSoManyMessagesAreInFlight) {
  make({.device = "", .most_in_flight = 4});
  run(1000);
  broker.holds = true;
  for (int i = 0; i < 20; ++i) {
    add("s", std::string(4000, 'x'));
    tunnel->turn();
  }
  run(1'000'000);
  EXPECT_EQ(broker.messages, 4u);
  EXPECT_EQ(tunnel->stats().in_flight, 4u);
  broker.holds = false;
  broker.release();
  run(1'000'000);
  expect_all_stored();
}

TEST_F(TunnelTest, AcknowledgementsInAnyOrderMoveTheSourceOnlyBehindAllBefore) {
  make();
  run(1000);
  broker.holds = true;
  for (int i = 0; i < 3; ++i) {
    add("s", std::string(4000, 'x'));
    tunnel->turn();
  }
  ASSERT_EQ(broker.messages, 3u);
  broker.publish("w/d1/ack", pack_ack({{.stream = "s", .runs = {{3, 1}}}}));
  broker.publish("w/d1/ack", pack_ack({{.stream = "s", .runs = {{2, 1}}}}));
  broker.publish("w/d1/ack", pack_ack({{.stream = "other", .runs = {{1, 1}}}}));
  run(1000);
  EXPECT_EQ(source.acknowledged("s"), 0u);
  broker.publish("w/d1/ack", pack_ack({{.stream = "s", .runs = {{1, 1}}}}));
  run(1000);
  EXPECT_EQ(source.acknowledged("s"), 3u);
}

TEST_F(TunnelTest, WhatWasNeverSentCannotBeAcknowledged) {
  make();
  run(1000);
  broker.silent = true;
  broker.publish("w/d1/ack", pack_ack({{.stream = "s", .runs = {{1, 1000}}}}));
  run(1000);
  add("s", "one");
  broker.publish("w/d1/ack", pack_ack({{.stream = "s", .runs = {{2, 1000}}}}));
  run(1000);
  EXPECT_EQ(source.waiting(), 1u);
}

TEST_F(TunnelTest, WhatNobodyAcknowledgesIsSentAgainLessAndLessOften) {
  make();
  run(1000);
  broker.sink_runs = false;
  add("s", "kept");
  run(29'000'000);
  EXPECT_EQ(broker.packets.size(), 1u);
  run(2'000'000);
  EXPECT_EQ(broker.packets.size(), 2u) << "after 30 s";
  run(58'000'000);
  EXPECT_EQ(broker.packets.size(), 2u);
  run(4'000'000);
  EXPECT_EQ(broker.packets.size(), 3u) << "after a minute more";
  EXPECT_EQ(source.waiting(), 1u);
  broker.sink_runs = true;
  run(200'000'000);
  expect_all_stored();
  EXPECT_GE(tunnel->stats().resent, 3u);
}

// Every byte of a conversation, in both directions: whatever was cut, all arrives, once.
TEST_F(TunnelTest, CutAtEveryByte) {
  const auto converse = [&](int64_t sent, int64_t received) {
    FakeSource records;
    FakeBroker peer;
    peer.cut_after_sent = sent;
    peer.cut_after_received = received;
    peer.retained_epoch = pack_epoch({.epoch = 3});
    auto made = *Tunnel::make(env, records, peer, {.device = "d1", .seed = 1});
    for (int i = 0; i < 6; ++i) {
      records.add(i % 2 ? "a" : "b", "record " + std::to_string(i));
      made->notify();
      for (int k = 0; k < 4; ++k) env.advance_us(std::min<int64_t>(made->turn(), 10'000));
    }
    for (int i = 0; i < 2000 && records.waiting() > 0; ++i) env.advance_us(made->turn());
    EXPECT_EQ(records.waiting(), 0u);
    EXPECT_EQ(peer.stored, records.added);
    EXPECT_EQ(peer.damaged, 0u);
    return std::pair(peer.seen.size(), peer.opened);
  };
  const auto [size, once] = converse(-1, -1);
  EXPECT_EQ(once, 1u);
  EXPECT_GT(size, 150u);
  for (int64_t at = 1; at <= static_cast<int64_t>(size); ++at) {
    SCOPED_TRACE("cut behind byte " + std::to_string(at));
    converse(at, -1);
    converse(-1, at);
  }
}

TEST_F(TunnelTest, RandomFaultsLoseAndDoubleNothing) {
  const uint32_t seed = test_seed();
  std::mt19937 random(seed);
  for (int trial = 0; trial < 60; ++trial) {
    FakeSource records;
    FakeBroker peer;
    peer.random.seed(seed + static_cast<uint32_t>(trial));
    peer.doubles = 0.2;
    peer.reorders = 0.3;
    peer.loses = 0.1;
    auto made = *Tunnel::make(env, records, peer, {.device = "d1", .seed = 1});
    const auto turn = [&] { env.advance_us(std::min<int64_t>(made->turn(), 20'000'000)); };
    uint64_t dropped = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string stream = "s" + std::to_string(random() % 3);
      records.add(stream, std::string(random() % 3000, static_cast<char>('a' + i % 26)));
      made->notify();
      if (random() % 3 == 0) turn();
      if (random() % 40 == 0) peer.cut();
      if (random() % 40 == 0) peer.cut_after_sent = static_cast<int64_t>(random() % 5000);
      if (random() % 40 == 0) peer.cut_after_received = static_cast<int64_t>(random() % 200);
      if (random() % 30 == 0) peer.forgets_dictionaries = !peer.forgets_dictionaries;
      if (random() % 50 == 0) peer.sink_runs = !peer.sink_runs;
      if (random() % 60 == 0) records.broken = !records.broken;
      if (random() % 60 == 0) made->network_changed();
      if (random() % 20 == 0 && records.added.size() > 1) {
        const auto key =
            std::next(records.added.begin(), static_cast<long>(random() % records.added.size()))->first;
        records.drop(key.first, key.second);
        ++dropped;
      }
      peer.takes = random() % 5 ? SIZE_MAX : 1 + random() % 100;
    }
    peer.sink_runs = true;
    records.broken = false;
    peer.loses = 0;
    peer.takes = SIZE_MAX;
    for (int i = 0; i < 5000 && records.waiting() > 0; ++i) {
      peer.release();
      turn();
    }
    ASSERT_EQ(records.waiting(), 0u) << "trial " << trial;
    for (const auto& [key, bytes] : records.added) ASSERT_EQ(peer.stored.at(key), bytes) << "trial " << trial;
    ASSERT_EQ(peer.damaged, 0u);
  }
}

TEST_F(TunnelTest, AStreamsDictionaryIsUsedAndAForgottenOneMakesUpForItself) {
  make();
  run(1000);
  for (int i = 0; i < 10; ++i) {
    add("s", std::string(300, 'x') + "record " + std::to_string(i));
    run(1000);
  }
  EXPECT_GE(broker.with_dictionary, 8u);
  const uint64_t resent = tunnel->stats().resent;
  broker.forgets_dictionaries = true;
  add("s", std::string(300, 'x') + "behind the loss");
  run(1000);
  expect_all_stored();
  EXPECT_EQ(tunnel->stats().resent, resent + 1);
  EXPECT_EQ(broker.duplicates, 0u);
}

TEST_F(TunnelTest, RefusedRecordsLeaveAndAreCounted) {
  make();
  broker.refuses_records = true;
  add("s", "bad");
  run(1000);
  EXPECT_EQ(source.waiting(), 0u);
  EXPECT_EQ(tunnel->stats().refused, 1u);
  EXPECT_EQ(tunnel->stats().acknowledged, 0u);
}

TEST_F(TunnelTest, ARecordThatNoMessageCanHoldLeavesAndIsCounted) {
  make();
  add("s", "before");
  add("s", std::string(kMostMessageBytes, 'x'));
  add("s", "behind");
  run(1000);
  EXPECT_EQ(source.waiting(), 0u);
  EXPECT_EQ(broker.stored.size(), 2u);
  EXPECT_EQ(tunnel->stats().refused, 1u);
  // The largest that one can.
  broker.stored.clear();
  add("s", std::string(kMostMessageBytes - kSectionBytes - kRecordBytes, 'x'));
  run(1000);
  EXPECT_EQ(broker.stored.size(), 1u);
  EXPECT_EQ(broker.damaged, 0u);
}

TEST_F(TunnelTest, WaitsLongerAndLongerWithJitterAndAtOnceBehindANewNetwork) {
  make();
  broker.refuses_connections = true;
  run(60'000'000);
  const uint64_t tries = broker.opened;
  EXPECT_GE(tries, 3u);
  EXPECT_LE(tries, 60u);
  run(3'600'000'000);
  EXPECT_LE(broker.opened - tries, 150u);
  EXPECT_EQ(tunnel->stats().failures, broker.opened);
  EXPECT_NE(tunnel->stats().last_error.find("refused"), std::string::npos);
  broker.refuses_connections = false;
  const uint64_t before = broker.opened;
  tunnel->network_changed();
  tunnel->turn();
  EXPECT_EQ(broker.opened, before + 1);
  tunnel->turn();
  EXPECT_EQ(tunnel->stats().state, TunnelState::online);
}

TEST_F(TunnelTest, ABrokerThatSaysNoIsSaidAndAskedAgain) {
  make();
  broker.connack = 5;
  source.add("s", "kept");
  run(1'000);
  EXPECT_EQ(tunnel->stats().state, TunnelState::refused);
  EXPECT_NE(tunnel->stats().last_error.find("may not connect"), std::string::npos);
  broker.connack = 0;
  run(10'000'000);
  EXPECT_EQ(tunnel->stats().state, TunnelState::online);
  expect_all_stored();
}

TEST_F(TunnelTest, KeepsAliveAndFindsAConnectionThatDiedInSilence) {
  make();
  run(1'000'000);
  run(250'000'000);
  EXPECT_EQ(broker.pings, 2u);
  EXPECT_EQ(broker.opened, 1u);
  broker.silent = true;
  run(140'000'000);
  EXPECT_GE(broker.opened, 2u) << "a ping without an answer";
  broker.silent = false;
  run(60'000'000);
  const uint64_t opened = broker.opened;
  broker.silent = true;
  add("s", "into the void");
  run(29'000'000);
  EXPECT_EQ(broker.opened, opened);
  broker.silent = false;
  run(10'000'000);
  EXPECT_EQ(broker.opened, opened + 1) << "what was published had no answer within 30 s";
  expect_all_stored();
}

TEST_F(TunnelTest, TellsOfEpochsAndAnswers) {
  broker.retained_epoch = pack_epoch({.epoch = 41, .jitter_s = 3});
  make();
  run(1000);
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(epochs[0].epoch, 41u);
  EXPECT_EQ(epochs[0].jitter_s, 3);
  broker.publish("w/d1/down", "an answer", 1, 9);
  broker.publish("w/d1/later", "of a later version");
  broker.publish("w/d2/down", "of another device");
  run(1000);
  EXPECT_EQ(answers, std::vector<std::string>{"an answer"});
  EXPECT_NE(broker.seen.find(mqtt_puback(9)), std::string::npos);
  EXPECT_EQ(states, (std::vector{TunnelState::connecting, TunnelState::online}));
}

TEST_F(TunnelTest, WhatBreaksTheProtocolEndsTheConnection) {
  const std::vector<std::string> bad = {
      std::string("\xf0\x00", 2),
      std::string("\x30\xff\xff\xff\x7f", 5),
      std::string("\x82\x02\x00\x01", 4),
      std::string("\x20\x02\x00\x00", 4),  // a second CONNACK
      mqtt_publish({.topic = "w/d1/ack", .payload = "no acknowledgement"}),
      mqtt_publish({.topic = "w/epoch", .payload = "no epoch"}),
      std::string("\x90\x03\xff\xff\x80", 5),
  };
  make();
  for (const std::string& packet : bad) {
    run(200'000'000);
    ASSERT_EQ(tunnel->stats().state, TunnelState::online);
    const uint64_t failures = tunnel->stats().failures;
    broker.say(packet);
    tunnel->turn();
    EXPECT_EQ(tunnel->stats().failures, failures + 1);
    EXPECT_FALSE(tunnel->stats().last_error.empty());
  }
}

TEST_F(TunnelTest, EndlessPacketsNeitherHangNorGrow) {
  make();
  run(1000);
  const std::string packet = mqtt_publish({.topic = "w/d1/down", .payload = "x", .qos = 1, .id = 3});
  std::string flood;
  while (flood.size() < (4u << 20)) flood += packet;
  broker.takes = 0;  // and it does not read its answers either
  broker.say(flood);
  for (int i = 0; i < 30; ++i) tunnel->turn();
  // No more is read than can be answered.
  EXPECT_LT(tunnel->stats().received_bytes, 1u << 20);
}

TEST_F(TunnelTest, AnOutageOfTheSourceEndsNothing) {
  make();
  add("s", "one");
  source.broken = true;
  run(3'000'000);
  EXPECT_NE(tunnel->stats().last_error.find("a full disk"), std::string::npos);
  source.broken = false;
  run(2'000'000);
  EXPECT_EQ(broker.opened, 1u);
  expect_all_stored();
  // While an acknowledgement is to be written down.
  broker.holds = true;
  add("s", "two");
  run(1000);
  source.broken = true;
  broker.release();
  run(1000);
  EXPECT_EQ(source.waiting(), 1u);
  source.broken = false;
  run(2'000'000);
  expect_all_stored();
}

TEST_F(TunnelTest, RunsOnAThreadDrainsAndStops) {
  make();
  source.add("s", "one");
  ASSERT_TRUE(tunnel->start().ok());
  EXPECT_FALSE(tunnel->start().ok());
  EXPECT_TRUE(tunnel->drain(5'000'000));
  tunnel->stop();
  EXPECT_EQ(tunnel->stats().state, TunnelState::stopped);
  EXPECT_EQ(broker.goodbyes, 1u);
  expect_all_stored();
}

}  // namespace
}  // namespace walle::link
