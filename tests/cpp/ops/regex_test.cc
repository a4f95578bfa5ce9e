// The regular expressions of RegexFullMatch and Tokenizer.
#include "ops/control/regex.h"

#include <gtest/gtest.h>

namespace walle::ops {
namespace {

bool full(const std::string& pattern, const std::string& text) {
  auto made = Regex::compile(pattern);
  EXPECT_TRUE(made.ok()) << pattern << ": " << (made.ok() ? "" : made.error().message());
  return made.ok() && made->matches(text);
}

struct Example {
  const char* pattern;
  std::vector<const char*> matches;
  std::vector<const char*> others;
};

TEST(Regex, WholeStrings) {
  const Example examples[] = {
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", "xabc", ""}},
      {"a*b+c?", {"b", "aabbc", "abc"}, {"a", "c", "abcc"}},
      {"a*?b", {"b", "aaab"}, {"a"}},
      {"(ab|cd)*", {"", "ab", "cdab", "abab"}, {"a", "abc"}},
      {"(?:a|b){2,3}", {"ab", "bbb"}, {"a", "abab"}},
      {"(?P<year>\\d{4})-\\d{2}", {"2024-07"}, {"202-07", "2024-7"}},
      {"a{2}", {"aa"}, {"a", "aaa"}},
      {"a{2,}", {"aa", "aaaaa"}, {"a"}},
      {"a{,2}", {"a{,2}"}, {"a"}},
      {"[a-c]+[^x]", {"abd", "a-"}, {"abx", "x"}},
      {"[\\w.-]+", {"a.b-c_1"}, {"a b", ""}},
      {"[]a]+", {"]a"}, {"b"}},
      {"[^\\d]", {"a", "ü"}, {"1"}},
      {"\\$\\.\\x41\\x{fc}", {"$.Aü"}, {"$.Aa"}},
      {".", {"ü", "a", "漢"}, {"\n", "ab"}},
      {"^a$", {"a"}, {"aa"}},
      {"(\\W|^)b\\b.*", {"b", " b c", "b-"}, {"bc", "ab"}},
      {"\\Ba", {}, {"a"}},
      {"x(^a)?", {"x"}, {"xa"}},
  };
  for (const Example& e : examples) {
    for (const char* text : e.matches) EXPECT_TRUE(full(e.pattern, text)) << e.pattern << " on " << text;
    for (const char* text : e.others) EXPECT_FALSE(full(e.pattern, text)) << e.pattern << " on " << text;
  }
}

TEST(Regex, TakesTimeLinearInTheText) {
  // A backtracking engine needs 2^n steps for these.
  const std::string text(20000, 'a');
  EXPECT_FALSE(full("(a*)*b", text));
  EXPECT_FALSE(full("(a|a)*b", text));
  EXPECT_FALSE(full("(a?){100}a{100}b", std::string(100, 'a')));
}

TEST(Regex, AllMatches) {
  const auto words = Regex::compile("[a-zA-Z0-9_]+");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->all("the fine, print!"), (std::vector<std::string>{"the", "fine", "print"}));
  EXPECT_EQ(words->all(""), std::vector<std::string>{});
  const auto letter = Regex::compile(".");
  EXPECT_EQ(letter->all("aü漢"), (std::vector<std::string>{"a", "ü", "漢"}));
}

TEST(Regex, RefusesWhatItDoesNotKnow) {
  for (const char* pattern : {"(",      ")",       "a)",   "[a",          "*a",
                              "a**",    "(?m)a",   "(?)a", "(?i",         "(?--i)a",
                              "(?=a)",  "(?<=a)b", "\\1",  "\\p{L}",      "a{1001}",
                              "a{3,2}", "[z-a]",   "\\",   "[[:alpha:]]", "((a{900}){900})",
                              "\\xg"})
    EXPECT_FALSE(Regex::compile(pattern).ok()) << pattern;
  EXPECT_FALSE(Regex::compile(std::string(100000, '(')).ok());
}

TEST(Regex, BytesThatAreNoTextStandForThemselves) {
  EXPECT_TRUE(full("a.b",
                   "a\xff"
                   "b"));
  EXPECT_TRUE(full(".", "\xc3"));
}

}  // namespace
}  // namespace walle::ops
