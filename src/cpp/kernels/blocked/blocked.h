// Channel-blocked storage of float32 images, and what needs no preparation there. See blocked_table.h for the
// layout.
//
// Stateless: every function may be called from any thread.
#pragma once

#include <vector>

#include "kernels/blocked/blocked_shape.h"
#include "kernels/blocked/blocked_table.h"
#include "kernels/isa.h"
#include "kernels/pool/pool.h"

namespace walle::kernels {

const BlockedTable& blocked_table(Isa isa);

void to_blocked(const BlockedTable& table, const BlockedShape& shape, const float* rows, float* out,
                int threads);
void from_blocked(const BlockedTable& table, const BlockedShape& shape, const float* blocked, float* out,
                  int threads);

// What a mean divides by is a product: of one factor per row and one per column. Empty of a maximum.
struct PoolDivisors {
  std::vector<float> rows, cols;
};
PoolDivisors pool_divisors(const PoolShape& shape);

// Pooling of [n, c]; shape.channels is not looked at.
void blocked_pool(const BlockedTable& table, const BlockedShape& image, const PoolShape& shape,
                  const float* x, float* y, int threads);

// Means (or with count 1: sums) over an image's pixels to [n, c, 1].
void blocked_mean(const BlockedTable& table, const BlockedShape& shape, float count, const float* x, float* y,
                  int threads);

// Pixels and one value per channel: `lanes` is [n, c, 1], or [1, c, 1] where `shared`.
void blocked_scale(const BlockedTable& table, const BlockedShape& shape, BlockedScale kind, bool shared,
                   const float* x, const float* lanes, float* y, int threads);

}  // namespace walle::kernels
