// Softmax with a row in each lane: maximum, exponentials and division go down the axis, and no lane meets
// another. Only softmax_simd.cc includes this.
//
// Where the axis is not the last one (class scores of a map, the bins of a box's sides) neighbouring rows
// lie side by side and are read as they are. Where rows shorter than some vectors lie behind one another
// they are turned first: a row at a time costs about 20 ns however short it is.
#pragma once

#include "kernels/simd_math.h"
#include "kernels/softmax/softmax_table.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Vectors side by side: one chain of maxima or sums waits for itself.
constexpr int kWide = 4;

// Sums of at most 16 terms, summed: a running sum of a long axis would be off by the last bits of many.
class ChainSum {
 public:
  void add(vf x) {
    part_ += x;
    if (++terms_ % 16) return;
    whole_ += part_;
    part_ = vf{};
    if (terms_ % 256) return;
    // With what the last addition lost (Kahan): 200 sums of equal terms would be off by 1.5e-6.
    const vf more = whole_ - lost_;
    const vf next = total_ + more;
    lost_ = (next - total_) - more;
    total_ = next;
    whole_ = vf{};
  }
  vf get() const { return total_ + (whole_ + part_ - lost_); }

 private:
  vf part_{}, whole_{}, total_{}, lost_{};
  int64_t terms_ = 0;
};

inline vf logarithms(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  for (float& lane : lanes) lane = __builtin_logf(lane);  // once per row
  return load(lanes);
}

// Whole vectors, and the first n lanes of one.
struct WholeVector {
  vf get(const float* p) const { return load(p); }
  void put(float* p, vf x) const { store(p, x); }
};
struct PartVector {
  int64_t n;
  vf get(const float* p) const { return load_n(p, n); }
  void put(float* p, vf x) const { store_n(p, x, n); }
};

// `Vectors` vectors of rows; elements of a row lie x_step apart in x and y_step in y. The exponentials wait
// in `held`, held_step apart, which may be y. No care for NaN in the maximum: the sum has it anyway.
template <int Vectors, class Vector>
inline void columns(Vector v, const float* x, int64_t x_step, float* y, int64_t y_step, float* held,
                    int64_t held_step, int64_t axis, bool log) {
  vf top[Vectors];
  for (int q = 0; q < Vectors; ++q) top[q] = v.get(x + q * kLanes);
  for (int64_t i = 1; i < axis; ++i)
    for (int q = 0; q < Vectors; ++q) top[q] = max_keep_nan(top[q], v.get(x + i * x_step + q * kLanes));
  ChainSum sum[Vectors];
  for (int64_t i = 0; i < axis; ++i)
    for (int q = 0; q < Vectors; ++q) {
      const vf e = exp(v.get(x + i * x_step + q * kLanes) - top[q]);
      if (!log) v.put(held + i * held_step + q * kLanes, e);
      sum[q].add(e);
    }
  for (int q = 0; q < Vectors; ++q) {
    // log(sum) once per row: log(exp(x - top) / sum) would be -infinity as soon as the exponential is 0. And
    // x - top first: the last bit of top + log(sum) is that of top, which may be large.
    const vf by = log ? logarithms(sum[q].get()) : 1.0f / sum[q].get();
    for (int64_t i = 0; i < axis; ++i) {
      const int64_t at = q * kLanes;
      v.put(y + i * y_step + at,
            log ? v.get(x + i * x_step + at) - top[q] - by : v.get(held + i * held_step + at) * by);
    }
  }
}

// Rows side by side in memory.
inline void beside(const SoftmaxTask& t, const float* x, float* y, int64_t n) {
  // Of a short axis: lines that lie a power of two apart push one another out of the cache.
  float held[kWide * kLanes * kTurnedAxis];
  const bool fits = t.axis <= kTurnedAxis;
  int64_t at = 0;
  for (; at + kWide * kLanes <= n; at += kWide * kLanes)
    columns<kWide>(WholeVector{}, x + at, t.inner, y + at, t.inner, fits ? held : y + at,
                   fits ? kWide * kLanes : t.inner, t.axis, t.log);
  for (; at + kLanes <= n; at += kLanes)
    columns<1>(WholeVector{}, x + at, t.inner, y + at, t.inner, y + at, t.inner, t.axis, t.log);
  if (at < n)
    columns<1>(PartVector{n - at}, x + at, t.inner, y + at, t.inner, y + at, t.inner, t.axis, t.log);
}

// kLanes rows of n elements behind one another, element i of row l to lane l of line i; and back.
inline void turn(const float* x, int64_t n, float* lines) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int l = 0; l < kLanes; l += 4) {
      vf4 block[4];
      for (int q = 0; q < 4; ++q) block[q] = *reinterpret_cast<const vf4_any*>(x + (l + q) * n + i);
      transpose4(block[0], block[1], block[2], block[3]);
      for (int q = 0; q < 4; ++q) *reinterpret_cast<vf4_any*>(lines + (i + q) * kLanes + l) = block[q];
    }
  for (; i < n; ++i)
    for (int l = 0; l < kLanes; ++l) lines[i * kLanes + l] = x[l * n + i];
}
inline void turn_back(const float* lines, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int l = 0; l < kLanes; l += 4) {
      vf4 block[4];
      for (int q = 0; q < 4; ++q) block[q] = *reinterpret_cast<const vf4_any*>(lines + (i + q) * kLanes + l);
      transpose4(block[0], block[1], block[2], block[3]);
      for (int q = 0; q < 4; ++q) *reinterpret_cast<vf4_any*>(y + (l + q) * n + i) = block[q];
    }
  for (; i < n; ++i)
    for (int l = 0; l < kLanes; ++l) y[l * n + i] = lines[i * kLanes + l];
}

// Rows of two stay where they lie.
template <class Vector>
inline void pairs(Vector v, const float* x, float* y) {
  const vf value = v.get(x);
  const vf e = exp(value - max_keep_nan(value, other_of_pair(value)));
  v.put(y, e / (e + other_of_pair(e)));
}

// `rows` short rows behind one another.
inline void behind(const SoftmaxTask& t, const float* x, float* y, int64_t rows) {
  if (t.axis == 2 && !t.log) {
    int64_t at = 0;
    for (; at + kLanes <= 2 * rows; at += kLanes) pairs(WholeVector{}, x + at, y + at);
    if (at < 2 * rows) pairs(PartVector{2 * rows - at}, x + at, y + at);
    return;
  }
  float lines[kLanes * kTurnedAxis];
  const int64_t step = t.axis * kLanes;
  for (; rows >= kLanes; rows -= kLanes, x += step, y += step) {
    turn(x, t.axis, lines);
    columns<1>(WholeVector{}, lines, kLanes, lines, kLanes, lines, kLanes, t.axis, t.log);
    turn_back(lines, t.axis, y);
  }
  if (rows == 0) return;
  // The lanes that have no row compute on zeros.
  float rest[kLanes * kTurnedAxis] = {};
  memcpy(rest, x, static_cast<size_t>(rows * t.axis) * sizeof(float));
  turn(rest, t.axis, lines);
  columns<1>(WholeVector{}, lines, kLanes, lines, kLanes, lines, kLanes, t.axis, t.log);
  turn_back(lines, t.axis, rest);
  memcpy(y, rest, static_cast<size_t>(rows * t.axis) * sizeof(float));
}

// Rows whose elements lie a few elements apart: lane by lane, from several of the outer positions at once.
inline void scattered(const SoftmaxTask& t, int64_t begin, int64_t end) {
  float lines[kLanes * kTurnedAxis];
  for (; begin < end; begin += kLanes) {
    int64_t at[kLanes];
    const int64_t n = end - begin < kLanes ? end - begin : kLanes;
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t r = begin + (l < n ? l : 0);  // a lane without a row repeats the first one
      at[l] = r / t.inner * t.axis * t.inner + r % t.inner;
    }
    for (int64_t i = 0; i < t.axis; ++i)
      for (int l = 0; l < kLanes; ++l) lines[i * kLanes + l] = t.x[at[l] + i * t.inner];
    columns<1>(WholeVector{}, lines, kLanes, lines, kLanes, lines, kLanes, t.axis, t.log);
    for (int64_t i = 0; i < t.axis; ++i)
      for (int64_t l = 0; l < n; ++l) t.y[at[l] + i * t.inner] = lines[i * kLanes + l];
  }
}

inline void lanes(const SoftmaxTask& t, int64_t begin, int64_t end) {
  const bool turned = t.axis <= kTurnedAxis;
  if (turned && t.inner == 1) return behind(t, t.x + begin * t.axis, t.y + begin * t.axis, end - begin);
  // From half a vector on, lanes without a row cost less than gathering rows from elsewhere.
  if (turned && 2 * t.inner < kLanes) return scattered(t, begin, end);
  while (begin < end) {
    const int64_t column = begin % t.inner;
    const int64_t n = end - begin < t.inner - column ? end - begin : t.inner - column;
    const int64_t at = begin / t.inner * t.axis * t.inner + column;
    beside(t, t.x + at, t.y + at, n);
    begin += n;
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
