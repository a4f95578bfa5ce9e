#include "link/trust/path_match.h"

#include <gtest/gtest.h>

#include <chrono>

namespace walle::link {
namespace {

TEST(PathMatch, StarsAndQuestionMarksStayInsideOneFolder) {
  struct Case {
    const char *path, *pattern;
    bool matches;
  };
  for (const Case& c : {Case{"a", "*", true},
                        {"", "*", true},
                        {"", "", true},
                        {"a", "", false},
                        {"a/b", "*", false},
                        {"a/b", "*/*", true},
                        {"a/b", "a/*", true},
                        {"a/", "a/*", true},
                        {"a/b/c", "a/*", false},
                        {"a/b/c", "a/*/c", true},
                        {"a/b/d/c", "a/*/c", false},
                        {"foo-1.tgz", "foo-?.tgz", true},
                        {"foo-.tgz", "foo-?.tgz", false},
                        {"a/c", "a?c", false},
                        {"a?c", "a?c", true},
                        {"\xc3\xa9", "?", true},
                        {"aXbXc", "a*b*c", true},
                        {"abcabd", "*abd", true},
                        {"a/xb", "a*/*b", true},
                        {"aa/b", "*a/b", true},
                        {"README.MD", "*.md", false},
                        {"[a]", "[a]", true},
                        {"a", "[a]", false},
                        {"ab", "a*b*", true},
                        {"a**", "a**", true}})
    EXPECT_EQ(matches_pattern(c.path, c.pattern), c.matches) << c.path << " in " << c.pattern;
}

// A pattern that backtracks exponentially in a naive matcher.
TEST(PathMatch, CostsPathTimesPatternAtMost) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches_pattern(std::string(20'000, 'a') + "b", pattern));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(PathMatch, PrefixesOfTheDigestCover) {
  Delegation by_hash;
  by_hash.path_hash_prefixes = {"0a", "ff0"};
  EXPECT_TRUE(covers(by_hash, "any", "0a12"));
  EXPECT_TRUE(covers(by_hash, "any", "ff01"));
  EXPECT_FALSE(covers(by_hash, "any", "ff12"));
  EXPECT_FALSE(covers(Delegation{}, "any", "ff12"));
}

TEST(PathMatch, NamesBecomeOneFile) {
  EXPECT_EQ(encode_name("../a b/\xc3\xa9?"), "..%2Fa%20b%2F%C3%A9%3F");
  EXPECT_EQ(encode_path("a/b c#d"), "a/b%20c%23d");
  EXPECT_EQ(encode_name("Az09-._~"), "Az09-._~");
}

}  // namespace
}  // namespace walle::link
