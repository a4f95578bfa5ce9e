// The parts of verifying a graph (stream/graph/graph_spec.h), for whoever adds operators one by one.
#pragma once

#include "stream/graph/graph_spec.h"

namespace walle::stream {

Status verify_step(const GraphStep& step);
Status check_join(const JoinStep& join);
Status check_size(size_t steps);  // all of a graph, those of right sides with them

}  // namespace walle::stream
