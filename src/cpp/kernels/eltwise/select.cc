#include "kernels/eltwise/select.h"

#include <type_traits>

#include "kernels/unit.h"

namespace walle::kernels {

namespace {
// Where lines are dense or one repeated element: both are read and one is masked out, which compilers make
// vectors of. A branch on a condition that is as good as random takes 4 ns an element.
template <class T, bool kDenseX, bool kDenseY>
void blend(const uint8_t* condition, const T* x, const T* y, T* out, int64_t n) {
  const T one_x = *x, one_y = *y;
  for (int64_t i = 0; i < n; ++i) {
    const T mask = static_cast<T>(T(0) - (condition[i] != 0));
    out[i] = static_cast<T>(((kDenseX ? x[i] : one_x) & mask) | ((kDenseY ? y[i] : one_y) & ~mask));
  }
}

template <class T>
using Blend = void (*)(const uint8_t* condition, const T* x, const T* y, T* out, int64_t n);

// Null for other steps, and for elements that no integer holds.
template <class T>
Blend<T> blend_of(int64_t condition, int64_t x, int64_t y) {
  if constexpr (std::is_integral_v<T>) {
    if (condition != 1 || x < 0 || x > 1 || y < 0 || y > 1) return nullptr;
    if (x == 1) return y == 1 ? blend<T, true, true> : blend<T, true, false>;
    return y == 1 ? blend<T, false, true> : blend<T, false, false>;
  }
  return nullptr;
}

template <class T>
void select(const Broadcast& b, const bool* condition, const void* x, const void* y, void* out, int64_t begin,
            int64_t end) {
  const int last = b.rank - 1;
  const int64_t sc = b.stride[0][last];
  const int64_t sx = b.stride[1][last];
  const int64_t sy = b.stride[2][last];
  const Blend<T> dense = blend_of<T>(sc, sx, sy);
  for_each_run(b, begin, end, [&](int64_t at, const std::array<int64_t, kMaxOperands>& offset, int64_t n) {
    const bool* c = condition + offset[0];
    const T* p = static_cast<const T*>(x) + offset[1];
    const T* q = static_cast<const T*>(y) + offset[2];
    T* o = static_cast<T*>(out) + at;
    if (dense) return dense(reinterpret_cast<const uint8_t*>(c), p, q, o, n);
    for (int64_t i = 0; i < n; ++i) o[i] = c[i * sc] ? p[i * sx] : q[i * sy];
  });
}
}  // namespace

void run_select(const Broadcast& b, int64_t element_size, const bool* condition, const void* x, const void* y,
                void* out, int64_t begin, int64_t end) {
  if (begin >= end) return;
  // By size, not dtype: five loops instead of some twenty, and NaN bits survive.
  visit_unit(element_size, [&](auto unit) { select<decltype(unit)>(b, condition, x, y, out, begin, end); });
}

}  // namespace walle::kernels
