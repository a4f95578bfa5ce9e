// Reductions that need the position along one axis: ArgMax, ArgMin and CumSum over [outer, axis, inner].
#include <cmath>

#include "kernels/eltwise/integer_math.h"
#include "kernels/reduce/reduce.h"

namespace walle::kernels {

namespace {
template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(v);
  return false;
}

// Whether `v`, met after `best`, takes its place. NaN beats everything; of several NaN the tie rule decides.
template <class T>
bool replaces(T v, T best, bool greatest, bool last) {
  if (is_nan(best)) return last && is_nan(v);
  if (is_nan(v)) return true;
  if (v == best) return last;
  return greatest ? v > best : v < best;
}

template <class T>
void arg_reduce(const ArgReduce& s, const T* x, int64_t* y) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const T* run = x + o * s.axis * s.inner + i;
      int64_t at = 0;
      for (int64_t k = 1; k < s.axis; ++k)
        // Strictly better, or an equal one if the last index is asked for: the first of equals wins by
        // itself.
        if (replaces(run[k * s.inner], run[at * s.inner], s.greatest, s.last_index)) at = k;
      y[o * s.inner + i] = at;
    }
  }
}

template <class T>
T added(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return wrap_add(a, b);
}

template <class T>
T multiplied(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return wrap_mul(a, b);
}

template <class T>
void cum_sum(const CumSum& s, const T* x, T* y) {
  const int64_t step = s.reverse ? -s.inner : s.inner;
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      // From the end with steps back: one loop for both directions.
      int64_t at = o * s.axis * s.inner + i + (s.reverse ? (s.axis - 1) * s.inner : 0);
      T total = s.product ? 1 : 0;
      for (int64_t k = 0; k < s.axis; ++k, at += step) {
        const T v = x[at];
        // ONNX CumSum, exclusive = 1: the sum before the element, so the first is 0 (for a product 1).
        if (s.exclusive) y[at] = total;
        total = s.product ? multiplied(total, v) : added(total, v);
        if (!s.exclusive) y[at] = total;
      }
    }
  }
}
}  // namespace

void run_arg_reduce(const ArgReduce& spec, DType dtype, const void* x, int64_t* y) {
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  tensor::visit_numeric(
      as, [&](auto tag) { arg_reduce(spec, static_cast<const typename decltype(tag)::type*>(x), y); });
}

void run_cum_sum(const CumSum& spec, DType dtype, const void* x, void* y) {
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    cum_sum(spec, static_cast<const T*>(x), static_cast<T*>(y));
  });
}

}  // namespace walle::kernels
