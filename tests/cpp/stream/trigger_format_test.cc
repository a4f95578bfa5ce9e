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
  for (int i = 1; i < 128; ++i) guard += "||x";
  guard += "]";
  std::string text;
  for (int step = 0; step < 16; ++step)
    text += (step ? " > (" : "(") + guard + " | " + guard + " | " + guard + ")";
  const auto refused = parse_trigger(text);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("written out"), std::string::npos) << refused.error().message();
}

}  // namespace walle::stream
