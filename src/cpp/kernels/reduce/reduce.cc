#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <limits>

#include "kernels/eltwise/integer_math.h"
#include "kernels/parallel.h"
#include "kernels/reduce/reduce_table.h"

namespace walle::kernels {

namespace {
template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

template <class T>
T highest() {
  return kFloat<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

// One combining step, its neutral element and the type the blocks of a contiguous run are put together in.
template <class T>
struct Sum {
  // Sums of blocks add up in double: a float of 2^24 takes no notice of a further 1.
  using Total = std::conditional_t<kFloat<T>, double, T>;
  static T neutral() { return T(0); }
  static T step(T a, T b) {
    if constexpr (kFloat<T>)
      return a + b;
    else
      return wrap_add(a, b);
  }
};
template <class T>
struct Prod {
  using Total = T;
  static T neutral() { return T(1); }
  static T step(T a, T b) {
    if constexpr (kFloat<T>)
      return a * b;
    else
      return wrap_mul(a, b);
  }
};
template <class T>
struct Max {
  using Total = T;
  static T neutral() { return kFloat<T> ? -highest<T>() : std::numeric_limits<T>::lowest(); }
  static T step(T a, T b) {
    const T most = a > b ? a : b;
    return a != a ? a : most;  // two choices, which compilers make vectors of
  }
};
template <class T>
struct Min {
  using Total = T;
  static T neutral() { return highest<T>(); }
  static T step(T a, T b) {
    const T least = a < b ? a : b;
    return a != a ? a : least;
  }
};

// A contiguous run folded in lanes, block by block, in the order that reduce_table.h fixes. Unrolled, the
// lanes are registers: g++'s -O2 keeps them in memory, which makes 100,000 floats 18 us instead of 3.8.

template <class T, template <class> class Op>
T fold_run(const T* x, int64_t n) {
  using Total = typename Op<T>::Total;
  Total total = static_cast<Total>(Op<T>::neutral());
  for (int64_t at = 0; at < n; at += kSumBlock) {
    const int64_t m = std::min(kSumBlock, n - at);
    T lane[kSumLanes];
#pragma GCC unroll 16
    for (T& l : lane) l = Op<T>::neutral();
    int64_t i = 0;
    for (; i + kSumLanes <= m; i += kSumLanes)
#pragma GCC unroll 16
      for (int64_t k = 0; k < kSumLanes; ++k) lane[k] = Op<T>::step(lane[k], x[at + i + k]);
    for (int64_t k = 0; i + k < m; ++k) lane[k] = Op<T>::step(lane[k], x[at + i + k]);
    for (int64_t width = kSumLanes / 2; width > 0; width /= 2)
      for (int64_t k = 0; k < width; ++k) lane[k] = Op<T>::step(lane[k], lane[k + width]);
    total = Op<Total>::step(total, static_cast<Total>(lane[0]));
  }
  return static_cast<T>(total);
}

// Maxima and minima of numbers as the instructions have them, which lose a NaN that is met first; whether
// there is one is kept beside them. Two operations a vector in the place of eight.
template <bool Greatest>
double extreme_of(const double* x, int64_t n) {
  typedef double pair __attribute__((vector_size(16)));
  typedef double pair_any __attribute__((vector_size(16), aligned(8), may_alias));
  constexpr int kPairs = 4;
  const auto further = [](auto a, auto b) { return Greatest ? (a > b ? a : b) : (a < b ? a : b); };
  double best = Greatest ? -highest<double>() : highest<double>();
  pair lanes[kPairs] = {pair{best, best}, pair{best, best}, pair{best, best}, pair{best, best}};
  pair none[kPairs] = {};  // NaN once there was one, or two infinities
  int64_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs)
#pragma GCC unroll 4
    for (int k = 0; k < kPairs; ++k) {
      const pair v = *reinterpret_cast<const pair_any*>(x + i + 2 * k);
      lanes[k] = further(lanes[k], v);
      none[k] += v;
    }
  const pair sums = (none[0] + none[1]) + (none[2] + none[3]);
  const double sum = sums[0] + sums[1];
  if (sum != sum)
    for (int64_t q = 0; q < i; ++q)
      if (x[q] != x[q]) return x[q];
  for (const pair& lane : lanes) best = further(best, further(lane[0], lane[1]));
  for (; i < n; ++i) {
    if (x[i] != x[i]) return x[i];
    best = further(best, x[i]);
  }
  return best;
}

template <class T, template <class> class Op>
T run_of(const T* x, int64_t n) {
  if constexpr (std::is_same_v<Op<T>, Max<double>>)
    return extreme_of<true>(x, n);
  else if constexpr (std::is_same_v<Op<T>, Min<double>>)
    return extreme_of<false>(x, n);
  else
    return fold_run<T, Op>(x, n);
}

// Folds the sub-array from `axis` on into y (dense over the kept axes from there).
template <class T, template <class> class Op>
void fold(const ReducePlan& p, int axis, const T* x, const int64_t* x_stride, const int64_t* y_stride, T* y) {
  const int64_t n = p.size[axis];
  if (axis == p.rank - 1) {
    if (p.reduced[axis])
      *y = Op<T>::step(*y, run_of<T, Op>(x, n));
    else
      for (int64_t i = 0; i < n; ++i) y[i] = Op<T>::step(y[i], x[i]);
    return;
  }
  const int64_t step = p.reduced[axis] ? 0 : y_stride[axis];
  for (int64_t i = 0; i < n; ++i)
    fold<T, Op>(p, axis + 1, x + i * x_stride[axis], x_stride, y_stride, y + i * step);
}

template <class T, template <class> class Op>
void reduce(const ReducePlan& p, const T* x, T* y, int threads) {
  std::fill(y, y + p.kept_elements, Op<T>::neutral());
  // Neutral elements are the answer for empty sets.
  if (p.kept_elements == 0 || p.reduced_elements == 0) return;
  if (p.rank == 0) {
    *y = *x;
    return;
  }
  int64_t x_stride[base::kMaxRank];
  int64_t y_stride[base::kMaxRank];
  int64_t sx = 1;
  int64_t sy = 1;
  for (int i = p.rank - 1; i >= 0; --i) {
    x_stride[i] = sx;
    y_stride[i] = sy;
    sx *= p.size[i];
    if (!p.reduced[i]) sy *= p.size[i];
  }
  // Threads share the outermost axis when it is kept: no two
  // write one result, and sums do not depend on threads.
  if (p.reduced[0]) return fold<T, Op>(p, 0, x, x_stride, y_stride, y);
  parallel_ranges(p.size[0], items_of(kScalarGrain, x_stride[0]), threads, [&](int64_t begin, int64_t end) {
    ReducePlan mine = p;
    mine.size[0] = end - begin;
    fold<T, Op>(mine, 0, x + begin * x_stride[0], x_stride, y_stride, y + begin * y_stride[0]);
  });
}

template <class T>
void run(ReduceKind kind, const ReducePlan& p, const T* x, T* y, int threads) {
  switch (kind) {
    case ReduceKind::max: return reduce<T, Max>(p, x, y, threads);
    case ReduceKind::min: return reduce<T, Min>(p, x, y, threads);
    case ReduceKind::prod: return reduce<T, Prod>(p, x, y, threads);
    case ReduceKind::sum: return reduce<T, Sum>(p, x, y, threads);
    case ReduceKind::mean: break;
  }
  reduce<T, Sum>(p, x, y, threads);
  if constexpr (kFloat<T>) {
    const T count = static_cast<T>(p.reduced_elements);
    for (int64_t i = 0; i < p.kept_elements; ++i) y[i] /= count;
  } else {
    for (int64_t i = 0; i < p.kept_elements; ++i)
      // A mean of nothing has no integer; 0 rather than a trap.
      y[i] = static_cast<T>(p.reduced_elements == 0 ? 0 : static_cast<int64_t>(y[i]) / p.reduced_elements);
  }
}
}  // namespace

ReducePlan make_reduce_plan(const Shape& in, std::span<const int> axes) {
  ReducePlan p;
  for (int i = 0; i < in.rank(); ++i) {
    const bool reduced = std::ranges::find(axes, i) != axes.end();
    (reduced ? p.reduced_elements : p.kept_elements) *= in[i];
    if (in[i] == 1) continue;
    // Neighbours that are both kept or both reduced are one axis: at most eight become few, and inner runs
    // long.
    if (p.rank > 0 && p.reduced[p.rank - 1] == reduced) {
      p.size[p.rank - 1] *= in[i];
    } else {
      p.size[p.rank] = in[i];
      p.reduced[p.rank++] = reduced;
    }
  }
  return p;
}

bool reduce_supports(ReduceKind kind, DType dtype) {
  if (dtype == DType::boolean) return kind == ReduceKind::max || kind == ReduceKind::min;
  return tensor::is_native_float(dtype) || tensor::is_integer(dtype);
}

void run_reduce(ReduceKind kind, DType dtype, const ReducePlan& plan, const void* x, void* y, int threads) {
  if (dtype == DType::boolean && plan.reduced_elements == 0) {
    // The neutral elements of `or` and `and`, not of bytes.
    std::fill_n(static_cast<bool*>(y), plan.kept_elements, kind == ReduceKind::min);
    return;
  }
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  tensor::visit_numeric(as, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run(kind, plan, static_cast<const T*>(x), static_cast<T*>(y), threads);
  });
}

}  // namespace walle::kernels
