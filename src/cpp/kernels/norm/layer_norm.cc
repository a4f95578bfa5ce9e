#include "kernels/norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
struct Moments {
  double mean = 0;
  double inv_std = 0;
};

template <class T>
Moments moments(const LayerNorm& s, const T* x) {
  Moments m;
  if (s.center) {
    for (int64_t i = 0; i < s.n; ++i) m.mean += static_cast<double>(x[i]);
    m.mean /= static_cast<double>(s.n);
  }
  // A second pass, because E[x^2] - E[x]^2 cancels when the mean is large against the deviation.
  double variance = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    const double d = static_cast<double>(x[i]) - m.mean;
    variance += d * d;
  }
  // epsilon inside the root, as ONNX has it.
  m.inv_std = 1 / std::sqrt(variance / static_cast<double>(s.n) + s.epsilon);
  return m;
}

template <class T>
void normalize_row(const LayerNorm& s, const Moments& m, const T* x, const T* scale, const T* bias, T* y) {
  // Statistics in double, the row in its own type: the second pass runs over as many elements per vector as
  // the type allows.
  const T mean = static_cast<T>(m.mean);
  const T inv_std = static_cast<T>(m.inv_std);
  for (int64_t i = 0; i < s.n; ++i) {
    T v = (x[i] - mean) * inv_std;
    if (scale) v *= scale[i];
    if (bias) v += bias[i];
    y[i] = v;
  }
}
}  // namespace

void run_layer_norm(const LayerNorm& s, DType dtype, const void* x, const void* scale, const void* bias,
                    void* y, float* mean, float* inv_std, int threads) {
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_ranges(s.rows, items_of(kRowGrain, s.n), threads, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = static_cast<const T*>(x) + r * s.n;
        const Moments m = moments(s, row);
        normalize_row(s, m, row, static_cast<const T*>(scale), static_cast<const T*>(bias),
                      static_cast<T*>(y) + r * s.n);
        // Outputs of training graphs alone; at inference nobody names them.
        if (mean) mean[r] = static_cast<float>(m.mean);
        if (inv_std) inv_std[r] = static_cast<float>(m.inv_std);
      }
    });
  });
}

}  // namespace walle::kernels
