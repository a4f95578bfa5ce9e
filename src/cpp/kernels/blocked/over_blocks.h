// Splitting images that lie in blocks of channels over threads.
#pragma once

#include <algorithm>

#include "kernels/blocked/blocked_shape.h"
#include "kernels/parallel.h"

namespace walle::kernels {

// fn(block, first pixel, pixels, channels) over equal runs of an image's pixels, those of small images whole.
template <class Fn>
void over_blocks(const BlockedShape& s, int64_t grain, int threads, Fn fn) {
  if (s.pixels == 0) return;
  parallel_ranges(s.blocks() * s.pixels, grain, threads, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / s.pixels;
      const int64_t first = begin % s.pixels;
      const int64_t count = std::min(end - begin, s.pixels - first);
      fn(block, first, count, std::min(kBlock, s.c - block % blocks_of(s.c) * kBlock));
      begin += count;
    }
  });
}

// Of the block's first channel in rows.
inline int64_t row_start(const BlockedShape& s, int64_t block) {
  const int64_t per_image = blocks_of(s.c);
  return (block / per_image * s.c + block % per_image * kBlock) * s.pixels;
}

}  // namespace walle::kernels
