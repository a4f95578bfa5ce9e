#include "kernels/gemm_f64/f64.h"

#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(F64Table, kGemmF64, f64_table)

namespace {
using base::ceil_div;

// Rows of B at once. A panel of 16 columns is 32 KB then, which the first-level cache holds; and a sum of so
// many terms is added to C before the next, which keeps its rounding that of a short sum (gemm_simd.cc).
constexpr int64_t kDepth = 256;

// Panels of A at once: 112 rows of 256 are 230 KB, a part of the second-level cache. Packed, because rows of
// a matrix whose width is a power of two meet in one set of the first level: 256 x 512 x 512 ran at half the
// speed where A was read as it lies.
constexpr int64_t kPanels = 8;

int64_t a_elements(const F64Table& t, int64_t k) { return kPanels * t.mr * std::min(k, kDepth); }
int64_t b_elements(const F64Table& t, int64_t k) { return t.nr * std::min(k, kDepth); }

void pack_a(const F64Table& t, const double* a, int64_t a_row, int64_t rows, int64_t k, double* out) {
  for (int64_t i = 0; i < rows; ++i) {
    double* to = out + i / t.mr * t.mr * k + i % t.mr;
    for (int64_t l = 0; l < k; ++l, to += t.mr) *to = a[i * a_row + l];
  }
}

// Columns behind `cols` are zero.
void pack_b(const F64Table& t, const double* b, int64_t b_row, int64_t k, int64_t cols, double* out) {
  for (int64_t l = 0; l < k; ++l, b += b_row, out += t.nr) {
    std::copy_n(b, cols, out);
    std::fill(out + cols, out + t.nr, 0.0);
  }
}

// One thread's rectangle of C.
struct Share {
  int64_t row0, row1, panel0, panel1;
};

void run_share(const F64Table& t, const Share& s, int64_t n, int64_t k, const double* a, const double* b,
               double* c, double* scratch) {
  if (k == 0) {  // no element of A or B exists, so that none may be pointed at
    const int64_t from = s.panel0 * t.nr, to = std::min(s.panel1 * t.nr, n);
    for (int64_t i = s.row0; i < s.row1; ++i) std::fill(c + i * n + from, c + i * n + to, 0.0);
    return;
  }
  double* const b_panel = scratch + a_elements(t, k);
  for (int64_t i = s.row0; i < s.row1; i += kPanels * t.mr) {
    const int64_t rows = std::min(kPanels * t.mr, s.row1 - i);
    for (int64_t l = 0; l < k; l += kDepth) {
      const int64_t depth = std::min(kDepth, k - l);
      pack_a(t, a + i * k + l, k, rows, depth, scratch);
      for (int64_t j = s.panel0 * t.nr; j < std::min(s.panel1 * t.nr, n); j += t.nr) {
        const int64_t cols = std::min<int64_t>(t.nr, n - j);
        pack_b(t, b + l * n + j, n, depth, cols, b_panel);
        t.block({.rows = rows,
                 .cols = cols,
                 .k = depth,
                 .a = scratch,
                 .b = b_panel,
                 .c = c + i * n + j,
                 .c_row = n,
                 .first = l == 0});
      }
    }
  }
}
}  // namespace

int64_t f64_workspace_bytes(const F64Table& t, int64_t k, int threads) {
  const int64_t bytes = (a_elements(t, k) + b_elements(t, k)) * int64_t{sizeof(double)};
  return threads * base::round_up(bytes, int64_t{64});
}

void run_f64_gemm(const F64Table& t, int64_t m, int64_t n, int64_t k, const double* a, const double* b,
                  double* c, int threads, std::byte* workspace) {
  if (m == 0 || n == 0) return;
  const int64_t panels = ceil_div(n, int64_t{t.nr});
  // Columns are shared where there are enough of them, rows otherwise.
  const int64_t columns = panels >= threads ? threads : 1;
  const int64_t rows = columns > 1 ? 1 : std::min<int64_t>(threads, ceil_div(m, int64_t{t.mr}));
  const int64_t scratch = f64_workspace_bytes(t, k, 1);
  base::parallel_for(columns * rows, threads, [&](int64_t share) {
    const int64_t row = share % rows, column = share / rows;
    const Share mine{.row0 = m * row / rows,
                     .row1 = m * (row + 1) / rows,
                     .panel0 = panels * column / columns,
                     .panel1 = panels * (column + 1) / columns};
    run_share(t, mine, n, k, a, b, c, reinterpret_cast<double*>(workspace + share * scratch));
  });
}

}  // namespace walle::kernels
