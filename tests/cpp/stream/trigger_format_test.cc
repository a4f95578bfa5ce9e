// The canonical text of a trigger means what the trigger means.
#include <gtest/gtest.h>

#include "stream/trigger_spec.h"

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

// A star is a wildcard in the place of an event or a page, and a name like any other elsewhere; words of the language are
// names when they are quoted.
INSTANTIATE_TEST_SUITE_P(Names, TriggerFormat,
                         testing::Values("*@p > a", "a[\"*\" == 1 and not \"within\" == \"k\"]", "a > b scope by(\"*\")",
                                         "a when \"*\" or not \"every\"", "\"gap\"@\"per\" ~ \"two words\"[\"a b\" in (1, 2)]",
                                         "a !c[\"*\" == 2] ~(1m) b"));

}  // namespace walle::stream
