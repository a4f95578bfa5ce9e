#include "seed.h"

#include <array>
#include <cstdio>
#include <string>

namespace walle {
namespace {

// What a command says, on standard output.
std::string said(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return "";
  std::string out;
  std::array<char, 4096> part{};
  while (const size_t n = std::fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
  ::pclose(pipe);
  return out;
}

// The rest of the line behind the last place where a text stands.
std::string behind(const std::string& text, const std::string& head) {
  const size_t at = text.rfind(head);
  if (at == std::string::npos) return "";
  return text.substr(at + head.size(), text.find('\n', at) - at - head.size());
}

// Fails with every seed, and says it; only the test below runs it.
TEST(Seed, DISABLED_Fails) {
  const uint32_t seed = test_seed();
  FAIL() << "drew " << seed;
}

TEST(Seed, DISABLED_Holds) { EXPECT_EQ(test_seed(7), 7u); }

TEST(Seed, AFailureNamesTheCommandThatRepeatsIt) {
  const std::string self = seed_detail::this_program();
  const std::string run = "env -u WALLE_TEST_SEED WALLE_SEED_TEST=1 ";
  const std::string only = " --gtest_also_run_disabled_tests --gtest_filter=Seed.DISABLED_";
  const std::string first = said(run + self + only + "Fails");
  const std::string command = behind(first, "repeat with: ");
  ASSERT_TRUE(command.starts_with("WALLE_TEST_SEED=" + behind(first, "drew "))) << first;
  EXPECT_NE(command.find(" WALLE_SEED_TEST='1' "), std::string::npos) << command;
  const std::string again = said(command + " --gtest_also_run_disabled_tests");
  EXPECT_EQ(behind(again, "drew "), behind(first, "drew "));
  EXPECT_EQ(behind(again, "repeat with: "), command);

  const std::string held = said(run + self + only + "Holds");
  EXPECT_NE(held.find("[  PASSED  ] 1 test"), std::string::npos) << held;
  EXPECT_EQ(held.find("repeat with"), std::string::npos) << held;
}

}  // namespace
}  // namespace walle
