#include "stream/trigger/trigger_names.h"

#include <gtest/gtest.h>

namespace walle::stream {
namespace {

using Names = std::set<std::string>;

TriggerNames names(std::string_view text) { return names_in(parse_trigger(text).value()); }

TEST(TriggerNames, ComeFromEveryPlaceATriggerHasThem) {
  const TriggerNames found =
      names("a@p[x > 1] !b ~ (c | d@q) !~ e for 5s when wifi and not low scope by(user)");
  EXPECT_EQ(found.events, (Names{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(found.pages, (Names{"p", "q"}));
  EXPECT_EQ(found.states, (Names{"low", "wifi"}));
  EXPECT_EQ(found.fields,
            (std::map<std::string, ColumnType>{{"user", ColumnType::text}, {"x", ColumnType::real}}));
}

TEST(TriggerNames, LiteralsSuggestTheTypesOfFields) {
  const TriggerNames found =
      names("a[i == 1 and f < 0.5 and t in (\"u\", \"v\") and b == true and exists e] scope by(i)");
  EXPECT_EQ(found.fields, (std::map<std::string, ColumnType>{{"b", ColumnType::boolean},
                                                             {"e", ColumnType::real},
                                                             {"f", ColumnType::real},
                                                             {"i", ColumnType::real},
                                                             {"t", ColumnType::text}}));
}

TEST(TriggerNames, WildcardsAndTimersNameNothing) {
  for (const char* text : {"* > *@*", "every 5m"}) {
    const TriggerNames found = names(text);
    EXPECT_TRUE(found.events.empty() && found.pages.empty() && found.states.empty() && found.fields.empty())
        << text;
  }
}

}  // namespace
}  // namespace walle::stream
