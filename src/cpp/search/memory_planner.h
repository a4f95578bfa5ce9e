// Offsets for blocks with lifetimes: two blocks that live at the same time never overlap.
//
// Greedy by size (Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020):
// largest first, each at the lowest offset that is free over its whole life.
#pragma once

#include <cstdint>
#include <vector>

namespace walle::search {

struct Block {
  int64_t bytes = 0;
  int first = 0;  // first and last step that uses it, inclusive
  int last = 0;
  int64_t offset = 0;  // result
};

// Fills the offsets and returns the bytes needed in all. Offsets are multiples of kSegmentAlignment.
int64_t plan_offsets(std::vector<Block>& blocks);

}  // namespace walle::search
