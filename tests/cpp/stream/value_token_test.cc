// Predicates that ask for one value are found by it, and answer as if all had been asked.
#include "stream/match/value_token.h"

#include <gtest/gtest.h>

#include "stream/matcher_case.h"

namespace walle::stream::testing {
namespace {

Catalog typed_world() {
  Catalog c;
  const EventDecl shown{"shown",
                        EventKind::custom,
                        {{"item", ColumnType::integer, Sensitivity::open, 0},
                         {"price", ColumnType::real, Sensitivity::open, 0},
                         {"brand", ColumnType::text, Sensitivity::open, 0},
                         {"sale", ColumnType::boolean, Sensitivity::open, 0}}};
  EXPECT_TRUE(c.declare(shown).ok());
  EXPECT_TRUE(c.declare({"buy", EventKind::custom, shown.fields}).ok());
  EXPECT_TRUE(c.page("home").ok());
  return c;
}

struct Names : FiringSink {
  std::vector<uint16_t> ids;
  void fired(const Firing& f, const MatchPlace&) override { ids.push_back(f.trigger); }
};

// Every equality stands beside its own double negation, which no index finds.
TEST(ValueTokens, IndexedAndScannedAgree) {
  const Catalog catalog = typed_world();
  std::mt19937_64 random(5);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::vector<std::string> asked = {"item == 0",
                                          "item == 1",
                                          "item == 1.0",
                                          "item == -3",
                                          "item == 9007199254740993",
                                          "price == 0",
                                          "price == 1",
                                          "price == 1.5",
                                          "price == -0.0",
                                          "brand == \"\"",
                                          "brand == \"a\"",
                                          "brand == \"b\"",
                                          "sale",
                                          "sale == false",
                                          "item == 1 and price > 0",
                                          "price > 0 and item == 1",
                                          "item == 1 and brand == \"a\"",
                                          "item == 1 or brand == \"a\""};
  const std::vector<std::string> shapes = {"shown[P]",
                                           "shown@home[P]",
                                           "*[P]",
                                           "*@home[P]",
                                           "shown[P] > *",
                                           "shown !buy[P] ~ shown[P]",
                                           "buy ~ (shown[P] | buy[P])",
                                           "buy[P] ~ shown[P] ~ * within 5us"};
  const auto with = [](std::string text, const std::string& predicate) {
    for (size_t at = 0; (at = text.find('P')) != std::string::npos;) text.replace(at, 1, predicate);
    return text;
  };
  Matcher indexed(catalog), scanned(catalog);
  std::vector<std::pair<CompiledTrigger, CompiledTrigger>> all;
  for (const std::string& shape : shapes)
    for (const std::string& p : asked) {
      const std::string one = with(shape, p), other = with(shape, "not not (" + p + ")");
      all.emplace_back(*compile_trigger(*parse_trigger(one), catalog),
                       *compile_trigger(*parse_trigger(other), catalog));
      ASSERT_EQ(*indexed.add(all.back().first), *scanned.add(all.back().second));
    }
  const int64_t items[] = {0, 1, -3, 9007199254740993, 9007199254740992};
  const double prices[] = {0.0, -0.0, 1.0, 1.5};
  const std::string_view brands[] = {"", "a", "b"};
  size_t fired = 0;
  for (uint64_t i = 1; i <= 4000; ++i) {
    Value contents[4];
    if (below(4)) contents[0] = Value::of(items[below(5)]);
    if (below(4)) contents[1] = Value::of(prices[below(4)]);
    if (below(4)) contents[2] = Value::of(brands[below(3)]);
    if (below(4)) contents[3] = Value::of(below(2) == 1);
    Event e;
    e.seq = i;
    e.ts = static_cast<int64_t>(i / 2);
    e.event = *catalog.find_event(below(2) ? "shown" : "buy");
    e.page = static_cast<uint16_t>(below(2));
    e.contents = contents;
    Names a, b;
    indexed.step(e, a);
    scanned.step(e, b);
    std::sort(a.ids.begin(), a.ids.end());
    std::sort(b.ids.begin(), b.ids.end());
    ASSERT_EQ(a.ids, b.ids) << "event " << i;
    fired += a.ids.size();
    if (i == 2000) {  // by path: numbers and order of adding are another's business
      const std::string state = indexed.snapshot();
      ASSERT_EQ(indexed.restore(state).value(), 0u);
    }
  }
  EXPECT_GT(fired, 10'000u);
  for (uint16_t id = 0; id < all.size(); ++id) indexed.remove(id, all[id].first);
  EXPECT_EQ(indexed.node_count(), 0u);
  EXPECT_EQ(indexed.edge_count(), 0u);
}

TEST(ValueTokens, AreThoseOfEqualitiesThatMustHold) {
  const Catalog catalog = typed_world();
  const auto token = [&](const std::string& predicate) {
    auto spec = parse_trigger("shown[" + predicate + "]");
    Predicate p = spec->steps[0].any_of[0].predicate;
    EXPECT_TRUE(p.resolve(catalog, *catalog.find_event("shown")).ok());
    return value_token(p);
  };
  EXPECT_NE(token("item == 7").hash, 0u);
  EXPECT_EQ(token("item == 7").hash, token("item == 7 and price > 2").hash);
  EXPECT_EQ(token("item == 7").hash, token("price > 2 and item == 7").hash);
  EXPECT_EQ(token("item == 7").hash, value_hash(token("item == 7").field, Value::of(int64_t{7})));
  EXPECT_EQ(token("price == 7").hash, value_hash(token("price == 7").field, Value::of(7.0)));
  for (const char* open :
       {"item != 7", "item > 7", "not item == 7", "item == 7 or sale", "item in (7, 8)", "exists item"})
    EXPECT_EQ(token(open).hash, 0u) << open;
}

}  // namespace
}  // namespace walle::stream::testing
