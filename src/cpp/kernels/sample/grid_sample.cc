#include "kernels/sample/grid_sample.h"

#include <cmath>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
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

// The taps of one position along one axis.
struct Taps {
  int count = 1;
  std::array<int64_t, 4> element{};
  std::array<double, 4> weight{};
};

Taps taps_at(double position, const Axis& axis, const GridSample& s) {
  double x = s.align_corners ? (position + 1) / 2 * static_cast<double>(axis.size - 1)
                             : ((position + 1) * static_cast<double>(axis.size) - 1) / 2;
  // Positions far outside mean the same as just outside; NaN reads as the first element.
  const double limit = 4.0 * static_cast<double>(axis.size) + 8;
  if (std::isnan(x)) x = -limit;
  if (s.mode == SampleMode::nearest) x = std::nearbyint(x);
  if (s.padding == SamplePadding::border && s.mode != SampleMode::cubic)
    x = std::clamp(x, 0.0, static_cast<double>(axis.size - 1));
  if (s.padding == SamplePadding::reflection && std::isfinite(x)) x = reflect(x, axis.low, axis.high);
  x = std::clamp(x, -limit, limit);
  const double floor = std::floor(x);
  const auto first = static_cast<int64_t>(floor);
  const double f = x - floor;
  Taps t;
  int64_t start = first;
  if (s.mode == SampleMode::nearest) {
    t.weight[0] = 1;
  } else if (s.mode == SampleMode::linear) {
    t.count = 2;
    t.weight = {1 - f, f};
  } else {
    constexpr double a = -0.75;
    t.count = 4;
    start = first - 1;
    const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    t.weight = {far(f + 1), near(f), near(1 - f), far(2 - f)};
  }
  for (int i = 0; i < t.count; ++i) t.element[static_cast<size_t>(i)] = axis.element(start + i, s.padding);
  return t;
}

// The taps of all axes multiplied out: the same for every channel. Zeros outside the input are left out.
template <class T>
struct PointTaps {
  int count = 0;
  std::array<int64_t, 64> at;
  std::array<T, 64> weight;

  PointTaps(const GridSample& s, const std::array<Taps, 3>& taps) {
    for (size_t i = 0; i < static_cast<size_t>(taps[0].count); ++i)
      for (size_t j = 0; j < static_cast<size_t>(taps[1].count); ++j)
        for (size_t k = 0; k < static_cast<size_t>(taps[2].count); ++k) {
          if (taps[0].element[i] < 0 || taps[1].element[j] < 0 || taps[2].element[k] < 0) continue;
          at[static_cast<size_t>(count)] =
              (taps[0].element[i] * s.size[1] + taps[1].element[j]) * s.size[2] + taps[2].element[k];
          weight[static_cast<size_t>(count++)] =
              static_cast<T>(taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k]);
        }
  }
};

template <class T>
void sample_point(const GridSample& s, const std::array<Taps, 3>& taps, const T* x, T* y) {
  const int64_t plane = s.size[0] * s.size[1] * s.size[2];
  const PointTaps<T> p(s, taps);
  for (int64_t c = 0; c < s.channels; ++c) {
    T sum = 0;
    for (int i = 0; i < p.count; ++i)
      sum += p.weight[static_cast<size_t>(i)] * x[c * plane + p.at[static_cast<size_t>(i)]];
    y[c * s.points] = sum;
  }
}

template <class T>
void grid_sample(const GridSample& s, const T* x, const T* grid, T* y, int threads) {
  const int64_t plane = s.size[0] * s.size[1] * s.size[2];
  const std::array<Axis, 3> axes{Axis(s.size[0], s.align_corners), Axis(s.size[1], s.align_corners),
                                 Axis(s.size[2], s.align_corners)};
  parallel_ranges(s.batch * s.points, std::max<int64_t>(1, 2048 / std::max<int64_t>(s.channels, 1)), threads,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t r = begin; r < end; ++r) {
                      const int64_t n = r / s.points;
                      std::array<Taps, 3> taps;
                      for (int a = 0; a < 3; ++a) {
                        const int from = a - (3 - s.axes);  // spatial axis number, negative: missing
                        auto& t = taps[static_cast<size_t>(a)];
                        if (from < 0)
                          t.weight[0] = 1;
                        else
                          t = taps_at(static_cast<double>(grid[r * s.axes + (s.axes - 1 - from)]),
                                      axes[static_cast<size_t>(a)], s);
                      }
                      sample_point(s, taps, x + n * s.channels * plane,
                                   y + n * s.channels * s.points + r % s.points);
                    }
                  });
}
}  // namespace

void run_grid_sample(const GridSample& spec, DType dtype, const void* x, const void* grid, void* y,
                     int threads) {
  GridSample s = spec;  // sizes moved to the end, so that missing axes are leading ones
  for (int a = 2; a >= 0; --a)
    s.size[static_cast<size_t>(a)] =
        a - (3 - s.axes) < 0 ? 1 : spec.size[static_cast<size_t>(a - (3 - s.axes))];
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    grid_sample(s, static_cast<const T*>(x), static_cast<const T*>(grid), static_cast<T*>(y), threads);
  });
}

}  // namespace walle::kernels
