#include "kernels/gemm_nbits/nbits.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/vnni_forms.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(NBitsTable, kGemmNBits, nbits_table)
WALLE_VNNI_FORMS(NBitsDotTable, kGemmNBitsDot, nbits_dot_forms)

namespace {
using base::ceil_div;
using base::round_up;

// Rows that one thread makes codes of while another would still be woken: 4096 numbers take 1 to 2 us.
constexpr int64_t kAlone = 4;
// Codes of a panel that stay in the first-level cache while rows of A pass.
constexpr int64_t kPanelBytes = int64_t{16} << 10;

// Panels in equal shares, one for each thread.
template <class Fn>
void over_panels(const NBitsWeights& w, int threads, Fn&& fn) {
  const int64_t panels = w.panels(), shares = std::min<int64_t>(panels, threads);
  base::parallel_for(shares, threads, [&](int64_t share) {
    for (int64_t p = panels * share / shares; p < panels * (share + 1) / shares; ++p)
      fn(p, p * w.nr(), std::min<int64_t>(w.nr(), w.n() - p * w.nr()));
  });
}

// --- float32 ---

// A panel of B for the float32 product: as many steps as a block of it takes, decoded into its cache.
struct Panels {
  const NBitsTable& table;
  const NBitsWeights& w;
  const std::byte* packed;

  void fill(int64_t k0, int64_t k, int64_t j0, float* out) const {
    for (int64_t q = w.piece_of(k0); q < w.pieces() && w.first_step(q) < k0 + k; ++q) {
      const int64_t first = w.first_step(q);
      table.decode({.bits = w.bits(),
                    .from = std::max(k0 - first, int64_t{0}),
                    .to = std::min(k0 + k, w.last_step(q)) - first,
                    .b = w.panel(packed, j0 / w.nr(), q),
                    .out = out + (first - k0) * w.nr()});
    }
  }
  static void fill_of(const void* object, int64_t k0, int64_t k, int64_t j0, int64_t, float* out) {
    static_cast<const Panels*>(object)->fill(k0, k, j0, out);
  }
};

void run_floats(const NBitsKernels& kernels, const NBitsWeights& w, const NBitsGemm& g, int threads,
                std::byte* workspace) {
  const Panels panels{*kernels.table, w, g.packed};
  Gemm product{.m = g.m, .n = w.n(), .k = w.k(), .a = {g.a, w.k(), 1}, .c = g.c, .c_row = w.n()};
  product.panels = {Panels::fill_of, &panels};
  product.epilogue.col_bias = g.bias;
  run_gemm(*kernels.gemm, product, threads, workspace);
}

int64_t floats_bytes(const NBitsKernels& kernels, const NBitsWeights& w, int64_t m, int threads) {
  return threads * gemm_workspace_bytes(*kernels.gemm, m, w.n(), w.k(), false, false);
}

// --- A as codes ---

int lines_of(const NBitsKernels& kernels, const NBitsWeights& w, int64_t m) {
  if (nbits_by_digits(kernels, w, m)) return kDigits;
  return kernels.int8 && w.bits() != 2 ? 1 : 0;
}

// Lines of codes, one behind the other, then their scales and sums.
class CodedRows {
 public:
  CodedRows(const NBitsWeights& w, int64_t m, int lines, std::byte* room)
      : w_(w),
        lines_(lines),
        codes_(reinterpret_cast<int8_t*>(room)),
        scales_(reinterpret_cast<float*>(room + codes_bytes(w, m * lines))),
        sums_(reinterpret_cast<int32_t*>(scales_ + whole_lines(m * lines * w.pieces()))) {}
  static int64_t bytes(const NBitsWeights& w, int64_t m, int lines) {
    return codes_bytes(w, m * lines) + 2 * whole_lines(m * lines * w.pieces()) * kFloatBytes;
  }

  // False where one element is not finite.
  bool fill(const NBitsTable& t, int64_t row, const float* a) {
    const auto make = lines_ == 1 ? t.quantise : t.split;
    int8_t* to = codes_ + row * lines_ * row_bytes();
    for (int64_t q = 0; q < w_.pieces(); ++q, to += w_.piece()) {
      const int64_t first = w_.first_step(q), count = w_.last_step(q) - first;
      const int64_t at = row * lines_ * w_.pieces() + q;
      if (!make({.x = a + first,
                 .count = count,
                 .out = to,
                 .out_row = row_bytes(),
                 .scale = scales_ + at,
                 .sums = sums_ + at,
                 .sums_row = w_.pieces()}))
        return false;
      for (int p = 0; p < lines_; ++p)
        std::memset(to + p * row_bytes() + count, 0, static_cast<size_t>(w_.piece() - count));
    }
    return true;
  }

  NBitsCodes from(int64_t piece) const {
    return {.a = codes_ + piece * w_.piece(),
            .a_row = row_bytes(),
            .scales = scales_ + piece,
            .sums = sums_ + piece,
            .blocks_row = w_.pieces()};
  }

 private:
  static int64_t codes_bytes(const NBitsWeights& w, int64_t lines) {
    return round_up(lines * w.pieces() * w.piece(), int64_t{64});
  }
  int64_t row_bytes() const { return w_.pieces() * w_.piece(); }

  const NBitsWeights& w_;
  const int lines_;
  int8_t* codes_;
  float* scales_;
  int32_t* sums_;
};

// False, with C untouched, where an element of A is not finite.
bool run_codes(const NBitsKernels& kernels, const NBitsWeights& w, const NBitsGemm& g, int lines, int threads,
               std::byte* workspace) {
  CodedRows rows(w, g.m, lines, workspace);
  std::atomic<bool> finite = true;
  base::parallel_for(g.m, g.m > kAlone ? threads : 1, [&](int64_t i) {
    if (!rows.fill(*kernels.table, i, g.a + i * w.k())) finite.store(false, std::memory_order_relaxed);
  });
  if (!finite) return false;
  const int64_t at_once = std::max<int64_t>(kPanelBytes / (w.words() * w.nr() * 4), 1);
  over_panels(w, threads, [&](int64_t p, int64_t j, int64_t cols) {
    for (int64_t q = 0; q < w.pieces(); q += at_once)
      kernels.dot->block({.bits = w.bits(),
                          .digits = lines == kDigits,
                          .rows = g.m,
                          .words = w.words(),
                          .blocks = std::min(at_once, w.pieces() - q),
                          .cols = cols,
                          .a = rows.from(q),
                          .b = w.panel(g.packed, p, q),
                          .bias = g.bias ? g.bias + j : nullptr,
                          .first = q == 0,
                          .c = g.c + j,
                          .c_row = w.n()});
  });
  return true;
}
}  // namespace

const Variant<NBitsDotTable>& nbits_dot_form(base::Capabilities usable, int nr) {
  const auto forms = nbits_dot_forms();
  const auto fits = [&](const auto& form) { return form.table->nr == nr && usable.has(form.needs); };
  const auto best = std::find_if(forms.rbegin(), forms.rend(), fits);
  return *best;  // each set has one as wide as its table
}

bool nbits_by_digits(const NBitsKernels& kernels, const NBitsWeights& weights, int64_t m) {
  return !kernels.int8 && weights.bits() != 2 && m <= kernels.dot->few_rows;
}

int64_t nbits_workspace_bytes(const NBitsKernels& kernels, const NBitsWeights& w, int64_t m, int threads) {
  const int64_t floats = floats_bytes(kernels, w, m, threads);
  return std::max(floats, CodedRows::bytes(w, m, lines_of(kernels, w, m)));
}

void run_nbits_gemm(const NBitsKernels& kernels, const NBitsWeights& w, const NBitsGemm& g, int threads,
                    std::byte* workspace) {
  if (g.m == 0) return;
  const int lines = lines_of(kernels, w, g.m);
  if (lines > 0 && run_codes(kernels, w, g, lines, threads, workspace)) return;
  run_floats(kernels, w, g, threads, workspace);
}

}  // namespace walle::kernels
