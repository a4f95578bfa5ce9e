// Pooling along rows of the planes.
#include "kernels/pool/pool_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// NaN on either side stays, as in the definition: the instruction behind max_keep_nan forgets one on its
// left.
inline vf larger(vf a, vf b) {
  const vf most = max_keep_nan(a, b);
  return a != a ? a : most;
}

template <bool Mean>
inline vf pooled(const PoolTask& t, const float* from) {
  // From the first tap, not from a neutral element: one operation less per window, and a window has at least
  // one tap.
  vf acc = load(from + t.tap[0]);
  for (int64_t i = 1; i < t.taps; ++i) {
    const vf x = load(from + t.tap[i]);
    acc = Mean ? acc + x : larger(acc, x);
  }
  return acc;
}

template <bool Mean>
void run_rows(const PoolTask& t) {
  for (int64_t r = 0; r < t.oh; ++r) {
    const float* from = t.planes + r * t.pitch;
    const float* factor = Mean ? t.factor + r * t.ow : nullptr;
    float* to = t.out + r * t.ow;
    int64_t j = 0;
    for (; j + kLanes <= t.ow; j += kLanes) {
      vf x = pooled<Mean>(t, from + j);
      if (Mean) x *= load(factor + j);
      store(to + j, x);
    }
    if (j < t.ow) {
      vf x = pooled<Mean>(t, from + j);
      if (Mean) x *= load_n(factor + j, t.ow - j);
      store_n(to + j, x, t.ow - j);
    }
  }
}

void run(const PoolTask& t) {
  if (t.factor)
    run_rows<true>(t);
  else
    run_rows<false>(t);
}

template <bool Mean>
inline vf pooled(vf a, vf b) {
  return Mean ? a + b : larger(a, b);
}
template <bool Mean>
inline vf nothing() {
  return splat(Mean ? 0.0f : -__builtin_inff());
}

// Rows [first, last) of the image, into the line.
template <bool Mean>
void pool_rows(const PoolImageTask& t, int64_t first, int64_t last) {
  for (int64_t c = 0; c < t.w; c += kLanes) {
    const float* from = t.image + c;
    const int64_t n = t.w - c < kLanes ? t.w - c : kLanes;
    vf found = nothing<Mean>();
    if (n == kLanes) {
      for (int64_t r = first; r < last; ++r) found = pooled<Mean>(found, load(from + r * t.w));
      store(t.line + t.pl + c, found);
    } else {
      for (int64_t r = first; r < last; ++r) found = pooled<Mean>(found, load_n(from + r * t.w, n));
      store_n(t.line + t.pl + c, found, n);
    }
  }
}

template <int S>
void max_of_columns(const PoolImageTask& t, float* out) {
  for (int64_t j = 0; j < t.ow; j += kLanes) {
    const float* from = t.line + j * S;
    vf best = splat(-__builtin_inff());
    for (int64_t i = 0; i < t.kw; i += S) {
      if constexpr (S == 1) {
        best = larger(best, load(from + i));
      } else {
        const vf a = load(from + i);
        const vf b = load(from + i + kLanes);
        best = larger(best, even_lanes(a, b));
        if (i + 1 < t.kw) best = larger(best, odd_lanes(a, b));
      }
    }
    if (t.ow - j >= kLanes)
      store(out + j, best);
    else
      store_n(out + j, best, t.ow - j);
  }
}

// Of a larger stride: windows at every column, of which every S-th counts. De-interleaving three and more
// takes as many shuffles as there are windows too many.
template <bool Mean>
void pool_columns(const PoolImageTask& t, const float* factor, float* out) {
  float lanes[kLanes];
  int64_t o = 0;
  for (int64_t at = 0; o < t.ow; at += kLanes) {
    vf found = load(t.line + at);
    for (int64_t i = 1; i < t.kw; ++i) found = pooled<Mean>(found, load(t.line + at + i));
    store(lanes, found);
    for (; o < t.ow && o * t.sw < at + kLanes; ++o) {
      const float v = lanes[o * t.sw - at];
      out[o] = Mean ? v * factor[o] : v;
    }
  }
}

template <bool Mean>
void pool_image(const PoolImageTask& t) {
  for (int64_t r = 0; r < t.oh; ++r) {
    const int64_t top = r * t.sh - t.pt;
    pool_rows<Mean>(t, top < 0 ? 0 : top, top + t.kh < t.h ? top + t.kh : t.h);
    float* out = t.out + r * t.ow;
    if (t.sw > 2)
      pool_columns<Mean>(t, t.factor + (Mean ? r * t.ow : 0), out);
    else if (!Mean)
      t.sw == 1 ? max_of_columns<1>(t, out) : max_of_columns<2>(t, out);
  }
}
}  // namespace

extern const PoolTable kPoolF32;
const PoolTable kPoolF32 = {.run = run, .max_image = pool_image<false>, .mean_image = pool_image<true>};

}  // namespace walle::kernels::WALLE_ISA_NS
