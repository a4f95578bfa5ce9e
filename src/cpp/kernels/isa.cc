#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>

#include "base/cpu_features.h"
#include "base/machine.h"

namespace walle::kernels {

namespace {
#define WALLE_ISA_ENTRY_(set, unused1, unused2) Isa::set,
constexpr Isa kCompiled[] = {WALLE_FOR_EACH_ISA_(WALLE_ISA_ENTRY_, , )};

// What was compiled is not what the machine has: one wheel serves all x86-64, so the processor is asked.
bool runs_here(Isa isa) {
  const base::CpuFeatures& cpu = base::cpu_features();
  switch (isa) {
    case Isa::scalar: return true;
    case Isa::sse4: return cpu.sse4;
    case Isa::avx2: return cpu.avx2;
    case Isa::avx512: return cpu.avx512;
    case Isa::neon: return cpu.neon;
  }
  return false;
}

std::string supported_names() {
  std::string names;
  for (Isa isa : supported_isas()) names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  return names;
}
}  // namespace

std::string_view isa_name(Isa isa) {
  constexpr std::string_view names[] = {"scalar", "sse4", "avx2", "avx512", "neon"};
  return names[static_cast<int>(isa)];
}

const std::vector<Isa>& supported_isas() {
  // Not a global: nothing runs when the library is loaded. One list for each best set, because a given
  // machine may have fewer than this one and a machine with a set has those before it.
  static const std::vector<std::vector<Isa>> lists = [] {
    std::vector<std::vector<Isa>> out;
    for (const Isa& best : kCompiled) out.emplace_back(std::begin(kCompiled), &best + 1);
    return out;
  }();
  return lists[std::max<int64_t>(std::ranges::count_if(kCompiled, runs_here), 1) - 1];
}

Result<Isa> select_isa() {
  // Whatever a WALLE_MACHINE that nobody understands was to test would not be tested.
  WALLE_TRY(base::given_machine());
  const char* forced = std::getenv("WALLE_CPU");
  // Set to nothing counts as not set: that is how shells unset a variable for one command.
  if (!forced || !*forced) return supported_isas().back();
  for (Isa isa : supported_isas())
    if (isa_name(isa) == forced) return isa;
  return argument_error("WALLE_CPU=" + std::string(forced), "one of " + supported_names(),
                        "environment variable WALLE_CPU", "unset it to let the runtime choose the best set");
}

}  // namespace walle::kernels
