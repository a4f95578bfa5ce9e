// What machines show of their cores below /sys/devices/system/cpu, on whatever machine this runs.
#include "base/core_kinds.h"

#include <gtest/gtest.h>

#include "base/detected_cpu.h"
#include "base/fault_env.h"

namespace walle::base {
namespace {

class Machine {
 public:
  Machine& file(const std::string& name, const std::string& text) {
    EXPECT_TRUE(env_.replace_file("/sys/devices/system/cpu/" + name, text + "\n").ok());
    return *this;
  }
  // Of every processor from first to last.
  Machine& each(int first, int last, const std::string& name, const std::string& text) {
    for (int cpu = first; cpu <= last; ++cpu) file("cpu" + std::to_string(cpu) + "/" + name, text);
    return *this;
  }
  // `shared`: "" for a cache of each core's own.
  Machine& cache(int first, int last, int index, int level, const std::string& type, const std::string& size,
                 const std::string& shared = "") {
    for (int cpu = first; cpu <= last; ++cpu) {
      const std::string own = std::to_string(cpu);
      const std::string at = "cpu" + own + "/cache/index" + std::to_string(index) + "/";
      file(at + "level", std::to_string(level)).file(at + "type", type);
      if (!size.empty()) file(at + "size", size);
      file(at + "shared_cpu_list", shared.empty() ? own : shared);
    }
    return *this;
  }
  std::vector<CoreKind> kinds() { return core_kinds(env_); }

 private:
  FaultEnv env_;
};

// Device trees of phones name the caches' levels and not their sizes.
Machine phone() {
  Machine m;
  m.file("present", "0-7");
  m.each(0, 3, "cpu_capacity", "427").each(4, 7, "cpu_capacity", "1024");
  m.each(0, 3, "cpufreq/cpuinfo_max_freq", "1800000").each(4, 7, "cpufreq/cpuinfo_max_freq", "2600000");
  m.each(0, 3, "regs/identification/midr_el1", "0x00000000412fd050");
  m.each(4, 7, "regs/identification/midr_el1", "0x00000000414fd0b0");
  m.cache(0, 7, 0, 1, "Data", "").cache(0, 7, 1, 1, "Instruction", "").cache(0, 7, 2, 2, "Unified", "");
  return m;
}

TEST(CoreKinds, APhoneHasBigOnesAndLittleOnes) {
  const auto kinds = phone().kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "cortex-a76");
  EXPECT_EQ(kinds[0].count, 4);
  EXPECT_EQ(kinds[0].speed, 1024);
  EXPECT_EQ(kinds[0].l1_bytes, 64 << 10) << "by the core's number, where the size is not said";
  EXPECT_EQ(kinds[0].l2_bytes, 256 << 10);
  EXPECT_EQ(kinds[1].name, "cortex-a55");
  EXPECT_EQ(kinds[1].count, 4);
  EXPECT_EQ(kinds[1].speed, 427);
  EXPECT_EQ(kinds[1].l1_bytes, 32 << 10);
}

TEST(CoreKinds, WithoutCapacitiesTheHighestFrequencyTellsThemApart) {
  Machine m;
  m.file("present", "0-7");
  m.each(0, 3, "cpufreq/cpuinfo_max_freq", "1800000").each(4, 7, "cpufreq/cpuinfo_max_freq", "2600000");
  const auto kinds = m.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].speed, 2600000);
  EXPECT_EQ(kinds[1].speed, 1800000);
  EXPECT_EQ(kinds[0].l1_bytes, 0) << "nobody says";
}

TEST(CoreKinds, SingleCoresThatRunALittleFasterAreNoKind) {
  Machine m;
  m.file("present", "0-3").each(0, 3, "cpufreq/cpuinfo_max_freq", "5300000");
  m.each(2, 2, "cpufreq/cpuinfo_max_freq", "5600000");
  const auto kinds = m.kinds();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].count, 4);
  EXPECT_EQ(kinds[0].speed, 5600000);
}

TEST(CoreKinds, APartOfACacheThatCoresShareCounts) {
  Machine m;  // Raspberry Pi 4: four Cortex-A72 around one second level
  m.file("present", "0-3").each(0, 3, "cpufreq/cpuinfo_max_freq", "1800000");
  m.each(0, 3, "regs/identification/midr_el1", "0x00000000410fd083");
  m.cache(0, 3, 0, 1, "Data", "32K").cache(0, 3, 1, 1, "Instruction", "48K");
  m.cache(0, 3, 2, 2, "Unified", "1024K", "0-3");
  const auto kinds = m.kinds();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].name, "cortex-a72");
  EXPECT_EQ(kinds[0].count, 4);
  EXPECT_EQ(kinds[0].l1_bytes, 32 << 10) << "data, not instructions";
  EXPECT_EQ(kinds[0].l2_bytes, 256 << 10);
  EXPECT_EQ(kinds[0].outer_bytes, 1 << 20);
  const CpuFeatures f = features_of_cores({}, kinds);
  EXPECT_EQ(f.l2_bytes, 256 << 10);
  EXPECT_EQ(f.outer_bytes, 1 << 20) << "and nothing beyond it";
}

TEST(CoreKinds, AThirdLevelIsTheOuterOne) {
  Machine m;  // Raspberry Pi 5
  m.file("present", "0-3").each(0, 3, "cpufreq/cpuinfo_max_freq", "2400000");
  m.each(0, 3, "regs/identification/midr_el1", "0x00000000414fd0b1");
  m.cache(0, 3, 0, 1, "Data", "64K").cache(0, 3, 1, 1, "Instruction", "64K");
  m.cache(0, 3, 2, 2, "Unified", "512K").cache(0, 3, 3, 3, "Unified", "2048K", "0-3");
  const auto kinds = m.kinds();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].l2_bytes, 512 << 10) << "what is said beats what is known of the core";
  const CpuFeatures f = features_of_cores({}, kinds);
  EXPECT_EQ(f.l1_bytes, 64 << 10);
  EXPECT_EQ(f.l2_bytes, 512 << 10);
  EXPECT_EQ(f.outer_bytes, 2 << 20) << "less than 16 times the second level";
}

TEST(CoreKinds, AServerHasOneKindOfMany) {
  Machine m;  // 64 Neoverse V1, no frequencies shown to a guest
  m.file("present", "0-63").each(0, 63, "regs/identification/midr_el1", "0x00000000411fd401");
  m.cache(0, 63, 0, 1, "Data", "64K").cache(0, 63, 1, 1, "Instruction", "64K");
  m.cache(0, 63, 2, 2, "Unified", "1024K").cache(0, 63, 3, 3, "Unified", "32768K", "0-63");
  const auto kinds = m.kinds();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].name, "neoverse-v1");
  EXPECT_EQ(kinds[0].count, 64);
  EXPECT_EQ(kinds[0].speed, 0);
  const CpuFeatures f = features_of_cores({}, kinds);
  EXPECT_EQ(f.l2_bytes, 1 << 20);
  EXPECT_EQ(f.outer_bytes, 16 << 20) << "others use it, too";
}

TEST(CoreKinds, WhatIsSwitchedOffOrStrangeIsPassedOver) {
  Machine off = phone();
  off.file("cpu5/cpu_capacity", "");
  EXPECT_EQ(off.kinds()[0].count, 3);
  EXPECT_TRUE(Machine().kinds().empty()) << "no /sys";
  for (const char* list : {"", "x", "-", "3-1", "0-99999999999999999999"})
    EXPECT_LE(Machine().file("present", list).kinds().size(), 1u) << list;
  EXPECT_LE(Machine().file("present", "0-2000000000").kinds()[0].count, 1024);
  Machine m;
  m.file("present", "0").file("cpu0/cache/index0/level", "1").file("cpu0/cache/index0/size", "huge");
  m.file("cpu0/regs/identification/midr_el1", "0x0000000061000000");
  ASSERT_EQ(m.kinds().size(), 1u);
  EXPECT_EQ(m.kinds()[0].l1_bytes, 0);
  EXPECT_EQ(m.kinds()[0].name, "") << "another maker's";
}

TEST(CoreKinds, WhereNothingIsKnownTheModestGuessesStay) {
  const CpuFeatures plain;
  for (const auto& kinds : {std::vector<CoreKind>{}, std::vector<CoreKind>{{.count = 4}}}) {
    const CpuFeatures f = features_of_cores({Capability::neon}, kinds);
    EXPECT_EQ(f.l1_bytes, plain.l1_bytes);
    EXPECT_EQ(f.l2_bytes, plain.l2_bytes);
    EXPECT_EQ(f.outer_bytes, outer_share(plain.l2_bytes));
    EXPECT_TRUE(f.has.has(Capability::neon));
  }
}

TEST(CoreKinds, OfTheRealMachineAreSorted) {
  int64_t before = INT64_MAX;
  for (const CoreKind& kind : detected_cores()) {
    EXPECT_GT(kind.count, 0);
    EXPECT_LE(kind.speed, before);
    before = kind.speed;
  }
}

}  // namespace
}  // namespace walle::base
