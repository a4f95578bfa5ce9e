#include "kernels/isa.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace walle::kernels {
namespace {

TEST(Isa, TheBestSetIsTheDefault) {
  unsetenv("WALLE_CPU");
  ASSERT_TRUE(select_isa().ok());
  EXPECT_EQ(*select_isa(), supported_isas().back());
  EXPECT_EQ(supported_isas().front(), Isa::scalar);
}

TEST(Isa, TheEnvironmentForcesASet) {
  for (Isa isa : supported_isas()) {
    setenv("WALLE_CPU", std::string(isa_name(isa)).c_str(), 1);
    ASSERT_TRUE(select_isa().ok());
    EXPECT_EQ(*select_isa(), isa);
  }
  unsetenv("WALLE_CPU");
}

TEST(Isa, AnUnknownNameIsRefusedWithTheChoices) {
  setenv("WALLE_CPU", "avx1024", 1);
  const auto isa = select_isa();
  unsetenv("WALLE_CPU");
  ASSERT_FALSE(isa.ok());
  EXPECT_EQ(isa.error().group(), base::ErrorGroup::argument);
  EXPECT_NE(isa.error().message().find("avx1024"), std::string::npos);
  EXPECT_NE(isa.error().message().find("scalar"), std::string::npos);
}

}  // namespace
}  // namespace walle::kernels
