#include "kernels/blocked/blocked.h"

#include <algorithm>
#include <vector>

#include "kernels/blocked/over_blocks.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(BlockedTable, kBlockedF32, blocked_table)

namespace {
// A vector of channels of a pixel is one operation.
constexpr int64_t kPixelGrain = kVectorGrain / kBlock;
}  // namespace

void to_blocked(const BlockedTable& table, const BlockedShape& s, const float* rows, float* out,
                int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    table.from_rows(rows + row_start(s, block) + first, s.pixels, channels, count,
                    out + (block * s.pixels + first) * kBlock);
  });
}

void from_blocked(const BlockedTable& table, const BlockedShape& s, const float* blocked, float* out,
                  int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    table.to_rows(blocked + (block * s.pixels + first) * kBlock, s.pixels, channels, count,
                  out + row_start(s, block) + first);
  });
}

PoolDivisors pool_divisors(const PoolShape& s) {
  PoolDivisors out;
  PoolShape one = s;
  one.kw = one.sw = one.dw = one.w = one.ow = 1;
  one.pl = one.pr = 0;
  for (int64_t r = 0; s.mean && r < s.oh; ++r)
    out.rows.push_back(static_cast<float>(pool_divisor(one, r, 0)));
  one = s;
  one.kh = one.sh = one.dh = one.h = one.oh = 1;
  one.pt = one.pb = 0;
  for (int64_t c = 0; s.mean && c < s.ow; ++c)
    out.cols.push_back(static_cast<float>(pool_divisor(one, 0, c)));
  return out;
}

void blocked_pool(const BlockedTable& table, const BlockedShape& image, const PoolShape& s, const float* x,
                  float* y, int threads) {
  const PoolDivisors divisors = pool_divisors(s);
  const int64_t grain = items_of(kVectorGrain, s.ow * s.kh * s.kw * kBlock);
  parallel_ranges(image.blocks() * s.oh, grain, threads, [&](int64_t begin, int64_t end) {
    BlockedPool task{s};
    task.row_counts = s.mean ? divisors.rows.data() : nullptr;
    task.col_counts = s.mean ? divisors.cols.data() : nullptr;
    while (begin < end) {
      const int64_t block = begin / s.oh;
      task.x = x + block * s.h * s.w * kBlock;
      task.y = y + block * s.oh * s.ow * kBlock;
      task.row = begin % s.oh;
      task.end = std::min(task.row + end - begin, s.oh);
      table.pool(task);
      begin += task.end - task.row;
    }
  });
}

void blocked_mean(const BlockedTable& table, const BlockedShape& s, float count, const float* x, float* y,
                  int threads) {
  const int64_t grain = items_of(kVectorGrain, s.pixels * kBlock);
  parallel_ranges(s.blocks(), grain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      table.mean(x + b * s.pixels * kBlock, s.pixels, count, y + b * kBlock);
  });
}

void blocked_scale(const BlockedTable& table, const BlockedShape& s, BlockedScale kind, bool shared,
                   const float* x, const float* lanes, float* y, int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t) {
    const int64_t at = (block * s.pixels + first) * kBlock;
    const int64_t from = shared ? block % blocks_of(s.c) : block;
    table.scale(kind, x + at, lanes + from * kBlock, count, y + at);
  });
}

}  // namespace walle::kernels
