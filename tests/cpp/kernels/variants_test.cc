// A family that stands on single capabilities, as products of int8 will: every machine gets its own best
// form.
#include "kernels/variants.h"

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/cpu_features.h"
#include "base/machine.h"
#include "kernels/isa.h"

namespace walle::kernels {
namespace {

using base::Capabilities;
using base::Capability;

struct Int8Table {
  int products = 0;  // that one instruction adds up
};
constexpr Int8Table kOne{1}, kTwo{2}, kFour{4}, kEight{8}, kTile{64};

constexpr Capabilities needs(std::string_view set, std::initializer_list<Capability> beside = {}) {
  Capabilities out(beside);
  for (const base::InstructionSet& s : base::kInstructionSets)
    if (s.name == set) out = out | s.needs;
  return out;
}

using enum Capability;
constexpr Variant<Int8Table> kFamily[] = {
    {"scalar", {}, &kOne},
    {"avx2", needs("avx2"), &kTwo},
    {"avx_vnni", needs("avx2", {avx_vnni}), &kFour},
    {"avx512", needs("avx512"), &kTwo},
    {"avx512_vnni", needs("avx512", {avx512_vnni}), &kFour},
    {"amx_int8", needs("avx512", {amx_int8}), &kTile},
    {"neon", needs("neon"), &kTwo},
    {"neon_dot", needs("neon", {dot}), &kFour},
    {"neon_i8mm", needs("neon", {dot, i8mm}), &kEight},
};
static_assert(in_order<Int8Table>(kFamily));

// The same order for a family whose AVX-512 form without VNNI is slower than AVX-VNNI in half the width.
constexpr Variant<Int8Table> kNarrowFirst[] = {
    {"scalar", {}, &kOne},
    {"avx512", needs("avx512"), &kTwo},
    {"avx_vnni", needs("avx2", {avx_vnni}), &kFour},
};
static_assert(in_order<Int8Table>(kNarrowFirst));

std::string_view picked(Capabilities usable) { return pick<Int8Table>(kFamily, usable).name; }

TEST(Variants, EveryMachineGetsItsBest) {
  const std::map<std::string, std::string_view> wanted = {
      {"zen3", "avx2"},       {"zen4", "avx512_vnni"}, {"zen5", "avx512_vnni"},
      {"server", "amx_int8"}, {"laptop", "avx_vnni"},  {"tablet", "neon_i8mm"},
      {"phone", "neon_dot"},  {"board", "neon"},       {"guest", "avx2"},
  };
  for (const base::Machine& m : base::machine_profiles()) {
    const auto expected = wanted.find(m.name);
    ASSERT_NE(expected, wanted.end()) << "a new profile: say what it gets";
    EXPECT_EQ(picked(*base::capabilities_from(m.isa)), expected->second) << m.name;
  }
  EXPECT_EQ(picked({}), "scalar");
  EXPECT_EQ(picked({neon, i8mm}), "neon") << "all that a form needs, not the most of it";
  EXPECT_EQ(pick<Int8Table>(kNarrowFirst, needs("avx512", {avx_vnni})).name, "avx_vnni");
}

TEST(Variants, AFamilyOutOfOrderIsRefused) {
  constexpr Variant<Int8Table> needy[] = {{"avx2", needs("avx2"), &kTwo}};
  constexpr Variant<Int8Table> hidden[] = {
      {"scalar", {}, &kOne}, {"avx512", needs("avx512"), &kTwo}, {"avx2", needs("avx2"), &kTwo}};
  constexpr Variant<Int8Table> twice[] = {{"scalar", {}, &kOne}, {"plain", {}, &kOne}};
  EXPECT_FALSE(in_order<Int8Table>({}));
  EXPECT_FALSE(in_order<Int8Table>(needy)) << "nothing for the others";
  EXPECT_FALSE(in_order<Int8Table>(hidden)) << "AVX-512 would never be picked";
  EXPECT_FALSE(in_order<Int8Table>(twice));
}

// What is forced is exactly that: the same on every machine that has it.
TEST(Variants, TheEnvironmentForcesASetAndWhatStandsBesideIt) {
  const auto forced = [](const std::string& text) {
    setenv("WALLE_CPU", text.c_str(), 1);
    const auto usable = usable_capabilities();
    unsetenv("WALLE_CPU");
    return usable;
  };
  const Capabilities here = base::cpu_features().has;
  ASSERT_TRUE(usable_capabilities().ok());
  EXPECT_EQ(*usable_capabilities(), here);
  for (const Isa isa : supported_isas()) {
    const auto usable = forced(std::string(isa_name(isa)));
    ASSERT_TRUE(usable.ok());
    EXPECT_EQ(*usable, needs_of(isa));
    for (const std::string_view beside : base::capability_names(here)) {
      const std::string text = std::string(isa_name(isa)) + "+" + std::string(beside);
      const auto more = forced(text);
      ASSERT_TRUE(more.ok()) << text;
      EXPECT_EQ(*more, *base::capabilities_from(text));
    }
  }
  for (const char* text : {"avx2+", "scalar+tea", "dot", "scalar+neon+sse4"}) {
    const auto usable = forced(text);
    ASSERT_FALSE(usable.ok()) << text;
    EXPECT_NE(usable.error().message().find(text), std::string::npos);
  }
}

TEST(Variants, AGivenMachineHasItsOwn) {
  for (const base::Machine& m : base::machine_profiles()) {
    const base::MachineScope scope(m);
    const auto usable = usable_capabilities();
    ASSERT_TRUE(usable.ok());
    EXPECT_TRUE(base::detected_cpu_features().has.has(*usable)) << m.name << " runs here";
    EXPECT_TRUE(usable->has(needs_of(*select_isa()))) << m.name;
  }
}

}  // namespace
}  // namespace walle::kernels
