// The order of the passes over a Program, in one place.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "runtime/options.h"

namespace walle::runtime {

Status run_passes(ops::Program& program, const std::vector<const backends::Backend*>& backends,
                  const SessionOptions& options);

}  // namespace walle::runtime
