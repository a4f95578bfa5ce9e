#include "kernels/blocked/blocked_columns.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/blocked/blocked_table.h"

namespace walle::kernels {

namespace {
using base::ceil_div;

// The steps of a window of `size`, `step` apart, that lie in [0, n) when it starts at `from`.
Steps inside(int64_t from, int64_t step, int64_t size, int64_t n) {
  const int64_t first = from < 0 ? ceil_div(-from, step) : 0;
  const int64_t last = from >= n ? 0 : std::min(size, ceil_div(n - from, step));
  return {first, std::max(first, last)};
}

Steps window_columns(const ConvShape& s, int64_t col) { return inside(col * s.sw - s.pl, s.dw, s.kw, s.w); }

// Of `channels` planes of one float a pixel, or one plane of `pitch` floats.
std::vector<BlockedColumns> columns_of(const ConvShape& s, int64_t channels, int64_t pitch) {
  std::vector<BlockedColumns> out;
  for (int64_t col = 0; col < s.ow;) {
    const Steps steps = window_columns(s, col);
    BlockedColumns group{.first = col, .count = 1, .width = channels * steps.count(), .tap = {}, .which = {}};
    while (col + group.count < s.ow && window_columns(s, col + group.count) == steps) ++group.count;
    for (int64_t i = 0; i < s.kh; ++i)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t j = steps.first; j < steps.last; ++j) {
          group.tap.push_back((c * s.h * s.w + i * s.dh * s.w + j * s.dw) * pitch);
          group.which.push_back((i * s.kw + j) * channels + c);
        }
    col += group.count;
    out.push_back(std::move(group));
  }
  return out;
}
}  // namespace

Steps window_rows(const ConvShape& s, int64_t row) { return inside(row * s.sh - s.pt, s.dh, s.kh, s.h); }

std::vector<BlockedColumns> columns_of_blocks(const ConvShape& s) { return columns_of(s, 1, kBlock); }

std::vector<BlockedColumns> columns_of_rows(const ConvShape& s) { return columns_of(s, s.c, 1); }

}  // namespace walle::kernels
