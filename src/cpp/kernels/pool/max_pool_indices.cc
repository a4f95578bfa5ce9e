#include "kernels/pool/max_pool_indices.h"

#include <array>
#include <limits>

#include "base/limits.h"
#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
constexpr size_t kMaxAxes = base::kMaxRank;

int64_t product(const std::vector<int64_t>& v) {
  int64_t n = 1;
  for (int64_t x : v) n *= x;
  return n;
}

// One window: the largest element and its coordinates. Walks the taps that lie inside the input.
template <class T>
struct Window {
  const MaxPoolIndices& s;
  const T* plane;
  T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  int64_t row_major = 0;
  int64_t column_major = 0;
  bool found = false;

  void walk(size_t axis, const std::array<int64_t, kMaxAxes>& start, int64_t offset, int64_t column,
            int64_t column_step) {
    if (axis == s.in.size()) {
      const T v = plane[offset];
      if (found && !(v > best || (v != v && best == best))) return;  // the first NaN wins and stays
      found = true;
      best = v;
      row_major = offset;
      column_major = column;
      return;
    }
    for (int64_t t = 0; t < s.kernel[axis]; ++t) {
      const int64_t i = start[axis] + t * s.dilation[axis];
      // Padding is no element: it neither wins nor has an index.
      if (i < 0) continue;
      if (i >= s.in[axis]) break;
      walk(axis + 1, start, offset * s.in[axis] + i, column + i * column_step, column_step * s.in[axis]);
    }
  }
};

// Coordinates of the first tap of output `o`; negative in the padding.
std::array<int64_t, kMaxAxes> window_start(const MaxPoolIndices& s, int64_t o) {
  std::array<int64_t, kMaxAxes> start{};
  for (size_t a = s.in.size(); a-- > 0;) {
    start[a] = o % s.out[a] * s.stride[a] - s.pad[a];
    o /= s.out[a];
  }
  return start;
}

template <class T>
void pool(const MaxPoolIndices& s, const T* x, T* y, int64_t* indices, int threads) {
  const int64_t in = product(s.in);
  const int64_t out = product(s.out);
  // A plane is thousands of windows as a rule, so each may be a piece.
  parallel_ranges(s.planes, 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t o = 0; o < out; ++o) {
        Window<T> w{s, x + p * in};
        w.walk(0, window_start(s, o), 0, 0, 1);
        y[p * out + o] = w.best;
        // Indices count through the whole tensor, batch and channels included (ONNX MaxPool, output Indices),
        // which is why p * in is added in either storage order.
        indices[p * out + o] = p * in + (s.column_major ? w.column_major : w.row_major);
      }
  });
}
}  // namespace

void run_max_pool_indices(const MaxPoolIndices& spec, DType dtype, const void* x, void* y, int64_t* indices,
                          int threads) {
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    pool(spec, static_cast<const T*>(x), static_cast<T*>(y), indices, threads);
  });
}

}  // namespace walle::kernels
