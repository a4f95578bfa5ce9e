#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace walle::base {
namespace {

using Names = std::vector<std::string>;

TEST(NearestName, OneLetterMoreLessOrOther) {
  const Names known = {"input_ids", "attention_mask", "token_type_ids"};
  EXPECT_EQ(nearest_name("input_id", known), "input_ids");
  EXPECT_EQ(nearest_name("input_idss", known), "input_ids");
  EXPECT_EQ(nearest_name("attention-mask", known), "attention_mask");
  EXPECT_EQ(nearest_name("token_type", known), "token_type_ids");
}

TEST(NearestName, ShortNamesHaveSuggestionsToo) {
  EXPECT_EQ(nearest_name("X", Names{"x"}), "x");
  EXPECT_EQ(nearest_name("", Names{"x"}), "x");
}

TEST(NearestName, NothingNearIsNoSuggestion) {
  EXPECT_EQ(nearest_name("image", Names{"attention_mask"}), "");
  EXPECT_EQ(nearest_name("image", Names{}), "");
}

TEST(NearestName, IsTheNextStepOfAMessage) {
  EXPECT_EQ(did_you_mean("pixls", Names{"pixels"}, "declare it"), "did you mean 'pixels'?");
  EXPECT_EQ(did_you_mean("image", Names{"attention_mask"}, {"declare ", "it"}), "declare it");
}

TEST(NearestName, TheFirstOfEquallyNearOnes) { EXPECT_EQ(nearest_name("x", Names{"y", "z"}), "y"); }

TEST(NearestName, LongNamesAreNotCompared) {
  const std::string longest(256, 'a');
  EXPECT_EQ(nearest_name(longest.substr(1), Names{longest}), longest);
  EXPECT_EQ(nearest_name(longest, Names{longest + "a"}), "");
  EXPECT_EQ(nearest_name(longest + "a", Names{longest}), "");
}

}  // namespace
}  // namespace walle::base
