#include "kernels/pool/pool.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(PoolTable, kPoolF32, pool_table)

namespace {
// Taps of one window along one axis that lie in [low, high).
// Counted tap by tap: with dilation the taps inside the input are no interval of the window, and windows are
// small.
int64_t counted(int64_t out, int64_t stride, int64_t taps, int64_t dilation, int64_t before, int64_t low,
                int64_t high) {
  int64_t n = 0;
  for (int64_t k = 0; k < taps; ++k) {
    const int64_t at = out * stride - before + k * dilation;
    n += at >= low && at < high;
  }
  return n;
}

int64_t plane_floats(const Pool& p) {
  // The line: all that windows of a row read, and what whole vectors read behind it.
  if (p.in_place) {
    const PoolShape& s = p.shape;
    return whole_lines(std::max(s.pl + s.w, (s.ow - 1) * s.sw + s.kw) + kSlackFloats);
  }
  const ConvPlanes& planes = p.planes.planes;
  return whole_lines(planes.count * planes.rows * planes.pitch + kSlackFloats);
}
}  // namespace

int64_t pool_divisor(const PoolShape& s, int64_t oh, int64_t ow) {
  const int64_t top = s.count_padding ? -s.pt : 0;
  const int64_t left = s.count_padding ? -s.pl : 0;
  const int64_t bottom = s.h + (s.count_padding ? s.pb : 0);
  const int64_t right = s.w + (s.count_padding ? s.pr : 0);
  // At least 1: with ceil_mode a window may lie wholly in the padding, and its mean is then 0, not 0 / 0.
  return std::max<int64_t>(
      counted(oh, s.sh, s.kh, s.dh, s.pt, top, bottom) * counted(ow, s.sw, s.kw, s.dw, s.pl, left, right), 1);
}

Pool make_pool(const PoolShape& s, Isa isa) {
  // Only its planes are used, so that any depthwise convolution of the same window will do.
  ConvShape window{s};
  window.c = window.m = window.groups = 2;
  Pool p{.shape = s, .table = &pool_table(isa), .planes = make_conv(window, isa), .factor = {}};
  // Means of small strides stay with planes, which add up in the order of the taps.
  p.in_place = s.dh == 1 && s.dw == 1 && (!s.mean || s.sw > 2);
  if (!s.mean) {
    // What no maximum takes; a mean needs 0, the planes' default.
    p.planes.planes.fill = -std::numeric_limits<float>::infinity();
    return p;
  }
  // Reciprocals per output, made once per plan: only windows at the border differ, but a table needs no
  // branch.
  for (int64_t i = 0; i < s.oh; ++i)
    for (int64_t j = 0; j < s.ow; ++j) p.factor.push_back(1.0f / static_cast<float>(pool_divisor(s, i, j)));
  return p;
}

int64_t pool_workspace_bytes(const Pool& p, int threads) { return threads * plane_floats(p) * kFloatBytes; }

namespace {
void run_images(const Pool& p, const float* x, float* y, int threads, std::byte* workspace) {
  const PoolShape& s = p.shape;
  const auto run = s.mean ? p.table->mean_image : p.table->max_image;
  const int64_t shares = std::min<int64_t>(threads, s.channels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    float* line = reinterpret_cast<float*>(workspace) + share * plane_floats(p);
    // Once for all channels: only the columns of the image are written again.
    std::fill_n(line, plane_floats(p), s.mean ? 0 : -std::numeric_limits<float>::infinity());
    for (int64_t c = s.channels * share / shares; c < s.channels * (share + 1) / shares; ++c)
      run({s, x + c * s.h * s.w, line, y + c * s.oh * s.ow, s.mean ? p.factor.data() : nullptr});
  });
}
}  // namespace

void run_pool(const Pool& p, const float* x, float* y, int threads, std::byte* workspace) {
  if (p.in_place) return run_images(p, x, y, threads, workspace);
  const PoolShape& s = p.shape;
  const ConvPlanes& planes = p.planes.planes;
  const int64_t shares = std::min<int64_t>(threads, s.channels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    float* buffer = reinterpret_cast<float*>(workspace) + share * plane_floats(p);
    std::memset(buffer + planes.count * planes.rows * planes.pitch, 0, kSlackFloats * kFloatBytes);
    const int64_t first = s.channels * share / shares;
    for (int64_t c = first; c < s.channels * (share + 1) / shares; ++c) {
      p.planes.table->fill_planes(planes, x + c * s.h * s.w, c == first, buffer);
      p.table->run({.planes = buffer,
                    .tap = p.planes.tap.data(),
                    .taps = s.kh * s.kw,
                    .oh = s.oh,
                    .ow = s.ow,
                    .pitch = planes.pitch,
                    .out = y + c * s.oh * s.ow,
                    .factor = s.mean ? p.factor.data() : nullptr});
    }
  });
}

}  // namespace walle::kernels
