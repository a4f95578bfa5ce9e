#include "runtime/session_debug.h"

#include <gtest/gtest.h>

namespace walle::runtime {
namespace {

TEST(SessionDebug, EachSwitchHasItsWord) {
  EXPECT_FALSE(parse_debug("")->placement.has_value());
#define WALLE_SESSION_SWITCH(name)             \
  EXPECT_TRUE(parse_debug("")->name) << #name; \
  EXPECT_FALSE(parse_debug(#name "=off")->name) << #name;
#include "runtime/session_switch.inc"
}

TEST(SessionDebug, WordsAddUp) {
  const auto both = parse_debug("fuse=off,placement=random:18446744073709551615,search=off");
  ASSERT_TRUE(both.ok()) << both.error().message();
  EXPECT_FALSE(both->fuse);
  EXPECT_FALSE(both->search);
  EXPECT_TRUE(both->merge);
  EXPECT_EQ(both->placement, 18446744073709551615ULL);
}

TEST(SessionDebug, OtherWordsAreRefused) {
  for (const char* bad : {"search", "search=on", "Search=off", "search=off,", ",", " search=off",
                          "placement=cost", "placement=random", "placement=random:", "placement=random:-1",
                          "placement=random:1x", "placement=random:18446744073709551616"}) {
    const auto debug = parse_debug(bad);
    ASSERT_FALSE(debug.ok()) << bad;
    EXPECT_EQ(debug.error().group(), base::ErrorGroup::argument);
    EXPECT_NE(debug.error().message().find("fuse=off"), std::string::npos) << debug.error().message();
  }
}

}  // namespace
}  // namespace walle::runtime
