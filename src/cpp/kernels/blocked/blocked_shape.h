// What an image of channel-blocked storage measures (blocked_table.h).
#pragma once

#include "base/checked.h"
#include "kernels/blocked/blocked_table.h"

namespace walle::kernels {

inline constexpr int64_t blocks_of(int64_t channels) { return base::ceil_div(channels, kBlock); }

// An image of [n, c, pixels].
struct BlockedShape {
  int64_t n = 1, c = 1, pixels = 1;

  int64_t blocks() const { return n * blocks_of(c); }
  int64_t floats() const { return blocks() * pixels * kBlock; }
};

}  // namespace walle::kernels
