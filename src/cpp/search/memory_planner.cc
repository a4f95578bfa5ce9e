#include "search/memory_planner.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/limits.h"

namespace walle::search {

// Quadratic in the blocks at worst. Plans have at most base::kMaxPlanNodes steps, networks some hundred, and
// a scan over neighbours ends at the first gap; interval trees would pay off only beyond that.
int64_t plan_offsets(std::vector<Block>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Stable, so that equal plans lay out equally on every machine.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (size_t i : order) {
    Block& block = blocks[i];
    // An empty value gets a byte: two operands of one step then never have one address.
    const int64_t size = base::round_up(std::max<int64_t>(block.bytes, 1), base::kSegmentAlignment);
    int64_t offset = 0;
    for (size_t j : placed) {
      const Block& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;  // never alive at once
      if (other.offset >= offset + size) break;  // the gap before it fits, and the rest lies behind
      offset = std::max(
          offset, base::round_up(other.offset + std::max<int64_t>(other.bytes, 1), base::kSegmentAlignment));
    }
    block.offset = offset;
    total = std::max(total, offset + size);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](size_t j) { return blocks[j].offset; }),
                  i);
  }
  return total;
}

}  // namespace walle::search
