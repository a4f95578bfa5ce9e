// Reductions that need the position along one axis: ArgMax, ArgMin and CumSum over [outer, axis, inner].
#include <algorithm>
#include <type_traits>

#include "kernels/eltwise/integer_math.h"
#include "kernels/reduce/reduce.h"

namespace walle::kernels {

namespace {
// Whether `v`, met after `best`, takes its place: strictly better, or an equal one if the last is asked for.
// NaN beats everything; of several NaN the tie rule decides. Without branches, so that compilers make
// vectors.
template <bool Greatest, bool Last, class T>
bool replaces(T v, T best) {
  const bool beyond = Greatest ? (Last ? v >= best : v > best) : (Last ? v <= best : v < best);
  if constexpr (!std::is_floating_point_v<T>) return beyond;
  return beyond | ((v != v) & (Last | (best == best)));
}

// Positions that are looked for side by side.
constexpr int64_t kColumns = 256;
constexpr int64_t kParts = 16;  // of one row

template <bool Greatest, bool Last, class T>
void columns(const ArgReduce& s, const T* x, int64_t count, int64_t* y) {
  T best[kColumns];
  int64_t at[kColumns] = {};
  std::copy_n(x, count, best);
  for (int64_t k = 1; k < s.axis; ++k) {
    const T* row = x + k * s.inner;
    for (int64_t i = 0; i < count; ++i) {
      const bool better = replaces<Greatest, Last>(row[i], best[i]);
      best[i] = better ? row[i] : best[i];
      at[i] = better ? k : at[i];
    }
  }
  std::copy_n(at, count, y);
}

// A row that lies together, in parts whose elements alternate; the parts are then compared in the order in
// which their winners stand. Unrolled, as g++'s -O2 does not by itself: 100,000 floats take 47 us, not 62.
template <bool Greatest, bool Last, class T>
int64_t row(const T* x, int64_t n) {
  T best[kParts];
  int64_t at[kParts] = {};
  const int64_t parts = std::min(n, kParts);
  for (int64_t i = 0; i < parts; ++i) {
    best[i] = x[i];
    at[i] = i;
  }
  int64_t k = parts;
  for (; k + kParts <= n; k += kParts)
#pragma GCC unroll 16
    for (int64_t i = 0; i < kParts; ++i) {
      const bool better = replaces<Greatest, Last>(x[k + i], best[i]);
      best[i] = better ? x[k + i] : best[i];
      at[i] = better ? k + i : at[i];
    }
  int64_t found = at[0];
  for (int64_t i = 1; i < parts; ++i) {
    const bool later = at[i] > found;
    // Met in the order of their places, whichever part is looked at first.
    if (later ? replaces<Greatest, Last>(x[at[i]], x[found]) : !replaces<Greatest, Last>(x[found], x[at[i]]))
      found = at[i];
  }
  for (; k < n; ++k)
    if (replaces<Greatest, Last>(x[k], x[found])) found = k;
  return found;
}

template <bool Greatest, bool Last, class T>
void arg_reduce(const ArgReduce& s, const T* x, int64_t* y) {
  for (int64_t o = 0; o < s.outer; ++o, x += s.axis * s.inner, y += s.inner) {
    if (s.inner == 1)
      *y = row<Greatest, Last>(x, s.axis);
    else
      for (int64_t i = 0; i < s.inner; i += kColumns)
        columns<Greatest, Last>(s, x + i, std::min(kColumns, s.inner - i), y + i);
  }
}

template <class T>
void arg_reduce(const ArgReduce& s, const T* x, int64_t* y) {
  if (s.greatest) return s.last_index ? arg_reduce<true, true>(s, x, y) : arg_reduce<true, false>(s, x, y);
  return s.last_index ? arg_reduce<false, true>(s, x, y) : arg_reduce<false, false>(s, x, y);
}

// The first (or last) element that equals `v`, of a row that has one; NaN equals NaN. Blocks without it are
// passed over, as vectors.
template <class Equal>
int64_t place_in(int64_t n, bool last, Equal equal) {
  constexpr int64_t kBlock = 64;
  const auto has = [&](int64_t from) {
    int found = 0;
    for (int64_t i = 0; i < kBlock; ++i) found |= equal(from + i);
    return found != 0;
  };
  if (last) {
    int64_t end = n;
    while (end >= kBlock && !has(end - kBlock)) end -= kBlock;
    while (end > 1 && !equal(end - 1)) --end;
    return end - 1;
  }
  int64_t at = 0;
  while (at + kBlock <= n && !has(at)) at += kBlock;
  while (at + 1 < n && !equal(at)) ++at;
  return at;
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
T combined(const CumSum& s, T a, T b) {
  return s.product ? multiplied(a, b) : added(a, b);
}

// One run after the other, each with its total.
template <class T>
void cum_sum_row(const CumSum& s, const T* x, T* y) {
  T total = s.product ? 1 : 0;
  for (int64_t k = 0; k < s.axis; ++k) {
    const int64_t at = s.reverse ? s.axis - 1 - k : k;
    const T v = x[at];
    // ONNX CumSum, exclusive = 1: the sum before the element, so the first is 0 (for a product 1).
    if (s.exclusive) y[at] = total;
    total = combined(s, total, v);
    if (!s.exclusive) y[at] = total;
  }
}

// Rows of totals: each is the one before it and a row of x. x is not y.
template <class T>
void cum_sum_rows(const CumSum& s, const T* x, T* y) {
  const T neutral = s.product ? 1 : 0;
  for (int64_t k = 0; k < s.axis; ++k) {
    const int64_t at = s.reverse ? s.axis - 1 - k : k;
    const int64_t before = s.reverse ? at + 1 : at - 1;
    T* to = y + at * s.inner;
    if (k == 0) std::fill_n(to, s.inner, neutral);
    const T* total = k == 0 ? to : y + before * s.inner;
    if (s.exclusive && k == 0) continue;
    const T* from = x + (s.exclusive ? before : at) * s.inner;
    if (s.product)
      for (int64_t i = 0; i < s.inner; ++i) to[i] = multiplied(total[i], from[i]);
    else
      for (int64_t i = 0; i < s.inner; ++i) to[i] = added(total[i], from[i]);
  }
}

template <class T>
void cum_sum(const CumSum& s, const T* x, T* y) {
  const int64_t image = s.axis * s.inner;
  for (int64_t o = 0; o < s.outer; ++o)
    s.inner == 1 ? cum_sum_row(s, x + o * image, y + o * image)
                 : cum_sum_rows(s, x + o * image, y + o * image);
}
}  // namespace

void run_arg_reduce(const ArgReduce& spec, DType dtype, const void* x, int64_t* y) {
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  tensor::visit_numeric(
      as, [&](auto tag) { arg_reduce(spec, static_cast<const typename decltype(tag)::type*>(x), y); });
}

void run_arg_rows(const ReduceTable& table, const ArgReduce& spec, const float* x, int64_t* y, int64_t begin,
                  int64_t end) {
  const auto find = spec.greatest ? table.row_maxima : table.row_minima;
  for (int64_t r = begin; r < end; ++r) {
    const float* row = x + r * spec.axis;
    float best = 0;
    find(row, &best, 1, spec.axis);
    y[r] = best == best
               ? place_in(spec.axis, spec.last_index, [row, best](int64_t i) { return row[i] == best; })
               : place_in(spec.axis, spec.last_index, [row](int64_t i) { return row[i] != row[i]; });
  }
}

void run_cum_sum(const CumSum& spec, DType dtype, const void* x, void* y) {
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    cum_sum(spec, static_cast<const T*>(x), static_cast<T*>(y));
  });
}

}  // namespace walle::kernels
