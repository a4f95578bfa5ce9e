#include "kernels/conv_bf16/conv_bf16.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/blocked/blocked_columns.h"
#include "kernels/conv_bf16/conv_bf16_band.h"
#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
using base::ceil_div;

int64_t scratch_words(const ConvBf16& c) {
  if (c.in_place) return 0;
  return base::round_up(c.all_blocks() * band_words(c), int64_t{16});
}

// A share of the work: what it reads and where it writes.
class Share {
 public:
  Share(const ConvBf16& c, const ConvBf16Run& run, uint32_t* scratch) : c_(c), run_(run), scratch_(scratch) {
    biases_ = reinterpret_cast<const float*>(run.packed + c.panels() * c.panel_words());
  }

  // Outputs [mine) of image n: rows, or pixels of a flat one.
  void run(int64_t n, Steps mine, Steps panels) const {
    const ConvShape& s = c_.shape;
    for (int64_t at = mine.first; at < mine.last; at += c_.band) {
      const Steps band{at, std::min(at + c_.band, mine.last)};
      for (int64_t b = 0; b < c_.all_blocks() && !c_.in_place; ++b)
        copy_block(n, b, band, scratch_ + b * band_words(c_));
      for (int64_t p = panels.first; p < panels.last; ++p) {
        const bool last = p + 1 == panels.last;
        if (c_.flat) {
          pixels(n, p, c_.in_place ? words_of(n, 0, band.first) : scratch_, band.first, band.count(), last);
          continue;
        }
        if (joins()) {
          pixels(n, p, scratch_, band.first * s.ow, band.count() * s.ow, last);
          continue;
        }
        for (int64_t row = band.first; row < band.last; ++row)
          pixels(n, p, scratch_ + (row - band.first) * (s.sh / c_.row) * c_.row_words, row * s.ow, s.ow,
                 true);
      }
    }
  }

 private:
  // Whether rows of words follow each other as rows of outputs do.
  bool joins() const { return c_.shape.taps() == 1; }

  void copy_block(int64_t n, int64_t block, Steps band, uint32_t* to) const {
    const ConvShape& s = c_.shape;
    if (c_.flat) return to_words(n, block, band.first, band.count(), to);
    const int64_t width = c_.row_words / c_.of_block;
    const int64_t left = std::min(ceil_div(s.pl, c_.col), width);
    const int64_t inside = std::clamp<int64_t>(ceil_div(s.w + s.pl, c_.col) - left, 0, width - left);
    const int64_t rows = rows_met(c_, band.count());
    for (int64_t i = 0; i < rows; ++i, to += c_.row_words) {
      const int64_t row = band.first * s.sh - s.pt + i * c_.row;
      if (row < 0 || row >= s.h) {
        std::fill_n(to, c_.row_words, 0u);
        continue;
      }
      std::fill_n(to, left * c_.of_block, 0u);
      to_words(n, block, row * s.w + left * c_.col - s.pl, inside, to + left * c_.of_block);
      std::fill_n(to + (left + inside) * c_.of_block, (width - left - inside) * c_.of_block, 0u);
    }
  }

  void to_words(int64_t n, int64_t block, int64_t pixel, int64_t pixels, uint32_t* to) const {
    const ConvShape& s = c_.shape;
    const int64_t plane = s.h * s.w;
    const int64_t channels = std::min(kBlock, s.c - block * kBlock);
    if (c_.image == ConvBf16Image::bf16_blocks)
      return copy_words(words_of(n, block, pixel), channels, pixels, to);
    if (c_.image == ConvBf16Image::blocks)
      return c_.table->to_words(run_.x + ((n * blocks_of(s.c) + block) * plane + pixel) * kBlock,
                                c_.col * kBlock, channels, pixels, to);
    c_.table->rows_to_words(run_.x + (n * s.c + block * kBlock) * plane + pixel, plane, c_.col, channels,
                            pixels, c_.of_block, to);
  }

  // Of an image in bfloat16, whose lanes are words as they lie.
  const uint32_t* words_of(int64_t n, int64_t block, int64_t pixel) const {
    const ConvShape& s = c_.shape;
    return reinterpret_cast<const uint32_t*>(run_.x16 +
                                             ((n * blocks_of(s.c) + block) * s.h * s.w + pixel) * kBlock);
  }

  void copy_words(const uint32_t* from, int64_t channels, int64_t pixels, uint32_t* to) const {
    constexpr size_t kPixelBytes = kBlockWords * sizeof(uint32_t);
    if (c_.col == 1)
      std::memcpy(to, from, static_cast<size_t>(pixels) * kPixelBytes);
    else
      for (int64_t p = 0; p < pixels; ++p)
        std::memcpy(to + p * kBlockWords, from + p * c_.col * kBlockWords, kPixelBytes);
    // The lane behind an odd last channel is part of its word.
    for (int64_t p = 0; channels % 2 && p < pixels; ++p) to[p * kBlockWords + channels / 2] &= 0xffffu;
  }

  // `last`: what comes next reads other weights than those behind the panel's.
  void pixels(int64_t n, int64_t p, const uint32_t* x, int64_t first, int64_t count, bool last) const {
    const ConvShape& s = c_.shape;
    const int64_t output = p * c_.outputs;
    const int64_t plane = s.oh * s.ow;
    const int64_t to = ((n * blocks_of(s.m) + output / kBlock) * plane + first) * kBlock + output % kBlock;
    const int64_t x_block = c_.in_place ? s.h * s.w * kBlockWords : band_words(c_);
    // A panel behind the last channel has the last group's.
    const int64_t group = std::min(output / (s.m / s.groups), s.groups - 1);
    const uint32_t* const weights = run_.packed + p * c_.panel_words();
    ConvBf16Task task{.x = x + group * c_.blocks * x_block,
                      .x_step = s.sw / c_.col * c_.of_block,
                      .x_block = x_block,
                      .words = c_.words,
                      .of_block = c_.of_block,
                      .tap = c_.tap.data(),
                      .taps = s.taps(),
                      .pixels = count,
                      .weights = weights,
                      .next = last ? nullptr : weights + c_.panel_words(),
                      .bias = biases_ + p * c_.panel(),
                      .narrow = std::min(c_.outputs, blocks_of(s.m) * kBlock - output) <= c_.table->lanes,
                      .y = run_.y ? run_.y + to : nullptr,
                      .y_step = kBlock,
                      .y_vector = c_.table->lanes < kBlock ? c_.table->lanes : plane * kBlock,
                      .tail = run_.tail,
                      .y16 = run_.y16 ? run_.y16 + to : nullptr,
                      .residual16 = run_.residual16 ? run_.residual16 + to : nullptr};
    if (task.tail.residual) task.tail.residual += to;
    c_.table->dense(task);
  }

  const ConvBf16& c_;
  const ConvBf16Run& run_;
  const float* biases_;
  uint32_t* scratch_;
};

Steps share_of(int64_t n, int64_t share, int64_t shares) {
  return {n * share / shares, n * (share + 1) / shares};
}
}  // namespace

int64_t conv_bf16_workspace_bytes(const ConvBf16& c, int threads) {
  return threads * scratch_words(c) * static_cast<int64_t>(sizeof(uint32_t));
}

void run_conv_bf16(const ConvBf16& c, const ConvBf16Run& run, int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  if (s.n * s.m * s.oh * s.ow == 0) return;
  auto* const scratch = reinterpret_cast<uint32_t*>(workspace);
  const int64_t units = c.flat ? ceil_div(s.ow, int64_t{c.table->rows}) : s.oh;
  const bool even = unevenness(c.panels(), threads) <= kUnevenAtMost * unevenness(units, threads);
  const int64_t by_panels = c.by_panels && even ? std::min<int64_t>(threads, c.panels()) : 1;
  const int64_t by_units = std::clamp<int64_t>(units, 1, threads / by_panels);
  base::parallel_for(by_panels * by_units, threads, [&](int64_t share) {
    const Share mine(c, run, scratch + share * scratch_words(c));
    const Steps panels = share_of(c.panels(), share % by_panels, by_panels);
    const Steps outputs = share_of(c.flat ? s.ow : s.oh, share / by_panels, by_units);
    for (int64_t n = 0; n < s.n; ++n) mine.run(n, outputs, panels);
  });
}

}  // namespace walle::kernels
