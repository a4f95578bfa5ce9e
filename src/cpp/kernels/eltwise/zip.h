// zip: the loop under the binary reference kernels, with the inner strides that occur in practice spelled out
// so that the compiler vectorises them.
//
// The walk over axes is one function for all kinds and types, and only runs are compiled for each: within
// every one of some 200 instantiations the walk took half of their 350 KB.
#pragma once

#include "kernels/eltwise/broadcast.h"

namespace walle::kernels::detail {

// `rows` runs of `n` elements: many at once, since runs may be of two elements. Steps in elements, those
// along a run 0 or 1 for what occurs in practice; results lie side by side.
struct ZipRun {
  const void* x;
  const void* y;
  void* out;
  int64_t x_step, y_step, n;
  int64_t x_row, y_row, rows;
};

struct ZipSizes {
  int64_t element = 0, result = 0;  // bytes
};

void walk_runs(const Broadcast& b, ZipSizes sizes, const void* x, const void* y, void* out, int64_t begin,
               int64_t end, void (*run)(const ZipRun& run));

// Functions that no vectors compute (kScalar) have the general form alone: the others would be three quarters
// of their code and as slow.
template <class T, class R, class Fn, bool kScalar>
void zip_run(const ZipRun& run) {
  constexpr Fn fn;
  const auto* p = static_cast<const T*>(run.x);
  const auto* q = static_cast<const T*>(run.y);
  auto* o = static_cast<R*>(run.out);
  const int64_t n = run.n;
  for (int64_t row = 0; row < run.rows; ++row, p += run.x_row, q += run.y_row, o += n) {
    // Dense with dense, matrix with scalar, scalar with matrix; the general form serves views.
    if (kScalar) {
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i * run.x_step], q[i * run.y_step]);
    } else if (run.x_step == 1 && run.y_step == 1) {
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i], q[i]);
    } else if (run.x_step == 1 && run.y_step == 0) {
      const T right = *q;
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i], right);
    } else if (run.x_step == 0 && run.y_step == 1) {
      const T left = *p;
      for (int64_t i = 0; i < n; ++i) o[i] = fn(left, q[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i * run.x_step], q[i * run.y_step]);
    }
  }
}

// Fn has no state.
template <bool kScalar = false, class T, class R, class Fn>
void zip(const Broadcast& b, const T* x, const T* y, R* out, int64_t begin, int64_t end, Fn /*fn*/) {
  walk_runs(b, {.element = sizeof(T), .result = sizeof(R)}, x, y, out, begin, end,
            zip_run<T, R, Fn, kScalar>);
}

}  // namespace walle::kernels::detail
