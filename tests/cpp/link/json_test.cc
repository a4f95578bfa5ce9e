#include "link/trust/json.h"

#include <gtest/gtest.h>

#include "link/limits.h"

namespace walle::link {
namespace {

std::string canonical(std::string_view text) {
  const auto parsed = parse_json(text, "test");
  return parsed.ok() ? parsed->canonical() : "refused: " + parsed.error().message();
}

TEST(Json, TheCanonicalFormIsSortedAndWithoutBlanks) {
  EXPECT_EQ(canonical(R"( {"b" : [1, -2, true, null], "a": {}} )"), R"({"a":{},"b":[1,-2,true,null]})");
  EXPECT_EQ(canonical("[]"), "[]");
  EXPECT_EQ(canonical(R"("\u00e9")"), "\"\xc3\xa9\"");
  // Only the quote and the backslash are escaped: control characters stand as they are.
  EXPECT_EQ(canonical(R"("\"\\\n\u0001")"), "\"\\\"\\\\\n\x01\"");
  EXPECT_EQ(canonical("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(canonical("-9223372036854775808"), "-9223372036854775808");
  // By code points, as Python sorts: U+FF61 before U+1F600, the other way round in UTF-16.
  EXPECT_EQ(canonical("{\"\xf0\x9f\x98\x80\":1,\"\xef\xbd\xa1\":2}"),
            "{\"\xef\xbd\xa1\":2,\"\xf0\x9f\x98\x80\":1}");
}

TEST(Json, RefusesWhatHasNoCanonicalFormOrTwoMeanings) {
  for (const std::string bad : {R"({"a":1,"a":2})",
                                R"({"x":{"a":1,"b":2,"a":1}})",
                                "1.5",
                                "1e3",
                                "-0.0",
                                "9223372036854775808",
                                "18446744073709551616",
                                "NaN",
                                "Infinity",
                                "[1,]",
                                "{\"a\":1,}",
                                "{a:1}",
                                "'a'",
                                "// c\n1",
                                "[1] 2",
                                "",
                                " ",
                                "\xef\xbb\xbf[]",
                                "\"\xff\"",
                                "\"\xed\xa0\x80\"",
                                R"("\ud800")",
                                "\"a\nb\"",
                                "[01]",
                                "+1",
                                "tru"}) {
    const auto parsed = parse_json(bad, "the file");
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_NE(parsed.error().message().find("the file"), std::string::npos) << parsed.error().message();
  }
}

TEST(Json, DepthAndNumberOfValuesAreBounded) {
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth), "t").ok());
  EXPECT_FALSE(parse_json(nested(kMostJsonDepth + 1), "t").ok());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "t").ok());
  const auto flat = [](size_t values) {
    std::string out = "[0";
    for (size_t i = 1; i < values; ++i) out += ",0";
    return out + "]";
  };
  EXPECT_TRUE(parse_json(flat(kMostJsonValues - 1), "t").ok());  // the array is one, too
  EXPECT_FALSE(parse_json(flat(kMostJsonValues), "t").ok());
}

TEST(Json, FindsMembersOfObjectsAlone) {
  const Json object = *parse_json(R"({"b":1,"a":"x"})", "t");
  ASSERT_NE(object.find("a"), nullptr);
  EXPECT_EQ(*object.find("a")->text(), "x");
  EXPECT_EQ(object.find("c"), nullptr);
  EXPECT_EQ(object.find("b")->find("a"), nullptr);
}

// What is cut anywhere is refused, and nothing is read behind the end.
TEST(Json, EveryPrefixIsRefused) {
  const std::string whole = R"({"a":[1,{"b":"\u00e9\n"}],"c":null})";
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut(whole, 0, size);
    EXPECT_FALSE(parse_json(cut, "t").ok()) << cut;
  }
}

}  // namespace
}  // namespace walle::link
