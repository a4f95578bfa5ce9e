#include "kernels/pool/pool_codes.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/thread_pool.h"

namespace walle::kernels {

namespace {
constexpr int64_t kLine = 64;  // lines of two threads share none

// Columns that windows of a row read: the padded image.
int64_t columns(const PoolShape& s) { return std::max(s.pl + s.w, (s.ow - 1) * s.sw + s.kw); }
int64_t line_bytes(const PoolShape& s) { return base::round_up(columns(s), kLine); }

template <class T>
void keep_larger(T* __restrict to, const T* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = std::max(to[i], from[i]);
}

// Loops over bytes that lie side by side, which compilers make vectors of on every set: first rows, then
// columns, and of the windows at all columns those that the stride meets.
template <class T>
void pool_image(const PoolShape& s, const T* x, T* line, T* windows, T* y) {
  const int64_t met = (s.ow - 1) * s.sw + 1;
  for (int64_t r = 0; r < s.oh; ++r, y += s.ow) {
    const int64_t top = r * s.sh - s.pt;
    const int64_t first = std::max<int64_t>(top, 0), last = std::min(top + s.kh, s.h);
    T* row = line + s.pl;
    if (first < last)
      std::copy_n(x + first * s.w, s.w, row);
    else
      std::fill_n(row, s.w, std::numeric_limits<T>::lowest());
    for (int64_t i = first + 1; i < last; ++i) keep_larger(row, x + i * s.w, s.w);
    T* found = s.sw == 1 ? y : windows;
    std::copy_n(line, met, found);
    for (int64_t i = 1; i < s.kw; ++i) keep_larger(found, line + i, met);
    if (s.sw == 2)  // spelled out: vectors
      for (int64_t o = 0; o < s.ow; ++o) y[o] = found[2 * o];
    else if (s.sw > 2)
      for (int64_t o = 0; o < s.ow; ++o) y[o] = found[s.sw * o];
  }
}

template <class T>
void run(const PoolShape& s, const T* x, T* y, int threads, std::byte* workspace) {
  if (s.oh == 0 || s.ow == 0) return;
  const int64_t shares = std::min<int64_t>(threads, s.channels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    T* line = reinterpret_cast<T*>(workspace + share * 2 * line_bytes(s));
    // Once for all channels: only the columns of the image are written again.
    std::fill_n(line, columns(s), std::numeric_limits<T>::lowest());
    for (int64_t c = s.channels * share / shares; c < s.channels * (share + 1) / shares; ++c)
      pool_image(s, x + c * s.h * s.w, line, line + line_bytes(s), y + c * s.oh * s.ow);
  });
}
}  // namespace

bool pools_codes(const PoolShape& s, DType dtype) {
  return !s.mean && s.dh == 1 && s.dw == 1 && (dtype == DType::int8 || dtype == DType::uint8);
}

int64_t pool_codes_workspace_bytes(const PoolShape& s, int threads) { return threads * 2 * line_bytes(s); }

void run_pool_codes(const PoolShape& s, DType dtype, const void* x, void* y, int threads,
                    std::byte* workspace) {
  if (dtype == DType::int8)
    return run(s, static_cast<const int8_t*>(x), static_cast<int8_t*>(y), threads, workspace);
  run(s, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), threads, workspace);
}

}  // namespace walle::kernels
