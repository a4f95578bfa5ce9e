#include "ops/op_set.h"

#include <gtest/gtest.h>

namespace walle::ops {
namespace {

TEST(OpSet, IsSixteenDigitsAndAlwaysTheSame) {
  EXPECT_EQ(op_set_id().size(), 16u);
  EXPECT_EQ(op_set_id().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(op_set_id(), op_set_id());
}

}  // namespace
}  // namespace walle::ops
