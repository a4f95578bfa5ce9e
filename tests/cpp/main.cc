#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>

// GoogleTest's own main, and one rule: in CI (CI=true) a test that is skipped fails the program, unless no
// install would cure it. The Python tests have the same rule in tests/python/skips.py.
namespace {

constexpr std::array<std::string_view, 6> kStanding = {
    "need a machine that has it",               // an instruction set
    "this process may use one processor only",  // and
    "a quota leaves this process one processor",
    "ThreadSanitizer ends a forked child that starts threads",
    "the emulator ends a forked child that starts threads",
    "a given machine brings its costs",  // WALLE_MACHINE
};

class Skips final : public ::testing::EmptyTestEventListener {
 public:
  bool refused() const { return refused_; }

 private:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.skipped()) return;
    const std::string_view message = result.message();
    for (std::string_view reason : kStanding)
      if (message.find(reason) != message.npos) return;
    refused_ = true;
    std::cout << "in CI a skip is a failure unless tests/cpp/main.cc says why it stands; have tools/setup.sh "
                 "install what is missing: "
              << message << std::endl;
  }

  bool refused_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* ci = std::getenv("CI");
  Skips* skips = nullptr;
  if (ci && std::string_view(ci) == "true") {
    skips = new Skips;  // the listeners own it
    ::testing::UnitTest::GetInstance()->listeners().Append(skips);
  }
  const int status = RUN_ALL_TESTS();
  return skips && skips->refused() ? 1 : status;
}
