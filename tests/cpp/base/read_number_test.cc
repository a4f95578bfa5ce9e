#include "base/read_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "seed.h"

namespace walle {
namespace {

// What a text says, by both ways: how much of it was read, whether it fits, and the number to the bit.
template <class T>
void expect_the_same(const std::string& text) {
  T own = 7, strtod = 7;
  const char *first = text.data(), *last = first + text.size();
  const auto a = read_number(first, last, own);
  const auto b = read_number_by_strtod(first, last, strtod);
  EXPECT_EQ(a.ptr - first, b.ptr - first) << "'" << text << "'";
  EXPECT_EQ(a.ec, b.ec) << "'" << text << "'";
  if (std::isnan(own))
    EXPECT_TRUE(std::isnan(strtod)) << "'" << text << "'";
  else
    EXPECT_EQ(std::memcmp(&own, &strtod, sizeof own), 0) << "'" << text << "' " << own << " " << strtod;
}

TEST(ReadNumber, SpellingsReadAlikeByBothWays) {
  for (const char* text :
       {"",         "-",        "+1",     " 1",           "1 ",    ".",      "1.",   ".5",
        "-.5e1",    "1e",       "1e+",    "1e-3x",        "0x10",  "1_000",  "inf",  "-INF",
        "Infinity", "infinit",  "nan",    "NaN(12)",      "nan(",  "nan(-)", "-nan", "1e400",
        "-1e400",   "1e-400",   "0e-999", "0.0e400",      "1,5",   "1.5.2",  "--1",  "1e39",
        "1e-50",    "4.9e-324", "2e-324", "3.4028236e38", "1e-45", "0.1",    "-0",   "00012"}) {
    expect_the_same<double>(text);
    expect_the_same<float>(text);
  }
}

TEST(ReadNumber, RandomTextsReadAlikeByBothWays) {
  std::mt19937 rng(test_seed());
  const std::string letters = "0123456789012345678901234567890123456789..-+eEinfa()x ";
  for (int n = 0; n < 20'000; ++n) {
    std::string text(rng() % 24, ' ');
    for (char& c : text) c = letters[rng() % letters.size()];
    expect_the_same<double>(text);
    expect_the_same<float>(text);
  }
}

TEST(ReadNumber, NothingBehindTheEndIsLookedAt) {
  const std::string text = "12345";
  double value = 0;
  const auto read = read_number_by_strtod(text.data(), text.data() + 2, value);
  EXPECT_EQ(value, 12);
  EXPECT_EQ(read.ptr, text.data() + 2);
}

}  // namespace
}  // namespace walle
