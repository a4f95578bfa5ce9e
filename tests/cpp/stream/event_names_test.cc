// Events by their names, and sets of triggers that are given events from outside.
#include "stream/event/event_names.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "stream/match/trigger_set.h"

namespace walle::stream {
namespace {

Catalog shop() {
  Catalog c;
  const FieldDecl price{.name = "price", .type = ColumnType::real};
  const FieldDecl item{.name = "item", .type = ColumnType::integer};
  if (!c.declare({"click", EventKind::click, {price, item}}).ok()) std::abort();
  if (!c.page("home").ok() || !c.state("wifi").ok()) std::abort();
  return c;
}

std::string message(const Status& status) { return status.ok() ? "" : status.error().message(); }

TEST(EventNames, EventsPagesAndStates) {
  const Catalog c = shop();
  const Event click = event_by_name(c, "click", "home", 5, true).value();
  EXPECT_EQ(click.event, *c.find_event("click"));
  EXPECT_EQ(page_name(c, click), "home");
  EXPECT_EQ(click.ts, 5);
  EXPECT_EQ(click.flags, 0) << "only a state can be on";
  const Event on = event_by_name(c, "app_state", "wifi", 5, true).value();
  EXPECT_EQ(page_name(c, on), "wifi");
  EXPECT_EQ(on.flags, kStateOn);
  EXPECT_EQ(event_by_name(c, "click", "", 5, false)->page, kNoPage);
}

TEST(EventNames, SayWhatIsNotDeclared) {
  const Catalog c = shop();
  EXPECT_NE(message(event_by_name(c, "clack", "", 0, false).status()).find("event 'clack'"),
            std::string::npos);
  EXPECT_NE(message(event_by_name(c, "click", "shop", 0, false).status()).find("page 'shop'"),
            std::string::npos);
  EXPECT_NE(message(event_by_name(c, "app_state", "", 0, true).status()).find("state ''"), std::string::npos);
  const uint16_t click = *c.find_event("click");
  EXPECT_EQ(field_by_name(c, click, "item").value(), 1u);
  EXPECT_NE(message(field_by_name(c, click, "colour").status()).find("field 'colour'"), std::string::npos);
}

TEST(TriggerSetSteps, RefuseWhatALogWouldHaveMended) {
  const Catalog c = shop();
  TriggerSet set(c);
  ASSERT_TRUE(set.add("two", "click ~ click").ok());
  FiringQueue fired(8);
  Event e = event_by_name(c, "click", "home", 1000, false).value();
  e.seq = 1;
  ASSERT_TRUE(set.step(e, fired).ok());
  e.seq = 2;
  e.ts = 999;
  EXPECT_NE(message(set.step(e, fired)).find("order of time"), std::string::npos);
  e.ts = 1001;
  const std::vector<Value> wrong = {Value::of(std::string_view("dear"))};
  e.contents = wrong;
  EXPECT_NE(message(set.step(e, fired)).find("field 'price'"), std::string::npos);
  EXPECT_EQ(set.matcher().stats().events, 1u) << "refused events leave no trace";
  e.contents = {};
  ASSERT_TRUE(set.step(e, fired).ok());
  Firing firing;
  EXPECT_TRUE(fired.pop(firing));
}

}  // namespace
}  // namespace walle::stream
