#include "base/utf8.h"

#include <gtest/gtest.h>

namespace walle::base {
namespace {

TEST(Utf8, AcceptsTextOfEveryLength) {
  for (const char* text :
       {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x99\x82", "a\xC3\xA4z\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(valid_utf8(text)) << text;
}

TEST(Utf8, RefusesWhatIsNoText) {
  // A lone continuation, cut sequences, overlong forms, a surrogate, beyond U+10FFFF, bytes that never occur.
  for (const char* bytes :
       {"\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x99", "\xC0\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80",
        "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFE", "\xC3(", "ok\xFF"})
    EXPECT_FALSE(valid_utf8(bytes)) << bytes;
}

TEST(Utf8, RepairsWhatIsNoTextAndLeavesTheRest) {
  EXPECT_EQ(repaired_utf8("a\xC3\xA4z"), "a\xC3\xA4z");
  EXPECT_EQ(repaired_utf8("\xA4z\xC3"), "\xEF\xBF\xBDz\xEF\xBF\xBD");
}

}  // namespace
}  // namespace walle::base
