// Maximum and average pooling over two axes in NCHW: the definition for every type, and f32 vector lines over
// the planes that convolutions use.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/pool/pool_table.h"

namespace walle::kernels {

const PoolTable& pool_table(Isa isa);

struct PoolShape : WindowShape {
  int64_t channels = 1;    // batch times channels
  int64_t pb = 0, pr = 0;  // padding at the bottom and on the right, of which a mean knows what counts
  bool mean = false;
  bool count_padding = false;  // the mean's divisor counts padding (never what lies beyond it)
};

// Taps that count for the mean at one output.
int64_t pool_divisor(const PoolShape& s, int64_t oh, int64_t ow);

struct Pool {
  PoolShape shape;
  const PoolTable* table = nullptr;
  Conv planes;                // of a depthwise convolution with the same window
  std::vector<float> factor;  // mean only
  bool in_place = false;      // over the image as it lies: no planes
};

Pool make_pool(const PoolShape& shape, Isa isa);
int64_t pool_workspace_bytes(const Pool& pool, int threads);
void run_pool(const Pool& pool, const float* x, float* y, int threads, std::byte* workspace);

}  // namespace walle::kernels
