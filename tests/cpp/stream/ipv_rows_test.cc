// The item page view as an operator: the bytes of the function over the log's own events.
#include <cstring>
#include <random>

#include "base/fault_env.h"
#include "stream/event/event_names.h"
#include "stream/graph/graph.h"
#include "stream/operators/page_events.h"
#include "stream/random_graph.h"

namespace walle::stream {
namespace {

using namespace testing;

class IpvRows : public ::testing::Test {
 protected:
  void SetUp() override {
    Catalog c;
    ASSERT_TRUE(
        c.declare({"page_scroll", EventKind::page_scroll, {{.name = "depth", .type = ColumnType::real}}})
            .ok());
    ASSERT_TRUE(
        c.declare({"exposure", EventKind::exposure, {{.name = "item", .type = ColumnType::integer}}}).ok());
    ASSERT_TRUE(c.declare({"click", EventKind::click, {{.name = "item", .type = ColumnType::integer}}}).ok());
    for (const char* page : {"list", "item"}) ASSERT_TRUE(c.page(page).ok());
    log_ = EventLog::open(env_, "/log", c).value();
  }
  uint64_t append(const char* name, const char* page, std::optional<Value> value = {}) {
    env_.advance_us(1 + static_cast<int64_t>(random_() % 3'000'000));
    Event e = event_by_name(log_->catalog(), name, page, env_.wall_us(), false).value();
    std::vector<Value> contents;
    if (value) contents.push_back(*value);
    e.contents = contents;
    return log_->append(e)->seq;
  }
  void visit(const char* page) {
    pages_.push_back(append("page_enter", page));
    for (uint64_t n = random_() % 40; n > 0; --n) switch (random_() % 4) {
        case 0: append("page_scroll", page, Value::of(static_cast<double>(random_() % 100) / 10)); break;
        case 1: append("exposure", page, Value::of(static_cast<int64_t>(random_() % 7))); break;
        case 2: append("click", page, Value::of(static_cast<int64_t>(random_() % 9))); break;
        default: append("page_scroll", page); break;
      }
    append("page_exit", page);
  }

  base::FaultEnv env_;
  std::mt19937_64 random_{5};
  std::unique_ptr<EventLog> log_;
  std::vector<uint64_t> pages_;
};

TEST_F(IpvRows, AreTheFeatureOfEachPageToTheByte) {
  for (int i = 0; i < 30; ++i) visit(i % 2 ? "item" : "list");
  Graph graph = *Graph::make({{{IpvSpec{}}}});
  const TracedBatch in = *TracedBatch::of_log(*log_, fields_read(graph.spec()), {}, -1);
  const TracedBatch out = *graph.run(in);
  ASSERT_EQ(out.rows().rows(), pages_.size());
  const Cells features = column(out.rows(), "ipv"), instances = column(out.rows(), "page_instance");
  for (size_t i = 0; i < pages_.size(); ++i) {
    const auto instance = static_cast<uint64_t>(instances[i].cell().i);
    const PageEvents page = *PageEvents::read(*log_, instance);
    Floats expected(kIpvFloats);
    ipv_feature(page.events(), log_->catalog(), ipv_fields(log_->catalog()),
                std::span<float, kIpvFloats>(expected.data(), kIpvFloats));
    EXPECT_TRUE(identical(features[i].cell(), Cell::of(std::span<const float>(expected))));
    EXPECT_EQ(out.rows().support[i], static_cast<int64_t>(page.events().size()));
  }
  EXPECT_EQ(graph.late() + graph.outside(), 0u);
}

TEST(Ipv, PagesEndWithTheirExitWhenIdleOrWhenTheyAreTooLong) {
  const auto rows = [](std::vector<int64_t> ts, std::initializer_list<int64_t> pages,
                       std::initializer_list<const char*> events) {
    const Cells nothing(ts.size(), kAbsent);
    return batch(
        std::move(ts),
        {{"page_instance", ints(pages)}, {"event", texts(events)}, {"depth", nothing}, {"item", nothing}});
  };
  auto op = std::move(*make_ipv({.idle_us = 100}));
  EXPECT_EQ(push(*op, rows({0, 5, 6}, {1, 1, 0}, {"page_enter", "click", "click"})).rows(), 0u);
  EXPECT_EQ(op->outside(), 1u) << "0 is no page";
  const Batch left = push(*op, rows({9, 10}, {1, 2}, {"page_exit", "page_enter"}));
  EXPECT_EQ(left.ts, std::vector<int64_t>{9});
  EXPECT_EQ(left.support, std::vector<int64_t>{3});
  EXPECT_EQ(column(left, "window_start"), ints({0}));
  EXPECT_EQ(push(*op, rows({8}, {1}, {"click"})).rows(), 0u);
  EXPECT_EQ(op->late(), 1u) << "behind its exit";
  const Batch idle = push(*op, rows({110}, {3}, {"page_enter"}));
  EXPECT_EQ(idle.ts, std::vector<int64_t>{110}) << "10 + 100: the watermark reaches it";
  EXPECT_EQ(finish(*op).rows(), 1u);
  auto full = std::move(*make_ipv({.idle_us = 100}));
  const size_t n = kIpvRows + 2;
  Batch many = batch(std::vector<int64_t>(n, 5), {{"page_instance", Cells(n, int64_t{1})},
                                                  {"event", Cells(n, std::string("click"))},
                                                  {"depth", Cells(n)},
                                                  {"item", Cells(n)}});
  EXPECT_EQ(push(*full, many).support, std::vector<int64_t>{static_cast<int64_t>(kIpvRows)});
  EXPECT_EQ(full->late(), 2u);
  refuses(make_ipv({.idle_us = 0}), "positive time");
  refuses(full->push(batch({1}, {{"event", texts({"click"})}})), "column 'page_instance'");
}

}  // namespace
}  // namespace walle::stream
