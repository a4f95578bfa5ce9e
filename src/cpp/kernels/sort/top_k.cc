#include "kernels/sort/top_k.h"

#include <algorithm>
#include <numeric>

namespace walle::kernels {

namespace {
// NaN after every number.
template <class T>
bool less(T a, T b) {
  if (a != a) return false;
  if (b != b) return true;
  return a < b;
}

template <class T>
void top_k(const TopK& s, const T* x, T* values, int64_t* indices, int64_t* scratch) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const T* run = x + o * s.axis * s.inner + i;
      const int64_t to = o * s.k * s.inner + i;
      const auto before = [&](int64_t a, int64_t b) {
        const T u = run[a * s.inner];
        const T v = run[b * s.inner];
        // Ties by the lower index, which ONNX TopK asks for in both directions.
        if (s.largest ? less(v, u) : less(u, v)) return true;
        if (s.largest ? less(u, v) : less(v, u)) return false;
        return a < b;
      };
      // O(n log k): k is small in models, and a full sort of positions would be most of the work.
      std::iota(scratch, scratch + s.axis, int64_t{0});
      std::partial_sort(scratch, scratch + s.k, scratch + s.axis, before);
      for (int64_t r = 0; r < s.k; ++r) {
        if (values) values[to + r * s.inner] = run[scratch[r] * s.inner];
        if (indices) indices[to + r * s.inner] = scratch[r];
      }
    }
  }
}
}  // namespace

void run_top_k(const TopK& spec, DType dtype, const void* x, void* values, int64_t* indices,
               int64_t* scratch) {
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  tensor::visit_numeric(as, [&](auto tag) {
    using T = typename decltype(tag)::type;
    top_k(spec, static_cast<const T*>(x), static_cast<T*>(values), indices, scratch);
  });
}

}  // namespace walle::kernels
