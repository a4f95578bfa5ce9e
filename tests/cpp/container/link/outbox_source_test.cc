// A device's outbox as its tunnel reads it: in order, from any number on, until it is acknowledged.
#include "container/link/outbox_source.h"

#include "container/link/link_case.h"
#include "stream/graph/graph_spec.h"

namespace walle::container {
namespace {

constexpr const char* kSends =
    "import walle\n"
    "def main(event):\n"
    "    walle.stream.send('items', walle.stream.run('items.graph', event))\n";

std::string graph() {
  stream::WindowSpec whole{.kind = stream::WindowKind::whole, .keys = {}, .aggregates = {}};
  whole.aggregates = {{stream::AggregateKind::max, "item", "item", 10, 0, 1}};
  return *stream::graph_bytes({{{whole}, {stream::SelectStep{{"item"}}}}});
}

class OutboxSourceTest : public LinkTest {
 protected:
  void SetUp() override {
    LinkTest::SetUp();
    if (IsSkipped()) return;
    open_device();
    Manifest m = manifest("shop");
    m.host_calls.push_back("walle.stream");
    EgressFeature feature;
    feature.policy.task = "shop";
    feature.policy.feature = "items";
    feature.policy.fields = {{"item", ColumnType::real, 0, stream::Sensitivity::personal}};
    feature.policy.bytes_per_day = 1 << 20;
    feature.policy.sends_per_day = 100;
    m.features = {feature};
    const Result<std::string> installed = device_->install(bundle(m, kSends, {{"items.graph", graph()}}));
    ASSERT_TRUE(installed.ok()) << installed.error().message();
  }
  std::vector<uint64_t> numbers(OutboxSource& source, uint64_t from, size_t limit) {
    const Result<std::vector<link::TunnelRecord>> read = source.read("items", from, limit);
    EXPECT_TRUE(read.ok()) << read.error().message();
    std::vector<uint64_t> out;
    if (read.ok())
      for (const link::TunnelRecord& record : *read) out.push_back(record.seq);
    return out;
  }
};

using Numbers = std::vector<uint64_t>;

TEST_F(OutboxSourceTest, RecordsAreThereInOrderUntilTheyAreAcknowledged) {
  OutboxSource source(*device_);
  EXPECT_TRUE(source.streams()->empty()) << "nothing was sent";
  taps(5);
  EXPECT_EQ(core()->task("shop")->failures, 0u) << core()->task("shop")->error;
  Result<std::vector<link::SourceStream>> streams = source.streams();
  ASSERT_TRUE(streams.ok());
  ASSERT_EQ(streams->size(), 1u);
  EXPECT_EQ(streams->front().name, "items");
  EXPECT_EQ(streams->front().waiting, 5u);
  EXPECT_EQ(numbers(source, 1, 100), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(source, 1, 2), (Numbers{1, 2}));
  EXPECT_EQ(numbers(source, 4, 100), (Numbers{4, 5})) << "from a number on, itself included";
  EXPECT_EQ(numbers(source, 6, 100), Numbers{});
  const auto records = source.read("items", 1, 1);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->front().task, "shop");
  EXPECT_EQ(records->front().feature, "items");
  EXPECT_FALSE(records->front().bytes.empty());
  EXPECT_GT(records->front().ts, 0);

  ASSERT_TRUE(source.acknowledge("items", 3).ok());
  ASSERT_TRUE(source.acknowledge("items", 2).ok()) << "an older one says nothing new";
  EXPECT_EQ(numbers(source, 1, 100), (Numbers{4, 5}));
  EXPECT_EQ(source.streams()->front().acknowledged, 3u);
  EXPECT_EQ(source.streams()->front().waiting, 2u);
}

TEST_F(OutboxSourceTest, WhatWasNotAcknowledgedIsThereAfterARestart) {
  taps(3);
  {
    OutboxSource source(*device_);
    ASSERT_TRUE(source.acknowledge("items", 1).ok());
  }
  device_.reset();
  open_device();
  OutboxSource source(*device_);
  EXPECT_EQ(numbers(source, 1, 100), (Numbers{2, 3}));
}

TEST_F(OutboxSourceTest, AClosedDeviceIsAnErrorOfEveryCall) {
  OutboxSource source(*device_);
  taps(1);
  ASSERT_TRUE(device_->close().ok());
  EXPECT_FALSE(source.streams().ok());
  EXPECT_FALSE(source.read("items", 1, 1).ok());
  const Status late = source.acknowledge("items", 1);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message().find("closed"), std::string::npos) << late.error().message();
}

}  // namespace
}  // namespace walle::container
