// The stage "merge" of the pipeline: the passes over a Program, in their order, one line each.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "runtime/options.h"

namespace walle::runtime {

// `backends` are those the program may run on: what none of them computes in 16 bits is widened.
Status merge(ops::Program& program, const std::vector<const backends::Backend*>& backends,
             const SessionOptions& options);

}  // namespace walle::runtime
