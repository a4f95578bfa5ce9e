// Which costs a machine gets: its table, or a profile that is measured once.
#include "search/machine_costs.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "base/machine.h"
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
    if (t.devices.empty()) continue;  // modelled, for a set
    const std::string_view first = t.devices.substr(0, t.devices.find(','));
    EXPECT_EQ(table_for(first), &t);
    // A part of a name may be another processor's: "25 1" of "25 17".
    EXPECT_NE(table_for(first.substr(0, first.size() - 1)), &t) << "the whole name";
    EXPECT_EQ(table_for(std::string(first) + "0"), nullptr) << "the whole name";
  }
  EXPECT_EQ(table_for(""), nullptr);
}

TEST(MachineCosts, AModelledTableIsForItsSetAlone) {
  const CostTable* table = modelled_table("neon (of scalar, neon)");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->name, "neoverse_n1");
  EXPECT_EQ(modelled_table("neon"), table);
  for (const std::string_view target :
       {"", "scalar (of scalar, neon)", "sse4", "avx2 (of scalar, sse4, avx2)"})
    EXPECT_EQ(modelled_table(target), nullptr) << target << " was measured";
}

// Of ARM64, as an emulator shows it, whose times are those of no processor.
class Arm final : public Fake {
 public:
  explicit Arm(std::string set) : Fake("arm", "*"), set_(std::move(set)) {}
  std::string target() const override { return set_ + " (of scalar, neon)"; }
  std::optional<DeviceProfile> profile() const override {
    ++measured;
    return DeviceProfile{set_, 1, 2, 3, 4, 5, 6};
  }
  mutable int measured = 0;

 private:
  std::string set_;
};

TEST(MachineCosts, WhereNoTableIsMeasuredNeonHasTheModelledOne) {
  if (*base::given_machine()) GTEST_SKIP() << "a given machine brings its costs";
  base::FaultEnv env;
  const Arm neon("neon"), scalar("scalar");
  const auto costs = machine_costs(neon, {&neon}, env, "/cache");
  ASSERT_TRUE(costs.ok());
  EXPECT_EQ((*costs)->name(), "neoverse_n1");
  EXPECT_EQ(neon.measured, 0) << "nothing is measured that is not used";
  const auto others = machine_costs(scalar, {&scalar}, env, "/cache");
  ASSERT_TRUE(others.ok());
  EXPECT_EQ((*others)->name(), "zen4 scaled by a profile");
}

TEST(MachineCosts, ANeonMachineThatIsMeasuredScalesTheModelledTable) {
  if (*base::given_machine()) GTEST_SKIP() << "a given machine brings its costs";
  base::FaultEnv env;
  setenv("WALLE_COSTS", "profile", 1);
  const Arm neon("neon");
  const auto costs = machine_costs(neon, {&neon}, env, "/cache");
  unsetenv("WALLE_COSTS");
  ASSERT_TRUE(costs.ok());
  EXPECT_EQ((*costs)->name(), "neoverse_n1 scaled by a profile");
  EXPECT_EQ(neon.measured, 1);
}

// What the model has no samples of is the first table's by the ratio of the profiles: a kernel that no table
// knows is not taken.
TEST(MachineCosts, TheModelledTableKnowsEveryKernelOfTheFirst) {
  const CostTable& first = cost_tables().front();
  const CostTable& arm = *table_named("neoverse_n1");
  const auto has = [&](std::string_view kernel, std::string_view isa) {
    return std::ranges::any_of(arm.rows,
                               [&](const CostRow& r) { return r.kernel == kernel && r.isa == isa; });
  };
  for (const CostRow& r : first.rows) {
    if (r.isa.empty()) EXPECT_TRUE(has(r.kernel, "")) << r.kernel;
    if (r.isa == "sse4") EXPECT_TRUE(has(r.kernel, "neon")) << r.kernel;
    if (r.isa == "avx_vnni") EXPECT_TRUE(has(r.kernel, "neon_dot")) << r.kernel;
  }
  for (const CostRow& r : arm.rows)
    EXPECT_TRUE(r.isa.empty() || r.isa.starts_with("neon")) << r.kernel << ' ' << r.isa;
  const CostModel model(arm);
  const auto ms = [&](std::string_view kernel, std::string_view isa) {
    backends::Features f{.kernel = kernel, .isa = isa, .amount = {}};
    f[backends::Quantity::flop] = 1e8;
    return model.ms(f);
  };
  EXPECT_LT(ms("gemm_int8", "neon_dot"), ms("gemm_int8", "neon"));
  EXPECT_LT(ms("gemm_f32", "neon"), ms("gemm_reference", "")) << "vectors before plain loops";
}

TEST(MachineCosts, AProfileIsMeasuredOnceAndKept) {
  base::FaultEnv env;
  const Counted host;
  const DeviceProfile first = *kept_profile(host, env, "/cache");
  EXPECT_EQ(host.measured, 1);
  const DeviceProfile again = *kept_profile(host, env, "/cache");
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
  // Of what not every processor has, 0 is a figure.
  for (const double rate : {0.0, 0.5, -1.0, std::numeric_limits<double>::infinity()}) {
    DeviceProfile other = good;
    other.bf16_flop = rate;
    const auto decoded = decode_profile("m", encode_profile("m", other));
    ASSERT_EQ(decoded.has_value(), rate == 0 || rate == 0.5) << rate;
    if (decoded) {
      EXPECT_EQ(decoded->bf16_flop, rate);
    }
  }
}

TEST(MachineCosts, ADiskThatCannotBeWrittenIsNoError) {
  base::FaultEnv env;
  env.set_read_only(true);
  const Counted host;
  EXPECT_EQ(kept_profile(host, env, "/cache")->flop, 1);
}

// A device of its own memory.
class Device final : public Fake {
 public:
  explicit Device(backends::Memory& memory) : Fake("gpu", "*", memory) {}
  std::string device() const override { return "a device"; }
  std::optional<DeviceProfile> profile() const override {
    ++measured;
    return DeviceProfile{.isa = "",
                         .flop = 1,
                         .step = 1,
                         .l1_byte = 1,
                         .l2_byte = 1,
                         .l3_byte = 1,
                         .memory_byte = 1,
                         .launch = 24e3,
                         .ways = {{.memory = "host", .in = {1, 2}, .out = {3, 4}},
                                  {.memory = "other", .in = {5, 6}, .out = {7, 8}}}};
  }
  mutable int measured = 0;
};

TEST(MachineCosts, ADeviceHasAFileOfItsOwn) {
  base::FaultEnv env;
  FakeMemory memory("gpu");
  const Device gpu(memory);
  const Counted host;
  kept_profile(host, env, "/cache");
  kept_profile(gpu, env, "/cache");
  const auto again = kept_profile(gpu, env, "/cache");
  ASSERT_TRUE(again);
  EXPECT_EQ(gpu.measured, 1);
  EXPECT_EQ(kept_profile(host, env, "/cache")->flop, 1);
  EXPECT_EQ(host.measured, 1) << "neither replaces the other";
  EXPECT_EQ(again->launch, 24e3);
  ASSERT_EQ(again->ways.size(), 2u);
  EXPECT_EQ(again->ways[1].memory, "other");
  EXPECT_EQ(again->ways[1].out.byte, 8);
  FakeMemory plain("plain");
  EXPECT_FALSE(kept_profile(Fake("plain", "*", plain), env, "/cache")) << "nobody measures it";
}

TEST(MachineCosts, WaysThatNobodyMeasuredAreRefused) {
  FakeMemory memory("gpu");
  const DeviceProfile good = *Device(memory).profile();
  EXPECT_TRUE(decode_profile("m", encode_profile("m", good)));
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    DeviceProfile bad = good;
    bad.ways[0].out.start = wrong;
    EXPECT_FALSE(decode_profile("m", encode_profile("m", bad))) << wrong;
  }
  DeviceProfile bad = good;
  bad.launch = -1;
  EXPECT_FALSE(decode_profile("m", encode_profile("m", bad)));
  bad = good;
  bad.ways.resize(17, good.ways[0]);
  EXPECT_FALSE(decode_profile("m", encode_profile("m", bad))) << "more than there are memories";
}

TEST(MachineCosts, OfASessionHoldThoseOfItsDevices) {
  base::FaultEnv env;
  FakeMemory memory("gpu");
  const Device gpu(memory);
  const Counted host;
  const auto without = machine_costs(host, {&host}, env, "");
  const auto with = machine_costs(host, {&host, &gpu}, env, "");
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ((*without)->device("gpu"), nullptr);
  ASSERT_NE((*with)->device("gpu"), nullptr);
  EXPECT_EQ((*with)->device("gpu")->launch, 24e3);
  EXPECT_EQ((*with)->device("counted"), nullptr) << "the host's are in the table";
  EXPECT_EQ(*machine_costs(host, {&gpu}, env, ""), *with);
  EXPECT_EQ(gpu.measured, 1) << "once per process";
  EXPECT_LE(host.measured, 1) << "nor at all where a given machine brings its costs";
}

// A machine that is scaled for has VNNI or bfloat16 as often as one that was fitted: products of a form must
// not be priced as a kernel that nobody knows, which would never be taken.
TEST(MachineCosts, ScaledMachinesKnowWhatStandsBesideTheirSets) {
  struct Pair {
    std::string_view machine, set, kernel, form, than, on;
  };
  constexpr Pair kPairs[] = {
      {"laptop", "avx2", "blocked_conv_int8", "avx_vnni", "blocked_conv_int8", "avx2"},
      {"laptop", "avx2", "gemm_int8", "avx_vnni", "gemm_int8", "avx2"},
      {"zen5", "avx512", "blocked_conv_int8", "avx512_vnni", "blocked_conv_int8", "avx512"},
      {"zen5", "avx512", "gemm_int8", "avx512_vnni", "gemm_int8", "avx512"},
      {"zen5", "avx512", "gemm_bf16", "avx512_bf16", "gemm_f32", "avx512"},
      {"zen5", "avx512", "blocked_window_bf16", "avx512_bf16", "blocked_window_f32", "avx512"},
      {"zen5", "avx512", "gemm_int8", "amx_int8", "gemm_int8", "avx512_vnni"},
      {"zen5", "avx512", "gemm_bf16", "amx_bf16", "gemm_bf16", "avx512_bf16"},
      {"zen5", "avx512", "blocked_window_bf16", "amx_bf16", "blocked_window_bf16", "avx512_bf16"},
      {"phone", "neon", "gemm_bf16", "neon_bf16", "gemm_f32", "neon"},
      {"phone", "neon", "gemm_fp16", "neon_fp16", "gemm_f32", "neon"},
      {"phone", "neon", "blocked_window_bf16", "neon_bf16", "blocked_window_f32", "neon"},
      {"phone", "neon", "blocked_window_fp16", "neon_fp16", "blocked_window_f32", "neon"},
  };
  for (const Pair& p : kPairs) {
    const CostModel model(cost_tables().front(), *scaled_profile(p.machine, p.set));
    const auto ms = [&](std::string_view kernel, std::string_view isa) {
      backends::Features f{.kernel = kernel, .isa = isa, .amount = {}};
      f[backends::Quantity::flop] = 1e8;
      return model.ms(f);
    };
    EXPECT_LT(ms(p.kernel, p.form), ms(p.than, p.on)) << p.machine << ' ' << p.kernel << ' ' << p.form;
  }
}

}  // namespace
}  // namespace walle::search
