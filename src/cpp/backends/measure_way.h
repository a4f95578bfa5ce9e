// What copies between the host and a device's memory cost, through the functions that a plan's copies call. A
// backend puts it into its profile beside the launch, which only it can measure.
#pragma once

#include <cstdint>
#include <functional>

#include "backends/device_profile.h"
#include "backends/memory.h"

namespace walle::backends {

// In some 10 ms over a bus of 10 GB/s. Nothing where the memory is short or a copy fails.
// `now_ns`: a clock that never goes back.
std::optional<Way> measure_way(Memory& memory, const std::function<int64_t()>& now_ns);

}  // namespace walle::backends
