#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>

extern "C" char** environ;

// The seed of a test's random cases: WALLE_TEST_SEED where it is set, which may be another one for each
// test. A test that fails after it asked for one ends with the command that repeats it:
//
//   std::mt19937 rng(test_seed());   // another one each time
//   std::mt19937 rng(test_seed(7));  // 7, unless the variable says otherwise
//
// For the test's own thread.
namespace walle {

namespace seed_detail {

// This program as a shell starts it: behind the emulator that a foreign one needs (WALLE_TEST_RUNNER,
// cmake/tests.cmake).
inline std::string this_program() {
  const char* const runner = std::getenv("WALLE_TEST_RUNNER");
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  return (runner ? runner + std::string(" ") : "") + (none ? "<this program>" : self.string());
}

// With what else the environment says of walle: instruction set, costs, machine.
inline std::string command_of(const ::testing::TestInfo& test, uint32_t seed) {
  std::string out = "WALLE_TEST_SEED=" + std::to_string(seed);
  std::set<std::string> entries;  // a shell may turn their order around
  for (char** each = environ; each && *each; ++each)
    if (std::string_view(*each).starts_with("WALLE_")) entries.insert(*each);
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (!entry.starts_with("WALLE_TEST_SEED="))
      out += " " + entry.substr(0, equals + 1) + "'" + entry.substr(equals + 1) + "'";
  }
  return out + " " + this_program() + " '--gtest_filter=" + test.test_suite_name() + "." + test.name() + "'";
}

// A listener and not a trace around each assertion: fixtures draw in their constructors, and helpers in
// loops.
class Teller final : public ::testing::EmptyTestEventListener {
 public:
  static Teller& instance() {
    static auto* const made = [] {
      auto* const teller = new Teller;  // the listeners own it
      ::testing::UnitTest::GetInstance()->listeners().Append(teller);
      return teller;
    }();
    return *made;
  }
  void drew(uint32_t seed) { seed_ = seed; }

 private:
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (seed_ && test.result()->Failed())
      std::cout << "repeat with: " << command_of(test, *seed_) << std::endl;
    seed_.reset();
  }
  std::optional<uint32_t> seed_;
};

inline uint32_t told_seed(std::optional<uint32_t> fixed) {
  uint32_t seed = 0;
  if (const char* given = std::getenv("WALLE_TEST_SEED"))
    seed = static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
  else
    seed = fixed ? *fixed : std::random_device()();
  Teller::instance().drew(seed);
  return seed;
}

}  // namespace seed_detail

inline uint32_t test_seed() { return seed_detail::told_seed(std::nullopt); }
inline uint32_t test_seed(uint32_t fixed) { return seed_detail::told_seed(fixed); }

}  // namespace walle
