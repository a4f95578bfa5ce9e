// The parts of convolution that touch every element: splitting
// the input into planes, packing B panels, depthwise lines.
#include "kernels/conv/depthwise_simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// Columns c with 0 <= c * stride + offset < size.
struct Inside {
  int64_t first, last;
};
inline Inside inside(int64_t size, int64_t stride, int64_t offset, int64_t count) {
  // Both bounds are ceilings of a quotient; C++ rounds towards zero, so a size wholly to the left is asked
  // for first.
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t last = size - offset <= 0 ? 0 : (size - offset + stride - 1) / stride;
  return {min64(first, count), max64(min64(last, count), min64(first, count))};
}

inline void fill_line(float* to, int64_t n, float value) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}

inline void copy_line(float* to, const float* from, int64_t n) {
  int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) store(to + c, load(from + c));
  if (c < n) store_n(to + c, load_n(from + c, n - c), n - c);
}

inline void copy_strided(float* __restrict to, const float* __restrict from, int64_t n, int64_t stride) {
  if (stride == 2) {  // nearly every strided layer; a constant stride is a shuffle of whole vectors
    for (int64_t c = 0; c < n; ++c) to[c] = from[c * 2];
  } else {
    for (int64_t c = 0; c < n; ++c) to[c] = from[c * stride];
  }
}

void fill_planes(const ConvPlanes& p, const float* channel, bool borders, float* out) {
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t a = p.phase[i] / p.sw - p.pt;
    const int64_t b = p.phase[i] % p.sw - p.pl;
    const Inside rows = inside(p.h, p.sh, a, p.rows);
    const Inside cols = inside(p.w, p.sw, b, p.pitch);
    if (borders) fill_line(out, rows.first * p.pitch, p.fill);
    for (int64_t r = rows.first; r < rows.last; ++r) {
      float* to = out + r * p.pitch;
      const float* from = channel + (r * p.sh + a) * p.w + b;
      if (p.sw == 1)
        copy_line(to + cols.first, from + cols.first, cols.last - cols.first);
      else
        copy_strided(to + cols.first, from + cols.first * p.sw, cols.last - cols.first, p.sw);
      if (!borders) continue;
      fill_line(to, cols.first, p.fill);
      fill_line(to + cols.last, p.pitch - cols.last, p.fill);
    }
    if (borders) fill_line(out + rows.last * p.pitch, (p.rows - rows.last) * p.pitch, p.fill);
    out += p.rows * p.pitch;
  }
}

void pack_panel(const float* planes, const int64_t* offset, int64_t k, const ConvRun* runs, int64_t count,
                int64_t nr, bool exact, float* out) {
  int64_t filled = 0;
  for (int64_t s = 0; s < count; ++s) filled += runs[s].length;
  if (count == 1 && filled == nr) {  // the common case: whole vectors, all rows alike
    const float* base = planes + runs[0].from;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t q = 0; q < nr; q += kLanes) store(out + l * nr + q, load(base + offset[l] + q));
    return;
  }
  for (int64_t l = 0; l < k; ++l) {
    float* to = out + l * nr;
    for (int64_t s = 0; s < count; ++s) {
      const float* from = planes + offset[l] + runs[s].from;
      const int64_t n = runs[s].length;
      int64_t q = 0;
      for (; q + kLanes <= n; q += kLanes) store(to + q, load(from + q));
      // Whole vectors where that is safe: the next run, or row, overwrites what is too much.
      if (q < n) store(to + q, exact ? load_n(from + q, n - q) : load(from + q));
      to += n;
    }
    // Zeros behind the last output of the image: the tile computes whole vectors whatever the panel holds.
    for (int64_t q = filled; q < nr; q += kLanes) store(out + l * nr + q, vf{});
  }
}

// Vectors of outputs at once: each tap costs one broadcast and one look-up of its offset for all of them, and
// as many accumulators hide the latency of the multiply-add.
constexpr int kWide = kLanes == 16 ? 8 : 4;

template <int V, int T>
inline void line(const DepthwiseTask& t, const float* __restrict from, vf (&acc)[V]) {
  const int64_t taps = T > 0 ? T : t.taps;
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) acc[v] = splat(t.bias);
// 25 taps of a 5 x 5 window: with T known the loop disappears and the weights' addresses become constants.
#pragma GCC unroll 25
  for (int64_t i = 0; i < taps; ++i) {
    const vf w = splat(t.weights[i]);
    const float* x = from + t.tap[i];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) acc[v] += w * load(x + v * kLanes);
  }
}

// V whole vectors.
template <int V, int T>
inline void piece(const DepthwiseTask& t, const float* from, float* to, bool bounded) {
  vf acc[V];
  line<V, T>(t, from, acc);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store(to + v * kLanes, bounded ? clamp(acc[v], t.alpha, t.beta) : acc[v]);
}

// `n` outputs that are consecutive in the planes; may write up to a vector too many when `whole`.
template <int T>
void run(const DepthwiseTask& t, const float* from, float* to, int64_t n, bool whole) {
  // ReLU and ReLU6, which nearly all depthwise layers end in, are applied while the sums are in registers. A
  // residual must be added before, so with one the activation waits for its own pass.
  const bool bounded = t.activation == Activation::clamp && !t.residual;
  const int64_t end = whole ? (n + kLanes - 1) / kLanes * kLanes : n / kLanes * kLanes;
  int64_t j = 0;
  for (; j + kWide * kLanes <= end; j += kWide * kLanes) piece<kWide, T>(t, from + j, to + j, bounded);
  // Two vectors between the wide piece and the single one: maps of 14 and 28 columns end in such a rest.
  for (; j + 2 * kLanes <= end; j += 2 * kLanes) piece<2, T>(t, from + j, to + j, bounded);
  for (; j < end; j += kLanes) piece<1, T>(t, from + j, to + j, bounded);
  if (j < n) {
    vf acc[1];
    line<1, T>(t, from + j, acc);
    store_n(to + j, bounded ? clamp(acc[0], t.alpha, t.beta) : acc[0], n - j);
  }
}

// Rows of `width` at `pitch` to rows that lie behind one another.
// Whole vectors; the next row overwrites what is too much.
void close_gaps(const float* from, int64_t pitch, int64_t rows, int64_t width, float* to) {
  const int64_t total = rows * width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = from + r * pitch;
    for (int64_t c = 0; c < width; c += kLanes) {
      const int64_t at = r * width + c;
      if (at + kLanes <= total)
        store(to + at, load(row + c));
      else
        store_n(to + at, load(row + c), total - at < width - c ? total - at : width - c);
    }
  }
}

void add_row(float* to, const float* from, int64_t n) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) store(to + j, load(to + j) + load(from + j));
  if (j < n) store_n(to + j, load_n(to + j, n - j) + load_n(from + j, n - j), n - j);
}

template <int T>
void depthwise_taps(const DepthwiseTask& t) {
  const int64_t by_rows = t.oh * ((t.ow + kLanes - 1) / kLanes);
  const int64_t flat = ((t.oh - 1) * t.pitch + t.ow + kLanes - 1) / kLanes;
  // Narrow maps: rows behind one another, the columns between them computed in vain. Taken where it saves
  // more than a fifth of the vectors, because the gaps have to be closed afterwards.
  if (flat * 5 < by_rows * 4) {
    run<T>(t, t.planes, t.scratch, (t.oh - 1) * t.pitch + t.ow, true);
    close_gaps(t.scratch, t.pitch, t.oh, t.ow, t.out);
  } else {
    for (int64_t r = 0; r < t.oh; ++r)
      run<T>(t, t.planes + r * t.pitch, t.out + r * t.ow, t.ow, r + 1 < t.oh && t.ow >= kLanes);
  }
  if (t.residual) add_row(t.out, t.residual, t.oh * t.ow);
  if (t.activation > Activation::clamp || (t.activation == Activation::clamp && t.residual))
    activate_block(t.out, 0, 1, t.oh * t.ow, t.activation, t.alpha, t.beta);
}

// The windows of nearly all depthwise layers are 3 x 3 and 5 x 5; their taps are unrolled.
void depthwise(const DepthwiseTask& t) {
  if (t.taps == 9) return depthwise_taps<9>(t);
  if (t.taps == 25) return depthwise_taps<25>(t);
  depthwise_taps<0>(t);
}
}  // namespace

extern const ConvTable kConvF32;
const ConvTable kConvF32 = {.fill_planes = fill_planes,
                            .pack_panel = pack_panel,
                            .depthwise = depthwise,
                            .depthwise_image = kLanes > 4 ? depthwise_image : nullptr};

}  // namespace walle::kernels::WALLE_ISA_NS
