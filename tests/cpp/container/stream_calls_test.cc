// walle.stream on a device: what a firing reads, runs and sends, and what of it is durable.
#include "container/device_case.h"
#include "stream/egress/feature_bytes.h"
#include "stream/graph/graph_spec.h"

namespace walle::container {
namespace {

constexpr const char* kMain = R"(
import walle

def main(event):
    items = walle.stream.events(event, of='session', fields=['item'])['item'].tolist()
    rows = walle.stream.run('sums.graph', event, of='session')
    walle.stream.send('sums', rows)
    if items[-1] == 13:
        raise ValueError('unlucky')
    return {'item': items[-1], 'text': ','.join(str(i) for i in items)}
)";

class StreamCalls : public DeviceTest {
 protected:
  static std::string sums() {
    stream::WindowSpec whole{.kind = stream::WindowKind::whole, .keys = {}, .aggregates = {}};
    whole.aggregates = {{stream::AggregateKind::count, "", "taps", 10, 0, 1},
                        {stream::AggregateKind::max, "item", "largest", 10, 0, 1}};
    return *stream::graph_bytes({{{whole}, {stream::SelectStep{{"taps", "largest"}}}}});
  }
  static Manifest task() {
    Manifest m = with_table(manifest("shop"));
    m.host_calls.push_back("walle.stream");
    EgressFeature feature;
    feature.policy.task = "shop";
    feature.policy.feature = "sums";
    feature.policy.fields = {{"taps", ColumnType::integer, 0, stream::Sensitivity::personal},
                             {"largest", ColumnType::real, 0, stream::Sensitivity::personal}};
    feature.policy.bytes_per_day = 1 << 20;
    feature.policy.sends_per_day = 100;
    m.features = {feature};
    return m;
  }
  std::vector<stream::OutboxRecord> sent() {
    auto records = core_->commits().read_outbox("sums");
    EXPECT_TRUE(records.ok()) << records.error().message();
    return records.ok() ? std::move(*records) : std::vector<stream::OutboxRecord>();
  }
};

TEST_F(StreamCalls, AFiringReadsItsSessionAndSendsWithItsResults) {
  open();
  install(task(), kMain, {{"sums.graph", sums()}});
  for (const int64_t item : {5, 3, 9}) {
    tap(item);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  }
  EXPECT_EQ(items("shop"), (std::vector<int64_t>{5, 3, 9}));
  const auto records = sent();
  ASSERT_EQ(records.size(), 3u);
  const auto last = stream::unpack_batch(records[2].bytes);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->columns[0].cells[0].i, 3);
  EXPECT_EQ(last->columns[1].cells[0].d, 9);
}

TEST_F(StreamCalls, AFiringThatFailsSendsNothingAndItsBudgetIsBack) {
  open();
  Manifest m = task();
  m.features[0].policy.sends_per_day = 2;
  m.breaker = 100;
  install(m, kMain, {{"sums.graph", sums()}});
  for (const int64_t item : {1, 13, 13, 13, 2}) {
    tap(item);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  }
  EXPECT_EQ(items("shop"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(sent().size(), 2u);
  tap(3);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("shop"), (std::vector<int64_t>{1, 2})) << "the gate says no, and the firing fails";
  EXPECT_NE(info("shop").error.find("PermissionError"), std::string::npos) << info("shop").error;
  EXPECT_EQ(sent().size(), 2u);
}

TEST_F(StreamCalls, WhatARemovedTaskMaySendIsGoneAndItsBudgetStaysSpent) {
  open();
  Manifest m = task();
  m.features[0].policy.sends_per_day = 2;
  m.breaker = 100;
  const auto allowed = [&] {
    return core_->commits().gate().check_columns("shop", "sums", {{.name = "taps"}, {.name = "largest"}});
  };
  EXPECT_FALSE(allowed().ok());
  install(m, kMain, {{"sums.graph", sums()}});
  EXPECT_TRUE(allowed().ok()) << allowed().error().message();
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  ASSERT_TRUE(core_->remove("shop").ok());
  ASSERT_FALSE(allowed().ok());
  EXPECT_NE(allowed().error().message().find("without a policy"), std::string::npos);
  // One send is left of the two.
  install(m, kMain, {{"sums.graph", sums()}});
  EXPECT_TRUE(allowed().ok());
  for (const int64_t item : {2, 3}) {
    tap(item);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  }
  EXPECT_EQ(sent().size(), 2u);
  EXPECT_EQ(items("shop"), (std::vector<int64_t>{1, 2}));
}

TEST_F(StreamCalls, AVersionWithoutAFeatureTakesItsPolicyAway) {
  open();
  install(task(), kMain, {{"sums.graph", sums()}});
  Manifest m = task();
  m.version = "2.0.0";
  m.features.clear();
  install(m, kMain, {{"sums.graph", sums()}});
  const Status now = core_->commits().gate().check_columns("shop", "sums", {});
  ASSERT_FALSE(now.ok());
  EXPECT_NE(now.error().message().find("without a policy"), std::string::npos);
}

TEST_F(StreamCalls, RowsDoNotOutliveTheirFiring) {
  open();
  install(task(), R"(
import walle
kept = []

def main(event):
    kept.append(walle.stream.run('sums.graph', event))
    try:
        return {'item': len(kept[0]), 'text': 'here'}
    except ValueError as error:
        return {'item': -1, 'text': str(error)}
)",
          {{"sums.graph", sums()}});
  for (const int64_t item : {1, 2}) {
    tap(item);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  }
  EXPECT_EQ(items("shop"), (std::vector<int64_t>{1, -1}));
}

}  // namespace
}  // namespace walle::container
