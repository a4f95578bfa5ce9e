#include "base/status.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace walle {
namespace {

Result<int> half(int value) {
  if (value % 2)
    return argument_error("value " + std::to_string(value), "an even value", "half", "round it first");
  return value / 2;
}

Result<int> quarter(int value) {
  WALLE_ASSIGN(const int first, half(value));
  WALLE_ASSIGN(const int second, half(first));
  return second;
}

TEST(Status, CarriesTheFourPartsOfAMessage) {
  const auto result = half(3);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "value 3; expected an even value [at half]. Next: round it first");
}

TEST(Status, MessagesAreTextWhateverTheyQuote) {
  Error cut = argument_error("name '\xC3\xA4\xC3'", "text", "\xFF", "correct it");
  cut.within("\xA4");
  EXPECT_TRUE(base::valid_utf8(cut.message())) << cut.message();
  EXPECT_EQ(cut.text().given, "name '\xC3\xA4\xEF\xBF\xBD'");
}

TEST(Status, MacrosPassErrorsAndValuesOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().text().given, "value 3");
}

TEST(Status, WithinNamesTheOuterPlaceFirst) {
  Error error = half(1).take_error();
  error.within("node 'n'");
  EXPECT_EQ(error.text().where, "node 'n', half");
}

}  // namespace
}  // namespace walle
