// What this machine does in a nanosecond, measured with the kernels that plans are made of.
#pragma once

#include <optional>
#include <string>

#include "backends/device_profile.h"

namespace walle::backends::cpu {

// Maker, family and model of the processor, as CPUID or the system tell them; empty where nobody does.
std::string processor_name();

// In about 60 ms on one thread. Nothing for an instruction set that WALLE_CPU names and nobody has.
std::optional<DeviceProfile> measure_profile();

}  // namespace walle::backends::cpu
