// The machine as an input: what a text says, what takes its place, and that it never has more than there is.
#include "base/machine.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace walle::base {
namespace {

TEST(GivenMachine, ProfilesDifferInAllThatKernelsAndPlansFollow) {
  const auto profiles = machine_profiles();
  ASSERT_GE(profiles.size(), 8u);
  const auto have = [&](auto figure, auto value) {
    return std::ranges::any_of(profiles, [&](const Machine& m) { return m.*figure == value; });
  };
  for (const int64_t kilobytes : {32, 48, 64, 128}) EXPECT_TRUE(have(&Machine::l1_bytes, kilobytes << 10));
  for (const int64_t kilobytes : {256, 2048}) EXPECT_TRUE(have(&Machine::l2_bytes, kilobytes << 10));
  EXPECT_TRUE(have(&Machine::l3_bytes, int64_t{0})) << "one without an outer cache";
  for (const int cores : {1, 8}) EXPECT_TRUE(have(&Machine::processors, cores));
  for (const char* costs : {"zen3", "zen4", "zen5", "laptop", "phone", "none"})
    EXPECT_TRUE(have(&Machine::costs, costs));
}

TEST(GivenMachine, EveryProfileIsFoundByItsName) {
  for (const Machine& m : machine_profiles()) {
    const auto found = machine_from(m.name);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(found->l1_bytes, m.l1_bytes);
    EXPECT_EQ(found->processors, m.processors);
  }
}

TEST(GivenMachine, FiguresReplaceThoseOfTheProfileOrOfTheRealMachine) {
  const auto some = machine_from("l1=48K,l3=none,cores=3,costs=zen3");
  ASSERT_TRUE(some.ok()) << some.error().message();
  EXPECT_EQ(some->l1_bytes, 48 << 10);
  EXPECT_EQ(some->l2_bytes, detected_cpu_features().l2_bytes);
  EXPECT_EQ(some->l3_bytes, 0);
  EXPECT_EQ(some->processors, 3);
  EXPECT_EQ(some->costs, "zen3");
  const auto profile = machine_from("zen5,cores=1,isa=scalar");
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(profile->l1_bytes, 48 << 10);
  EXPECT_EQ(profile->processors, 1);
  EXPECT_EQ(profile->isa, "scalar");
}

TEST(GivenMachine, WhatCannotBeUnderstoodIsRefused) {
  for (const char* text : {"zen",         "zen5,zen4",  "l1",
                           "l1=",         "l1=-1",      "l1=48",
                           "l1=48G",      "l1=48KB",    "l1=99999999999999999999",
                           "l2=none",     "l3=",        "cores=0",
                           "cores=1.5",   "cores=9999", "isa=",
                           "isa=avx1024", "isa=vnni+",  "isa=scalar+tea",
                           "isa=+",       "costs=",     "l4=1M",
                           "l1=2M,l2=1M", ","}) {
    const auto machine = machine_from(text);
    ASSERT_FALSE(machine.ok()) << text;
    EXPECT_EQ(machine.error().group(), ErrorGroup::argument);
    EXPECT_NE(machine.error().message().find("WALLE_MACHINE"), std::string::npos) << text;
  }
#if defined(__x86_64__)
  EXPECT_FALSE(machine_from("isa=neon").ok()) << "asked for by name, and not there";
#endif
}

TEST(GivenMachine, TakesThePlaceOfTheRealOneWithinItsScope) {
  const CpuFeatures before = cpu_features();
  const CpuFeatures& real = detected_cpu_features();
  const int processors = available_processors();
  Machine m{.name = "test",
            .l1_bytes = 48 << 10,
            .l2_bytes = 1 << 20,
            .l3_bytes = 4 << 20,
            .processors = 7,
            .isa = "avx512",
            .costs = ""};
  {
    const MachineScope outer(m);
    EXPECT_EQ(cpu_features().l1_bytes, 48 << 10);
    EXPECT_EQ(cpu_features().outer_bytes, 4 << 20) << "less than a core may count on elsewhere";
    EXPECT_EQ(available_processors(), 7);
    const bool whole = real.has.has(*capabilities_from("avx512"));
    EXPECT_EQ(cpu_features().has.has(*capabilities_from("avx512")), whole) << "not more than there is";
    EXPECT_FALSE(cpu_features().has.has(Capability::avx512_vnni)) << "what it does not name it does not have";
    EXPECT_EQ(cpu_features().has.has(Capability::neon), real.has.has(Capability::neon));
    m.isa = "scalar";
    m.l3_bytes = 0;
    const MachineScope inner(m);
    EXPECT_TRUE(cpu_features().has.empty());
    EXPECT_EQ(cpu_features().outer_bytes, cpu_features().l2_bytes) << "no outer cache";
    EXPECT_EQ((*given_machine())->isa, "scalar");
  }
  EXPECT_EQ(cpu_features().l1_bytes, before.l1_bytes);
  EXPECT_EQ(cpu_features().has, before.has);
  EXPECT_EQ(available_processors(), processors);
}

TEST(GivenMachine, NarrowerRegistersOfAnotherArchitectureStandForItsOwn) {
  Machine m = *machine_from("phone");
  const MachineScope scope(m);
  const Capabilities real = detected_cpu_features().has;
  EXPECT_FALSE(cpu_features().has.has(Capability::avx2));
  for (const Capability c : {Capability::sse4, Capability::neon, Capability::dot})
    EXPECT_EQ(cpu_features().has.has(c), real.has(c)) << "128 bits, as NEON has";
}

}  // namespace
}  // namespace walle::base
