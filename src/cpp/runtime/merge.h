// The stage "merge" of the pipeline: the passes over a Program, in their order, one line each.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "runtime/options.h"
#include "runtime/shape_questions.h"
#include "search/search_options.h"

namespace walle::runtime {

// `backends` are those the program may run on: what none of them computes in 16 bits is widened. `search` is
// what the plan will be made with: of two forms of the same sub-graph the one that costs less there is taken.
Status merge(ops::Program& program, const std::vector<const backends::Backend*>& backends,
             const SessionOptions& options, const search::SearchOptions& search, ShapeQuestions& questions);

}  // namespace walle::runtime
