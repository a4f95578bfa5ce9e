// What the processor can do: the real one, or that of a given machine (base/machine.h).
#pragma once

#include "base/detected_cpu.h"

namespace walle::base {

// Constant while the machine stays the same; thread-safe.
const CpuFeatures& cpu_features();

}  // namespace walle::base
