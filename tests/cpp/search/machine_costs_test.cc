// Which costs a machine gets: its table, or a profile that is measured once.
#include "search/machine_costs.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "fakes.h"

namespace walle::search {
namespace {

using backends::DeviceProfile;

class Counted final : public Fake {
 public:
  Counted() : Fake("counted", "*") {}
  std::string device() const override { return "a machine without a table"; }
  std::optional<DeviceProfile> profile() const override {
    ++measured;
    return DeviceProfile{"avx2", 1, 2, 3, 4, 5, 6};
  }
  mutable int measured = 0;
};

TEST(MachineCosts, TablesAreFoundByTheirDevices) {
  for (const CostTable& t : cost_tables()) {
    const std::string_view first = t.devices.substr(0, t.devices.find(','));
    EXPECT_EQ(table_for(first), &t);
    // A part of a name may be another processor's: "25 1" of "25 17".
    EXPECT_NE(table_for(first.substr(0, first.size() - 1)), &t) << "the whole name";
    EXPECT_EQ(table_for(std::string(first) + "0"), nullptr) << "the whole name";
  }
  EXPECT_EQ(table_for(""), nullptr);
}

TEST(MachineCosts, AProfileIsMeasuredOnceAndKept) {
  base::FaultEnv env;
  const Counted host;
  const DeviceProfile first = kept_profile(host, env, "/cache");
  EXPECT_EQ(host.measured, 1);
  const DeviceProfile again = kept_profile(host, env, "/cache");
  EXPECT_EQ(host.measured, 1);
  EXPECT_EQ(again.isa, first.isa);
  EXPECT_EQ(again.memory_byte, first.memory_byte);
  kept_profile(host, env, "");
  EXPECT_EQ(host.measured, 2) << "nowhere to keep it";
}

TEST(MachineCosts, ADamagedProfileIsMeasuredAgain) {
  base::FaultEnv env;
  const Counted host;
  kept_profile(host, env, "/cache");
  const std::string path = "/cache/machine.profile";
  const std::string whole = *env.read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(~damaged[i]);
    ASSERT_TRUE(env.replace_file(path, damaged).ok());
    const int before = host.measured;
    kept_profile(host, env, "/cache");
    EXPECT_EQ(host.measured, before + 1) << "byte " << i;
    EXPECT_EQ(*env.read_file(path), whole);
  }
}

TEST(MachineCosts, FiguresMustBePositive) {
  const DeviceProfile good{"avx2", 1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(decode_profile("m", encode_profile("m", good)));
  EXPECT_FALSE(decode_profile("other", encode_profile("m", good)));
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    DeviceProfile bad = good;
    bad.l2_byte = wrong;
    EXPECT_FALSE(decode_profile("m", encode_profile("m", bad))) << wrong;
  }
}

TEST(MachineCosts, ADiskThatCannotBeWrittenIsNoError) {
  base::FaultEnv env;
  env.set_read_only(true);
  const Counted host;
  EXPECT_EQ(kept_profile(host, env, "/cache").flop, 1);
}

}  // namespace
}  // namespace walle::search
