// The canonical text of a trigger means what the trigger means.
#include <gtest/gtest.h>

#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

class TriggerFormat : public testing::TestWithParam<const char*> {};

TEST_P(TriggerFormat, IsReadAsTheSameTrigger) {
  const auto spec = parse_trigger(GetParam());
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  const std::string text = format_trigger(*spec);
  const auto again = parse_trigger(text);
  ASSERT_TRUE(again.ok()) << text << "\n" << again.error().message();
  EXPECT_TRUE(*again == *spec) << text;
  EXPECT_EQ(format_trigger(*again), text);
}

// A star is a wildcard in the place of an event or a page, and a name like any other elsewhere; words of the
// language are names when they are quoted.
INSTANTIATE_TEST_SUITE_P(Names, TriggerFormat,
                         testing::Values("*@p > a", "a[\"*\" == 1 and not \"within\" == \"k\"]",
                                         "a > b scope by(\"*\")", "a when \"*\" or not \"every\"",
                                         "\"gap\"@\"per\" ~ \"two words\"[\"a b\" in (1, 2)]",
                                         "a !c[\"*\" == 2] ~(1m) b"));

INSTANTIATE_TEST_SUITE_P(Groups, TriggerFormat,
                         testing::Values("a[x == 1 or x == 2 and x == 3]", "a[(x == 1 or x == 2) and x == 3]",
                                         "a[x == 1 or (x == 2 or x == 3)]",
                                         "a[x == 1 and (x == 2 and not (x == 3 or exists s))]"));

INSTANTIATE_TEST_SUITE_P(Limits, TriggerFormat,
                         testing::Values("a once per x", "a once per (x, page) keep 5000",
                                         "a cooldown 1h per session", "a rate 3 per 1d per \"page\"",
                                         "a rate 3 per 1d per (\"session\", session)",
                                         "a ~ b scope by(x, s, page)", "a ~ b scope by(\"page\", session)"));

INSTANTIATE_TEST_SUITE_P(Edges, TriggerFormat,
                         testing::Values("a ~>(7d..) a", "a !c ~>(1d..7d) b", "a >(1s..) b", "!c ~ a",
                                         "!(b | c) ~(10m) a ~ b", "a ~> b[x < $a.x]",
                                         "a > b[x - $\"a b\".\"x.y\" > 1]", "all(a, b | c, c@p) ~ a",
                                         "a ~ all(b, c)? ~ a", "a ~ b or c > a{2} within 5m"));

INSTANTIATE_TEST_SUITE_P(Aggregates, TriggerFormat,
                         testing::Values("count(a) > 16 within 1h", "count(a | b@p) == 3 every",
                                         "sum(x of a[x > 2]) >= -2.5", "sum(x) < 3 keep 20 within 1m",
                                         "distinct(s of (a | b)) >= 5 scope session", "count > sum"));

INSTANTIATE_TEST_SUITE_P(Arithmetic, TriggerFormat,
                         testing::Values("a[x * 2 + 1 > 3]", "a[x * (2 + y) > -(x) - -3]",
                                         "a[(x + 1) % 2 == 0]", "a[-(5) < x / y]",
                                         "a[5 < x and not x - y != 0.5]",
                                         "a[x - (y - 1) >= y or s contains \"k\"]",
                                         "a[s starts_with \"k\" and s ends_with \"\"]", "a[x < y]"));

INSTANTIATE_TEST_SUITE_P(Times, TriggerFormat,
                         testing::Values("a during fri", "a during mon-fri 18:00-22:00 or sat,sun",
                                         "a during not 22:00-07:00", "a during sat-mon 00:00-24:00",
                                         "every 1h during 08:00-20:00 when wifi"));

// Parentheses may nest 64 deep; print must not add any to a chain that has none.
TEST(TriggerFormatChain, IsAsFlatAsItWasWritten) {
  std::string text = "a[x == 0";
  for (int i = 1; i < 100; ++i) text += " or x == " + std::to_string(i);
  text += "]";
  const auto spec = parse_trigger(text);
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(format_trigger(*spec), text);
}

TEST(TriggerFormatFloats, AreTheShortestThatReadBack) {
  for (const char* text : {"a[x == 0.1]", "a[x in (1.0, 1e+300, 5e-324, 123456.789)]", "a[x < -0.0]"}) {
    const auto spec = parse_trigger(text);
    ASSERT_TRUE(spec.ok()) << spec.error().message();
    EXPECT_EQ(format_trigger(*spec), text);
  }
}

// The canonical text is stored and read again: what is short only as it was written is refused at once.
TEST(TriggerFormatLength, IsThatOfTheCanonicalText) {
  std::string guard = "a[x";
  for (int i = 1; i < 128; ++i) guard += " or x";
  guard += "]";
  std::string text;
  for (int step = 0; step < 16; ++step)
    text += (step ? " > (" : "(") + guard + " | " + guard + " | " + guard + ")";
  const auto refused = parse_trigger(text);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("written out"), std::string::npos) << refused.error().message();
}

}  // namespace walle::stream
