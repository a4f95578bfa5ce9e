// Backends by name. A requested backend that is missing is an error, never a silent fallback.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace walle::runtime {

// The list's first row: every build has it, and it computes in ordinary memory.
const backends::Backend& host_backend();

std::vector<std::string> backend_names();
std::string backend_target(const std::string& name);  // Backend::target(), empty for unknown names

// "cpu", or several in order of preference: "opencl,cpu".
Result<std::vector<const backends::Backend*>> backends_named(const std::string& names);

}  // namespace walle::runtime
