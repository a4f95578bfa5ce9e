#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
// One row of n elements `step` apart. The sum is kept in double: rows of a vocabulary are long.
template <class T>
void softmax_row(const T* x, T* y, int64_t n, int64_t step, bool log) {
  T top = -std::numeric_limits<T>::infinity();
  // NaN passes (`x != x`), so that a row with one becomes NaN throughout instead of hiding it.
  for (int64_t i = 0; i < n; ++i) top = x[i * step] > top || x[i * step] != x[i * step] ? x[i * step] : top;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T e = std::exp(x[i * step] - top);
    sum += static_cast<double>(e);
    if (!log) y[i * step] = e;
  }
  if (log) {
    // log(sum) once per row: log(exp(x - top) / sum) would be -infinity as soon as the exponential is 0. And
    // x - top first: beside a large top the logarithm would be lost in their sum.
    const T shift = static_cast<T>(std::log(sum));
    for (int64_t i = 0; i < n; ++i) y[i * step] = x[i * step] - top - shift;
  } else {
    const T scale = static_cast<T>(1 / sum);
    for (int64_t i = 0; i < n; ++i) y[i * step] *= scale;
  }
}

template <class T>
void softmax(const Softmax& s, const T* x, T* y, int threads) {
  parallel_ranges(s.outer * s.inner, items_of(kRowGrain, s.axis), threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = (r / s.inner) * s.axis * s.inner + r % s.inner;
      softmax_row(x + at, y + at, s.axis, s.inner, s.log);
    }
  });
}
}  // namespace

void run_softmax(const Softmax& spec, DType dtype, const void* x, void* y, int threads) {
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    softmax(spec, static_cast<const T*>(x), static_cast<T*>(y), threads);
  });
}

}  // namespace walle::kernels
