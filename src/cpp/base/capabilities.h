// Named capabilities of a processor, and sets of them: base/capabilities.inc lists both.
//
// No ladder, because they do not come in one order: AVX-VNNI exists without AVX-512, a Cortex-A76 has dot
// products and fp16 but no i8mm, a Cortex-A510 has i8mm and no wider registers. Whatever asks for some asks
// whether all of those are there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walle::base {

enum class Capability : uint8_t {
#define WALLE_CAPABILITY(name, ...) name,
#include "base/capabilities.inc"
};

class Capabilities {
 public:
  constexpr Capabilities() = default;
  constexpr Capabilities(std::initializer_list<Capability> all) {
    for (const Capability c : all) bits_ |= bit(c);
  }

  constexpr bool has(Capability c) const { return bits_ & bit(c); }
  constexpr bool has(Capabilities all) const { return (bits_ & all.bits_) == all.bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr Capabilities operator|(Capabilities other) const { return Capabilities(bits_ | other.bits_); }
  constexpr Capabilities operator&(Capabilities other) const { return Capabilities(bits_ & other.bits_); }
  constexpr bool operator==(const Capabilities&) const = default;

 private:
  constexpr explicit Capabilities(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Capability c) { return uint32_t{1} << static_cast<int>(c); }

  uint32_t bits_ = 0;
};

// A set by which kernels are compiled, as a name for its capabilities.
struct InstructionSet {
  std::string_view name;
  Capabilities needs;
};
inline constexpr InstructionSet kInstructionSets[] = {
#define WALLE_INSTRUCTION_SET(name, ...) \
  {#name, [] {                           \
     using enum Capability;              \
     return Capabilities({__VA_ARGS__}); \
   }()},
#include "base/capabilities.inc"
};

// Their names, in the order of the list.
std::vector<std::string_view> capability_names(Capabilities these);

// "avx2+avx_vnni": the best set within them, and what else there is. Nothing for an unknown name, for a first
// one that is no set, and for a second set.
std::string capabilities_text(Capabilities these);
std::optional<Capabilities> capabilities_from(std::string_view text);

// Of a processor that has `real`, what a machine that has `wanted` may use: both. Capabilities of another
// architecture have those as their stand-in whose registers are no wider, so that a phone's kernels have
// vectors of four floats here, too.
Capabilities standing_for(Capabilities wanted, Capabilities real);

}  // namespace walle::base
