#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace walle {
namespace {

std::string joined(Text text) { return text.str(); }

TEST(Text, IsWhatItWasMadeOf) {
  EXPECT_EQ(joined("chars"), "chars");
  EXPECT_EQ(joined(std::string("owned")), "owned");
  EXPECT_EQ(joined(std::string_view("a view").substr(2)), "view");
  EXPECT_EQ(joined({}), "");
}

TEST(Text, WritesNumbersOfEveryWidthAndSign) {
  EXPECT_EQ(joined(0), "0");
  EXPECT_EQ(joined(uint8_t{200}), "200");
  EXPECT_EQ(joined(int8_t{-3}), "-3");
  EXPECT_EQ(joined(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(joined(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
}

TEST(Text, WritesRealNumbersAsShortAsTheyAre) {
  EXPECT_EQ(joined(0.5), "0.5");
  EXPECT_EQ(joined(-3.0f), "-3");
  EXPECT_EQ(joined(-1.797693134862315e308), "-1.797693135e+308");
  EXPECT_EQ(joined(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, JoinsPartsInOrder) {
  const std::string name = "score";
  EXPECT_EQ(joined({"table '", name, "' of ", 7, " rows"}), "table 'score' of 7 rows");
  EXPECT_EQ(joined({"a", {"b", {1, "c"}}, "d"}), "ab1cd");
}

}  // namespace
}  // namespace walle
