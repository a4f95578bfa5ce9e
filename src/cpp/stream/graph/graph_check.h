// Graph check: whether a graph means something: what no row could be right for is an argument error that
// names the operator by its place from 1, and so is what passes the limits of stream/graph/graph_spec.h.
#pragma once

#include "stream/graph/graph_spec.h"

namespace walle::stream {

Status verify(const GraphSpec& spec);
// One operator, for whoever adds them one by one; and how many there may be, those of right sides with them.
Status verify_step(const GraphStep& step);
Status check_size(size_t steps);

}  // namespace walle::stream
