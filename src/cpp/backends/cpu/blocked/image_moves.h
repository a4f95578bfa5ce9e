// Movement that keeps channels in their lanes, as box copies between images in blocks of any element.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/blocked/blocked_op.h"
#include "kernels/raster/box_copy.h"

namespace walle::backends::cpu {

struct ImageMove {
  kernels::BoxCopy box;
  int source = 0;
};

// nullopt where the node is none. `element`: bytes that one is kept in.
std::optional<std::vector<ImageMove>> image_moves(const NodeView& node, int64_t element);
Candidate moves_candidate(const NodeView& node, const std::vector<ImageMove>& moves, int threads);
void run_moves(const std::vector<ImageMove>& moves, const HostArgs& a);

}  // namespace walle::backends::cpu
