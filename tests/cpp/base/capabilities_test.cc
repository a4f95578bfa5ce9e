// Names of what a processor can do, what stands for what, and what Linux says of an arm64 machine.
#include "base/capabilities.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/crc32c.h"
#include "base/detected_cpu.h"
#include "base/machine.h"

namespace walle::base {
namespace {

using enum Capability;

TEST(Capabilities, AreWrittenAsASetAndWhatStandsBesideIt) {
  EXPECT_EQ(capabilities_text({}), "scalar");
  EXPECT_EQ(capabilities_text({sse4}), "sse4");
  EXPECT_EQ(capabilities_text({sse4, avx2, fma}), "sse4+avx2+fma") << "the set needs F16C, too";
  EXPECT_EQ(capabilities_text({sse4, avx2, fma, f16c, avx_vnni}), "avx2+avx_vnni");
  EXPECT_EQ(capabilities_text({neon, dot, fp16}), "neon+dot+fp16");
  EXPECT_EQ(capabilities_text(*capabilities_from("avx512+avx512_vnni")), "avx512+avx512_vnni");
  EXPECT_EQ(capability_names({dot, neon}), (std::vector<std::string_view>{"neon", "dot"}));
}

TEST(Capabilities, EveryTextIsReadAsItWasWritten) {
  for (const InstructionSet& set : kInstructionSets) EXPECT_EQ(capabilities_from(set.name), set.needs);
  for (const Machine& m : machine_profiles()) {
    const auto has = capabilities_from(m.isa);
    ASSERT_TRUE(has) << m.name << ": " << m.isa;
    EXPECT_EQ(capabilities_text(*has), m.isa) << m.name;
  }
  const Capabilities here = detected_cpu_features().has;
  EXPECT_EQ(capabilities_from(capabilities_text(here)), here);
}

TEST(Capabilities, WhatIsNoNameIsNoCapability) {
  for (const char* text : {"", "+", "avx", "avx2+", "+avx2", "avx2++fma", "dot", "avx2+avx512", "AVX2"})
    EXPECT_FALSE(capabilities_from(text)) << text;
}

TEST(Capabilities, SetsOfOneArchitectureContainEachOther) {
  const auto needs = [](std::string_view name) { return *capabilities_from(name); };
  EXPECT_TRUE(needs("avx512").has(needs("avx2")));
  EXPECT_TRUE(needs("avx2").has(needs("sse4")));
  EXPECT_TRUE(needs("neon").has(needs("scalar")));
}

TEST(Capabilities, AMachineHasNoMoreThanThereIs) {
  const Capabilities real = detected_cpu_features().has;
  for (const Machine& m : machine_profiles()) {
    const Capabilities given = standing_for(*capabilities_from(m.isa), real);
    EXPECT_TRUE(real.has(given)) << m.name;
  }
  EXPECT_EQ(standing_for(real, real), real);
  EXPECT_TRUE(standing_for({}, real).empty());
#if defined(__x86_64__)
  const Capabilities wide = *capabilities_from("avx512+avx_vnni+avx512_vnni");
  EXPECT_EQ(standing_for({neon, dot}, wide), Capabilities{sse4}) << "registers of 128 bits";
  EXPECT_EQ(standing_for({sse4, avx2, avx_vnni}, wide), (Capabilities{sse4, avx2, avx_vnni}));
#elif defined(__aarch64__)
  EXPECT_EQ(standing_for({sse4}, {neon, dot}), (Capabilities{neon, dot}));
#endif
}

#if defined(__x86_64__)
// The kernel drops a flag whose registers it does not save.
TEST(Capabilities, AreThoseThatLinuxTells) {
  std::string line;
  for (std::ifstream told("/proc/cpuinfo"); std::getline(told, line) && line.rfind("flags", 0) != 0;) {
  }
  if (line.rfind("flags", 0) != 0) GTEST_SKIP() << "no /proc/cpuinfo";
  std::istringstream words(line);
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  const std::pair<Capability, const char*> names[] = {{sse4, "sse4_2"},
                                                      {avx2, "avx2"},
                                                      {fma, "fma"},
                                                      {f16c, "f16c"},
                                                      {avx512f, "avx512f"},
                                                      {avx512bw, "avx512bw"},
                                                      {avx512dq, "avx512dq"},
                                                      {avx512vl, "avx512vl"},
                                                      {avx_vnni, "avx_vnni"},
                                                      {avx512_vnni, "avx512_vnni"},
                                                      {avx512_bf16, "avx512_bf16"},
                                                      {avx512_fp16, "avx512_fp16"},
                                                      {amx_int8, "amx_int8"},
                                                      {amx_bf16, "amx_bf16"},
                                                      {avx512_vbmi, "avx512vbmi"}};
  for (const auto& [capability, name] : names)
    EXPECT_EQ(detected_cpu_features().has.has(capability), flags.contains(name)) << name;
  EXPECT_EQ(has_crc32c_instruction(), flags.contains("sse4_2") && flags.contains("pclmulqdq"));
}
#endif

// By the bits that the kernel prints as "Features" in /proc/cpuinfo of such a machine.
TEST(ArmCapabilities, AreNamedByTheAuxiliaryVector) {
  EXPECT_EQ(arm_capabilities(0x887, 0), Capabilities{neon}) << "Raspberry Pi 4, Cortex-A72";
  EXPECT_EQ(arm_capabilities(0x119fff, 0), (Capabilities{neon, dot, fp16})) << "Raspberry Pi 5, Cortex-A76";
  EXPECT_EQ(arm_capabilities(0x10119fff, 0), (Capabilities{neon, dot, fp16})) << "phone, A76 and A55";
  EXPECT_EQ(arm_capabilities(0xefffffff, 0x1f263), (Capabilities{neon, dot, fp16, bf16, i8mm, sve}))
      << "server, Neoverse V1";
  EXPECT_EQ(arm_capabilities(1 << 9 | 2, 0), Capabilities{neon}) << "fp16 of scalars alone";
  EXPECT_TRUE(arm_capabilities(0, 0).empty());
}

}  // namespace
}  // namespace walle::base
