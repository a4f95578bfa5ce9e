#include "kernels/sample/deform_columns.h"

#include <cmath>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
// Bilinear, zero outside.
template <class T>
T bilinear(const T* x, int64_t height, int64_t width, T py, T px) {
  // Written so that NaN offsets read 0. Between -1 and 0 one neighbour still lies inside and fades out.
  if (!(py > -1 && px > -1 && py < static_cast<T>(height) && px < static_cast<T>(width))) return 0;
  const auto y0 = static_cast<int64_t>(std::floor(py));
  const auto x0 = static_cast<int64_t>(std::floor(px));
  const T fy = py - static_cast<T>(y0);
  const T fx = px - static_cast<T>(x0);
  const auto at = [&](int64_t r, int64_t c) -> T {
    return r < 0 || c < 0 || r >= height || c >= width ? T(0) : x[r * width + c];
  };
  return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

template <class T>
void gather(const DeformColumns& s, const T* x, const T* offset, const T* mask, T* y, int threads) {
  const int64_t taps = s.kernel[0] * s.kernel[1];
  const int64_t points = s.out[0] * s.out[1];
  const int64_t per_group = s.channels / s.groups;
  // A channel is work for thousands of positions, so each may be a piece.
  parallel_ranges(s.batch * s.channels, 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t group = r / s.channels * s.groups + r % s.channels / per_group;
      const T* plane = x + r * s.height * s.width;
      for (int64_t t = 0; t < taps; ++t) {
        // ONNX DeformConv: per tap first all vertical, then all horizontal offsets.
        const T* dy = offset + (group * taps + t) * 2 * points;
        const T* scale = mask ? mask + (group * taps + t) * points : nullptr;
        T* out = y + (r * taps + t) * points;
        for (int64_t p = 0; p < points; ++p) {
          const int64_t row = p / s.out[1] * s.stride[0] + t / s.kernel[1] * s.dilation[0] - s.pad[0];
          const int64_t col = p % s.out[1] * s.stride[1] + t % s.kernel[1] * s.dilation[1] - s.pad[1];
          const T value = bilinear(plane, s.height, s.width, static_cast<T>(row) + dy[p],
                                   static_cast<T>(col) + dy[points + p]);
          out[p] = scale ? value * scale[p] : value;
        }
      }
    }
  });
}
}  // namespace

void run_deform_columns(const DeformColumns& spec, DType dtype, const void* x, const void* offset,
                        const void* mask, void* y, int threads) {
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    gather(spec, static_cast<const T*>(x), static_cast<const T*>(offset), static_cast<const T*>(mask),
           static_cast<T*>(y), threads);
  });
}

}  // namespace walle::kernels
