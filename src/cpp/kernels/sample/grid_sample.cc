#include "kernels/sample/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
constexpr int kAxes = 3;
constexpr int kMaxTaps = 4;                                 // along one axis: cubic
constexpr int kMaxPoints = kMaxTaps * kMaxTaps * kMaxTaps;  // of one position
// Cubic convolution after Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981), with
// the parameter that ONNX prescribes.
constexpr double kCubic = -0.75;

// Mirrors x at the borders until it lies between them.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const bool below = x < low;
  const double distance = below ? low - x : x - high;
  if (distance <= 0) return x;
  const double turns = std::trunc(distance / range);
  const double rest = distance - turns * range;
  const bool even = std::fmod(turns, 2.0) == 0;
  return even == below ? low + rest : high - rest;
}

struct Axis {
  int64_t size;
  double low, high;  // borders for reflection

  Axis(int64_t n, bool align)
      : size(n), low(align ? 0.0 : -0.5), high(static_cast<double>(n) - (align ? 1.0 : 0.5)) {}

  // The element that index i means, or -1 for a zero.
  int64_t element(int64_t i, SamplePadding padding) const {
    if (i >= 0 && i < size) return i;
    if (padding == SamplePadding::zeros) return -1;
    if (padding == SamplePadding::border) return std::clamp<int64_t>(i, 0, size - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<double>(i), low, high)), 0, size - 1);
  }
};

// The taps of one position along one axis; not zeroed, which would be half of the work.
struct Taps {
  int count;
  std::array<int64_t, kMaxTaps> element;
  std::array<double, kMaxTaps> weight;
};

// Of the elements at distances f + 1, f, 1 - f and 2 - f.
std::array<double, kMaxTaps> cubic_weights(double f) {
  constexpr double a = kCubic;
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  return {far(f + 1), near(f), near(1 - f), far(2 - f)};
}

// nearbyint(), without the call that it is on processors before SSE4.1.
double to_even(double x) {
  constexpr double kRound = 0x1.8p52;
  return std::abs(x) < 0x1p50 ? (x + kRound) - kRound : std::nearbyint(x);
}

Taps taps_at(double position, const Axis& axis, const GridSample& s) {
  double x = s.align_corners ? (position + 1) / 2 * static_cast<double>(axis.size - 1)
                             : ((position + 1) * static_cast<double>(axis.size) - 1) / 2;
  // Positions far outside mean the same as just outside; NaN reads as the first element.
  // Casting a larger double to an integer would be undefined. Four sizes are more than a border or a zero
  // needs, and 8 more than a cubic's taps reach for an axis of one element.
  const double limit = 4.0 * static_cast<double>(axis.size) + 8;
  if (std::isnan(x)) x = -limit;
  if (s.mode == SampleMode::nearest) x = to_even(x);
  // A cubic clamps its taps, not its position (element() does it): else the curve would be flat beyond the
  // border's centre, unlike PyTorch's, from which ONNX took the operator.
  if (s.padding == SamplePadding::border && s.mode != SampleMode::cubic)
    x = std::clamp(x, 0.0, static_cast<double>(axis.size - 1));
  if (s.padding == SamplePadding::reflection && std::isfinite(x)) x = reflect(x, axis.low, axis.high);
  x = std::clamp(x, -limit, limit);
  auto first = static_cast<int64_t>(x);  // and floor() is one, too
  first -= static_cast<double>(first) > x ? 1 : 0;
  const double f = x - static_cast<double>(first);
  Taps t;
  int64_t start = first;
  if (s.mode == SampleMode::nearest) {
    t.count = 1;
    t.weight[0] = 1;
  } else if (s.mode == SampleMode::linear) {
    t.count = 2;
    t.weight[0] = 1 - f;
    t.weight[1] = f;
  } else {
    t.count = 4;
    start = first - 1;
    t.weight = cubic_weights(f);
  }
  for (int i = 0; i < t.count; ++i) t.element[i] = axis.element(start + i, s.padding);
  return t;
}

// Positions in a row that are sampled together, so that the loop over channels is not one over single
// numbers.
constexpr int kBlock = 16;

// The taps of all axes multiplied out, of up to kBlock positions: the same for every channel. Zeros outside
// the input are left out.
template <class T>
struct PointTaps {
  std::array<int, kBlock> count{};
  int all = -1;  // of every point, where they agree and the block is full
  std::array<std::array<int64_t, kBlock>, kMaxPoints> at;
  std::array<std::array<T, kBlock>, kMaxPoints> weight;

  void set(int point, const GridSample& s, const std::array<Taps, kAxes>& taps) {
    const auto& [a, b, c] = taps;
    int n = 0;
    for (int i = 0; i < a.count; ++i)
      for (int j = 0; j < b.count; ++j)
        for (int k = 0; k < c.count; ++k) {
          if (a.element[i] < 0 || b.element[j] < 0 || c.element[k] < 0) continue;
          at[n][point] = (a.element[i] * s.size[1] + b.element[j]) * s.size[2] + c.element[k];
          weight[n++][point] = static_cast<T>(a.weight[i] * b.weight[j] * c.weight[k]);
        }
    count[point] = n;
  }
  void compare(int64_t points) {
    const bool alike =
        points >= kBlock && std::ranges::all_of(count, [this](int each) { return each == count[0]; });
    all = alike ? count[0] : -1;
  }
};

// Of so many taps each. Point by point: in vectors every element would still be loaded by itself, and then be
// put into its lane.
template <int kTaps, class T>
void sample_alike(const PointTaps<T>& p, const T* x, T* y) {
#pragma GCC unroll 4
  for (int b = 0; b < kBlock; ++b) {
    T sum = 0;
#pragma GCC unroll 4
    for (int i = 0; i < kTaps; ++i) sum += p.weight[i][b] * x[p.at[i][b]];
    y[b] = sum;
  }
}

// Blocks whose points are sampled of one channel before those of the next: lines of neighbouring channels lie
// a plane apart, often a power of two, and would push each other out of the cache. 64 planes of 128 x 128
// take 2.2 ms and not 4.1.
constexpr int kBlocks = 8;

template <class T>
void sample_block(const PointTaps<T>& p, int points, const T* x, T* y) {
  if (p.all == 4) return sample_alike<4>(p, x, y);
  if (p.all == 1) return sample_alike<1>(p, x, y);
  for (int b = 0; b < points; ++b) {
    T sum = 0;
    for (int i = 0; i < p.count[b]; ++i) sum += p.weight[i][b] * x[p.at[i][b]];
    y[b] = sum;
  }
}

template <class T>
std::array<Taps, kAxes> taps_of(const GridSample& s, const std::array<Axis, kAxes>& axes, const T* position) {
  std::array<Taps, kAxes> taps;
  for (int a = 0; a < kAxes; ++a) {
    const int from = a - (kAxes - s.axes);  // spatial axis number, negative: missing
    if (from < 0) {
      taps[a].count = 1;
      taps[a].element[0] = 0;
      taps[a].weight[0] = 1;
    } else {
      // The grid names x first, then y, then z: the reverse of the axes.
      taps[a] = taps_at(static_cast<double>(position[s.axes - 1 - from]), axes[a], s);
    }
  }
  return taps;
}

template <class T>
void grid_sample(const GridSample& s, const T* x, const T* grid, T* y, int threads) {
  const int64_t plane = s.size[0] * s.size[1] * s.size[2];
  const std::array<Axis, kAxes> axes{Axis(s.size[0], s.align_corners), Axis(s.size[1], s.align_corners),
                                     Axis(s.size[2], s.align_corners)};
  parallel_ranges(
      s.batch * s.points, items_of(kHeavyGrain, s.channels), threads, [&](int64_t begin, int64_t end) {
        std::array<PointTaps<T>, kBlocks> blocks;
        for (int64_t r = begin; r < end;) {
          const int64_t n = r / s.points;
          const int64_t points = std::min<int64_t>({kBlocks * kBlock, end - r, (n + 1) * s.points - r});
          for (int64_t b = 0; b < points; ++b)
            blocks[b / kBlock].set(static_cast<int>(b % kBlock), s,
                                   taps_of(s, axes, grid + (r + b) * s.axes));
          for (int64_t b = 0; b < points; b += kBlock) blocks[b / kBlock].compare(points - b);
          for (int64_t c = 0; c < s.channels; ++c) {
            const T* from = x + (n * s.channels + c) * plane;
            T* to = y + (n * s.channels + c) * s.points + r % s.points;
            for (int64_t b = 0; b < points; b += kBlock)
              sample_block(blocks[b / kBlock], static_cast<int>(std::min<int64_t>(kBlock, points - b)), from,
                           to + b);
          }
          r += points;
        }
      });
}
}  // namespace

void run_grid_sample(const GridSample& spec, DType dtype, const void* x, const void* grid, void* y,
                     int threads) {
  GridSample s = spec;  // sizes moved to the end, so that missing axes are leading ones
  for (int a = kAxes - 1; a >= 0; --a)
    s.size[a] = a - (kAxes - s.axes) < 0 ? 1 : spec.size[a - (kAxes - s.axes)];
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    grid_sample(s, static_cast<const T*>(x), static_cast<const T*>(grid), static_cast<T*>(y), threads);
  });
}

}  // namespace walle::kernels
