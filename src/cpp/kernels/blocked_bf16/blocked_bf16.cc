#include "kernels/blocked_bf16/blocked_bf16.h"

#include <algorithm>
#include <array>

#include "kernels/bfdot_forms.h"
#include "kernels/blocked/over_blocks.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_BFDOT_FORM(BlockedBf16Table, kBlockedBf16, blocked_bf16_form)

namespace {
constexpr int64_t kPixelGrain = kVectorGrain / kBlock;
// Pixels that are turned or rounded at once: 4 KB of float32, which stay in the first-level cache.
constexpr int64_t kPixels = kBf16Piece / kBlock;

void widen(const BlockedBf16Table& t, const uint16_t* from, int64_t n, float* to) {
  t.widen(from, t.lanes, n / t.lanes, to, t.lanes);
}
void narrow(const BlockedBf16Table& t, const float* from, int64_t n, uint16_t* to) {
  t.narrow(from, t.lanes, n / t.lanes, to, t.lanes);
}
}  // namespace

void to_blocked_bf16(const BlockedBf16Table& table, const BlockedTable& turns, const BlockedShape& s,
                     const float* rows, uint16_t* out, int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    alignas(64) std::array<float, kBf16Piece> piece;
    for (int64_t p = 0; p < count; p += kPixels) {
      const int64_t n = std::min(kPixels, count - p);
      turns.from_rows(rows + row_start(s, block) + first + p, s.pixels, channels, n, piece.data());
      narrow(table, piece.data(), n * kBlock, out + (block * s.pixels + first + p) * kBlock);
    }
  });
}

void from_blocked_bf16(const BlockedBf16Table& table, const BlockedTable& turns, const BlockedShape& s,
                       const uint16_t* blocked, float* out, int threads) {
  over_blocks(s, kPixelGrain, threads, [&](int64_t block, int64_t first, int64_t count, int64_t channels) {
    alignas(64) std::array<float, kBf16Piece> piece;
    for (int64_t p = 0; p < count; p += kPixels) {
      const int64_t n = std::min(kPixels, count - p);
      widen(table, blocked + (block * s.pixels + first + p) * kBlock, n * kBlock, piece.data());
      turns.to_rows(piece.data(), s.pixels, channels, n, out + row_start(s, block) + first + p);
    }
  });
}

namespace {
// Rows of results that are in float32 at once: one, or as many as 8 KB hold.
int64_t staged_rows(int64_t ow) {
  return std::max<int64_t>(1, 2 * kBf16Piece / std::max<int64_t>(ow * kBlock, 1));
}

// fn(block, first row, end, staged) makes rows of results of one block, `staged` being where the first
// begins.
template <class Fn>
void over_rows(const BlockedBf16Table& table, int64_t blocks, int64_t oh, int64_t ow, uint16_t* y,
               int threads, std::byte* workspace, Fn fn) {
  const int64_t rows = blocks * oh;
  if (rows * ow == 0) return;
  const int64_t least = items_of(kVectorGrain, ow * kBlock);
  const int64_t shares = std::clamp<int64_t>(base::ceil_div(rows, least), 1, threads);
  base::parallel_for(shares, threads, [&](int64_t share) {
    auto* const staged = reinterpret_cast<float*>(workspace + share * blocked_bf16_workspace_bytes(ow, 1));
    const int64_t end = rows * (share + 1) / shares;
    for (int64_t r = rows * share / shares; r < end;) {
      const int64_t row = r % oh;
      const int64_t count = std::min({end - r, oh - row, staged_rows(ow)});
      fn(r / oh, row, row + count, staged);
      narrow(table, staged, count * ow * kBlock, y + r * ow * kBlock);
      r += count;
    }
  });
}
}  // namespace

int64_t blocked_bf16_workspace_bytes(int64_t ow, int threads) {
  return threads * whole_lines(staged_rows(ow) * ow * kBlock) * kFloatBytes;
}

void run_depthwise_bf16(const BlockedBf16Table& table, Isa isa, const BlockedConv& c, const uint16_t* x,
                        const float* weights, const BlockedTail& tail, uint16_t* y, int threads,
                        std::byte* workspace) {
  const ConvShape& s = c.shape;
  const auto make = [&](int64_t block, int64_t row, int64_t end, float* staged) {
    const float* of_block = weights + block % blocks_of(s.m) * (s.taps() + 1) * kBlock;
    table.depthwise(s.kh, s.sh,
                    {.x = x + block * s.h * s.w * kBlock,
                     .h = s.h,
                     .w = s.w,
                     .pt = s.pt,
                     .pl = s.pl,
                     .ow = s.ow,
                     .row = row,
                     .end = end,
                     .weights = of_block + kBlock,
                     .bias = of_block,
                     .y = staged,
                     .y_row = row,
                     .tail = tail});
    if (tail.activation > Activation::clamp)
      eltwise_table(isa).activation[static_cast<int>(tail.activation)](
          staged, staged, (end - row) * s.ow * kBlock, tail.alpha, tail.beta);
  };
  over_rows(table, s.n * blocks_of(s.m), s.oh, s.ow, y, threads, workspace, make);
}

void blocked_pool_bf16(const BlockedBf16Table& table, const BlockedShape& image, const PoolShape& s,
                       const uint16_t* x, uint16_t* y, int threads, std::byte* workspace) {
  const PoolDivisors divisors = pool_divisors(s);
  const auto make = [&](int64_t block, int64_t row, int64_t end, float* staged) {
    BlockedPoolOf<uint16_t> task{s};
    task.row_counts = s.mean ? divisors.rows.data() : nullptr;
    task.col_counts = s.mean ? divisors.cols.data() : nullptr;
    task.x = x + block * s.h * s.w * kBlock;
    task.y = staged;
    task.row = task.y_row = row;
    task.end = end;
    table.pool(task);
  };
  over_rows(table, image.blocks(), s.oh, s.ow, y, threads, workspace, make);
}

void blocked_mean_bf16(const BlockedBf16Table& table, const BlockedShape& s, float count, const uint16_t* x,
                       float* y, int threads) {
  const int64_t grain = items_of(kVectorGrain, s.pixels * kBlock);
  parallel_ranges(s.blocks(), grain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      table.mean(x + b * s.pixels * kBlock, s.pixels, count, y + b * kBlock);
  });
}

void over_bf16(const BlockedBf16Table& table, std::span<const uint16_t* const> x, uint16_t* y,
               int64_t elements, int64_t block, int threads, const Bf16Piece& fn) {
  parallel_ranges(elements / kBlock, kPixelGrain, threads, [&](int64_t begin, int64_t end) {
    alignas(64) std::array<std::array<float, kBf16Piece>, 3> floats;
    const float* const given[] = {floats[0].data(), floats[1].data()};
    for (int64_t at = begin * kBlock; at < end * kBlock;) {
      const int64_t n = std::min({kBf16Piece, end * kBlock - at, block - at % block});
      for (size_t i = 0; i < x.size(); ++i) widen(table, x[i] + at, n, floats[i].data());
      fn(given, floats[2].data(), at, n);
      narrow(table, floats[2].data(), n, y + at);
      at += n;
    }
  });
}

}  // namespace walle::kernels
