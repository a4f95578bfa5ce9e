// A page's events out of a log, whose own memory is used again for the next event it reads.
#include "stream/operators/page_events.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "stream/event/event_names.h"

namespace walle::stream {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000;

class PageEventsTest : public testing::Test {
 protected:
  void SetUp() override {
    Catalog c;
    ASSERT_TRUE(c.declare({"click", EventKind::click, {{.name = "what", .type = ColumnType::text}}}).ok());
    ASSERT_TRUE(c.page("item").ok());
    log_ = EventLog::open(env_, "/log", c).value();
  }

  uint64_t append(const char* name, const std::string& what = {}) {
    ++ts_;
    Event e = event_by_name(log_->catalog(), name, "item", ts_, false).value();
    const std::vector<Value> contents = {Value::of(std::string_view(what))};
    if (!what.empty()) e.contents = contents;
    return log_->append(e)->seq;
  }

  base::FaultEnv env_;
  int64_t ts_ = kStart;
  std::unique_ptr<EventLog> log_;
};

TEST_F(PageEventsTest, AreThoseOfTheInstanceWithTheirTexts) {
  const uint64_t first = append("page_enter");
  append("click", "first page, a text that no small string holds");
  append("page_exit");
  const uint64_t second = append("page_enter");
  append("click", "second page, a text that no small string holds");
  const PageEvents page = PageEvents::read(*log_, first).value();
  ASSERT_EQ(page.events().size(), 3u);
  EXPECT_EQ(page.events()[1].contents[0].text, "first page, a text that no small string holds");
  PageEvents open = PageEvents::read(*log_, second).value();
  const PageEvents moved = std::move(open);
  ASSERT_EQ(moved.events().size(), 2u) << "a page without an exit ends with the log";
  EXPECT_EQ(moved.events()[1].contents[0].text, "second page, a text that no small string holds");
}

TEST_F(PageEventsTest, OfAnUnknownInstanceAreNone) {
  append("page_enter");
  EXPECT_TRUE(PageEvents::read(*log_, 77)->events().empty());
}

TEST_F(PageEventsTest, FieldsAreThoseTheCatalogueDeclares) {
  const IpvFields fields = ipv_fields(log_->catalog());
  EXPECT_EQ(fields.scroll_depth, -1);
  EXPECT_EQ(fields.click_item, -1);
}

}  // namespace
}  // namespace walle::stream
