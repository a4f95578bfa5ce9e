// Register tiles of the float64 product: mr x 2 vectors stay in registers over the depth, 14 x 2 with 32 of
// them, 6 x 2 with 16.
#include "kernels/gemm_f64/f64_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int kDoubles = kLanes / 2;
constexpr int kMr = kRegisters == 32 ? 14 : 6;
constexpr int kNr = 2 * kDoubles;

typedef double vd __attribute__((vector_size(kDoubles * 8)));
typedef double vd_any __attribute__((vector_size(kDoubles * 8), aligned(8), may_alias));

inline vd load_doubles(const double* p) { return *reinterpret_cast<const vd_any*>(p); }
inline void store_doubles(double* p, vd x) { *reinterpret_cast<vd_any*>(p) = x; }

// Of the right edge of C, which has no slack behind its rows.
__attribute__((noinline)) void store_edge(const F64Block& t, const double* row, double* c) {
  for (int64_t j = 0; j < t.cols; ++j) c[j] = t.first ? row[j] : c[j] + row[j];
}

template <int M>
inline __attribute__((always_inline)) void tile(const F64Block& t, const double* a, double* c) {
  vd acc[M][2] = {};
  const double* b = t.b;
  for (int64_t l = 0; l < t.k; ++l, a += kMr, b += kNr) {
    const vd b0 = load_doubles(b);
    const vd b1 = load_doubles(b + kDoubles);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) {
      const vd x = vd{} + a[i];
      acc[i][0] += x * b0;
      acc[i][1] += x * b1;
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i, c += t.c_row) {
    if (t.cols == kNr) {
      store_doubles(c, t.first ? acc[i][0] : load_doubles(c) + acc[i][0]);
      store_doubles(c + kDoubles, t.first ? acc[i][1] : load_doubles(c + kDoubles) + acc[i][1]);
      continue;
    }
    double row[kNr];
    store_doubles(row, acc[i][0]);
    store_doubles(row + kDoubles, acc[i][1]);
    store_edge(t, row, c);
  }
}

void block(const F64Block& t) {
  for (int64_t i = 0; i < t.rows; i += kMr) {
    const double* a = t.a + i * t.k;
    double* c = t.c + i * t.c_row;
    int64_t left = t.rows - i < kMr ? t.rows - i : kMr;
    if (left == kMr) {
      tile<kMr>(t, a, c);
      continue;
    }
    for (; left >= 4; left -= 4, a += 4, c += 4 * t.c_row) tile<4>(t, a, c);
    for (; left > 0; --left, ++a, c += t.c_row) tile<1>(t, a, c);
  }
}
}  // namespace

extern const F64Table kGemmF64;
const F64Table kGemmF64 = {.mr = kMr, .nr = kNr, .block = block};

}  // namespace walle::kernels::WALLE_ISA_NS
