#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/cpu_features.h"
#include "base/machine.h"

namespace walle::kernels {

namespace {
#define WALLE_ISA_ENTRY_(set, unused1, unused2) Isa::set,
constexpr Isa kCompiled[] = {WALLE_FOR_EACH_ISA_(WALLE_ISA_ENTRY_, , )};

std::string supported_names() {
  std::string names;
  for (Isa isa : supported_isas()) names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  return names;
}

// Those of WALLE_CPU; nothing for what this machine or this build lacks.
std::optional<base::Capabilities> named_capabilities(std::string_view text) {
  const std::string_view set = text.substr(0, text.find('+'));
  if (std::ranges::find(supported_isas(), set, isa_name) == supported_isas().end()) return std::nullopt;
  const std::optional<base::Capabilities> named = base::capabilities_from(text);
  return named && base::cpu_features().has.has(*named) ? named : std::nullopt;
}
}  // namespace

std::string_view isa_name(Isa isa) { return base::kInstructionSets[static_cast<int>(isa)].name; }
base::Capabilities needs_of(Isa isa) { return base::kInstructionSets[static_cast<int>(isa)].needs; }

const std::vector<Isa>& supported_isas() {
  // Not a global: nothing runs when the library is loaded. One list for each best set, because a given
  // machine may have fewer than this one and a machine with a set has those before it.
  static const std::vector<std::vector<Isa>> lists = [] {
    std::vector<std::vector<Isa>> out;
    for (const Isa& best : kCompiled) out.emplace_back(std::begin(kCompiled), &best + 1);
    return out;
  }();
  // What was compiled is not what the machine has: one wheel serves all x86-64, so the processor is asked.
  const base::Capabilities has = base::cpu_features().has;
  const auto runs_here = [&](Isa isa) { return has.has(needs_of(isa)); };
  return lists[std::max<int64_t>(std::ranges::count_if(kCompiled, runs_here), 1) - 1];
}

Result<base::Capabilities> usable_capabilities() {
  // Whatever a WALLE_MACHINE that nobody understands was to test would not be tested.
  WALLE_TRY(base::given_machine());
  const char* forced = std::getenv("WALLE_CPU");
  // Set to nothing counts as not set: that is how shells unset a variable for one command.
  if (!forced || !*forced) return base::cpu_features().has;
  if (const std::optional<base::Capabilities> named = named_capabilities(forced)) return *named;
  return argument_error({"WALLE_CPU=", forced},
                        {"one of ", supported_names(), ", with or without what stands beside it of ",
                         base::capabilities_text(base::cpu_features().has)},
                        "environment variable WALLE_CPU", "unset it to let the runtime choose the best set");
}

Result<Isa> select_isa() {
  WALLE_ASSIGN(const base::Capabilities usable, usable_capabilities());
  Isa best = Isa::scalar;
  for (const Isa isa : supported_isas())
    if (usable.has(needs_of(isa))) best = isa;
  return best;
}

}  // namespace walle::kernels
