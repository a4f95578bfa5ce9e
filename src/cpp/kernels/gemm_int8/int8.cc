#include "kernels/gemm_int8/int8.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/amx_forms.h"
#include "kernels/vnni_forms.h"

namespace walle::kernels {

WALLE_MMLA_FORMS(Int8Table, kGemmInt8, int8_forms)

namespace {
using base::ceil_div;

constexpr int64_t kWordBytes = sizeof(uint32_t);
// Words of k at once: a panel of B with 32 columns is 32 KB then, and stays in the first-level cache while
// those of A pass.
constexpr int64_t kDepth = 256;

constexpr int64_t steps_of(const Int8Table& t, int64_t k) {
  return base::round_up(ceil_div(k, int64_t{t.step}), int64_t{t.words});
}
constexpr int64_t whole_line(int64_t words) { return base::round_up(words, 64 / kWordBytes); }

Int8Matrix part_of(Int8Matrix m, int64_t row, int64_t col, int64_t along_zeros) {
  m.data += row * m.row_stride + col * m.col_stride;
  if (m.zeros) m.zeros += along_zeros;
  return m;
}

int64_t a_panel_words(const Int8Table& t, int64_t k) { return t.mr * (steps_of(t, k) + t.sums); }
int64_t packed_a_words(const Int8Table& t, int64_t m, int64_t k) {
  return whole_line(ceil_div(m, t.mr) * a_panel_words(t, k));
}
int64_t panel_words(const Int8Table& t, int64_t k) { return whole_line(t.nr * (steps_of(t, k) + t.sums)); }

// Shares of C: columns where there are panels for every thread, else rows.
struct Shares {
  int64_t columns = 1, rows = 1;
};
Shares shares_of(const Int8Table& t, const Int8Gemm& g, int threads) {
  const int64_t panels = ceil_div(g.n, t.nr);
  if (panels >= threads) return {.columns = threads};
  return {.rows = std::min<int64_t>(threads, ceil_div(g.m, t.mr))};
}

void run_share(const Int8Table& t, const Int8Gemm& g, const uint32_t* a, int64_t row0, int64_t row1,
               int64_t panel0, int64_t panel1, uint32_t* scratch) {
  const int64_t steps = steps_of(t, g.k);
  const uint32_t* const mine = a + row0 / t.mr * a_panel_words(t, g.k);
  for (int64_t p = panel0; p < panel1; ++p) {
    const int64_t j = p * t.nr;
    const int64_t cols = std::min<int64_t>(t.nr, g.n - j);
    const uint32_t* b = g.packed_b ? g.packed_b + p * panel_words(t, g.k) : scratch;
    if (!g.packed_b) t.pack_b(part_of(g.b, 0, j, j), g.k, cols, scratch);
    int64_t s = 0;
    do {  // once even for k = 0: C is then zero
      const int64_t depth = std::min(kDepth, steps - s);
      t.block({.rows = row1 - row0,
               .cols = cols,
               .steps = depth,
               .a = mine + s * t.mr,
               .a_panel = a_panel_words(t, g.k),
               .b = b + s * t.nr,
               .c = g.c + row0 * g.c_row + j,
               .c_row = g.c_row,
               .first = s == 0,
               .a_sums = t.sums ? mine + steps * t.mr : nullptr,
               .b_sums = t.sums ? b + steps * t.nr : nullptr});
      s += kDepth;
    } while (s < steps);
  }
}
}  // namespace

WALLE_AMX_FORM(amx_int8, avx512_vnni, Int8Table, kGemmInt8Amx, int8_amx_form)

const Variant<Int8Table>& int8_form(base::Capabilities usable) {
  const auto* const tiles = int8_amx_form(usable);
  return tiles ? *tiles : pick<Int8Table>(int8_forms(), usable);
}

int64_t int8_packed_b_words(const Int8Table& table, int64_t n, int64_t k) {
  return ceil_div(n, table.nr) * panel_words(table, k);
}

void pack_int8_b(const Int8Table& t, const Int8Matrix& b, int64_t k, int64_t n, uint32_t* out) {
  for (int64_t j = 0; j < n; j += t.nr)
    t.pack_b(part_of(b, 0, j, j), k, std::min<int64_t>(t.nr, n - j), out + j / t.nr * panel_words(t, k));
}

int64_t int8_workspace_bytes(const Int8Table& t, int64_t m, int64_t, int64_t k, bool b_packed, int threads) {
  return (packed_a_words(t, m, k) + (b_packed ? 0 : threads * panel_words(t, k))) * kWordBytes;
}

void run_int8_gemm(const Int8Table& t, const Int8Gemm& g, int threads, std::byte* workspace) {
  if (g.m == 0 || g.n == 0) return;
  auto* const a = reinterpret_cast<uint32_t*>(workspace);
  uint32_t* const scratch = a + packed_a_words(t, g.m, g.k);
  const int64_t a_panels = ceil_div(g.m, t.mr);
  base::parallel_for(a_panels, threads, [&](int64_t p) {
    const int64_t i = p * t.mr;
    t.pack_a(part_of(g.a, i, 0, i), std::min<int64_t>(t.mr, g.m - i), g.k, a + p * a_panel_words(t, g.k));
  });
  const Shares shares = shares_of(t, g, threads);
  const int64_t panels = ceil_div(g.n, t.nr);
  base::parallel_for(shares.columns * shares.rows, threads, [&](int64_t share) {
    const int64_t c = share % shares.columns, r = share / shares.columns;
    const int64_t row0 = a_panels * r / shares.rows * t.mr;
    const int64_t row1 = std::min(a_panels * (r + 1) / shares.rows * t.mr, g.m);
    run_share(t, g, a, row0, row1, panels * c / shares.columns, panels * (c + 1) / shares.columns,
              scratch + share * panel_words(t, g.k));
  });
}

}  // namespace walle::kernels
