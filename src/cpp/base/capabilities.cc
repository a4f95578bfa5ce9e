#include "base/capabilities.h"

#include <algorithm>

namespace walle::base {

namespace {
enum class Architecture : uint8_t { x86_64, arm64, other };
#if defined(__x86_64__)
constexpr Architecture kHere = Architecture::x86_64;
#elif defined(__aarch64__)
constexpr Architecture kHere = Architecture::arm64;
#else
constexpr Architecture kHere = Architecture::other;
#endif

struct Facts {
  Capability capability;
  std::string_view name;
  Architecture architecture;
  int bits;
};
constexpr Facts kFacts[] = {
#define WALLE_CAPABILITY(name, architecture, bits) \
  {Capability::name, #name, Architecture::architecture, bits},
#include "base/capabilities.inc"
};
static_assert(std::size(kFacts) <= 32, "Capabilities has a bit for each");

// The first name of "a+b" is taken off `text`.
std::string_view take_name(std::string_view& text) {
  const size_t end = std::min(text.find('+'), text.size());
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return name;
}
}  // namespace

std::vector<std::string_view> capability_names(Capabilities these) {
  std::vector<std::string_view> names;
  for (const Facts& f : kFacts)
    if (these.has(f.capability)) names.push_back(f.name);
  return names;
}

std::string capabilities_text(Capabilities these) {
  const InstructionSet* best = kInstructionSets;  // scalar, which needs nothing
  for (const InstructionSet& set : kInstructionSets)
    if (these.has(set.needs) && set.needs.has(best->needs)) best = &set;
  std::string text(best->name);
  for (const Facts& f : kFacts)
    if (these.has(f.capability) && !best->needs.has(f.capability)) text.append("+").append(f.name);
  return text;
}

std::optional<Capabilities> capabilities_from(std::string_view text) {
  // A name that is missing would be taken for the end.
  if (text.ends_with('+')) return std::nullopt;
  const auto* set = std::ranges::find(kInstructionSets, take_name(text), &InstructionSet::name);
  if (set == std::end(kInstructionSets)) return std::nullopt;
  Capabilities out = set->needs;
  while (!text.empty()) {
    const auto* found = std::ranges::find(kFacts, take_name(text), &Facts::name);
    if (found == std::end(kFacts)) return std::nullopt;
    out = out | Capabilities{found->capability};
  }
  return out;
}

Capabilities standing_for(Capabilities wanted, Capabilities real) {
  bool foreign = false;
  int widest = 0;
  for (const Facts& f : kFacts) {
    if (!wanted.has(f.capability)) continue;
    foreign |= f.architecture != kHere;
    widest = std::max(widest, f.bits);
  }
  if (!foreign) return wanted & real;
  Capabilities out;
  for (const Facts& f : kFacts)
    if (f.bits <= widest && real.has(f.capability)) out = out | Capabilities{f.capability};
  return out;
}

}  // namespace walle::base
