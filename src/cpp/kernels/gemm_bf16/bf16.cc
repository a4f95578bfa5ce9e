#include "kernels/gemm_bf16/bf16.h"

#include <algorithm>

#include "base/checked.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/amx_forms.h"
#include "kernels/bfdot_forms.h"

namespace walle::kernels {

WALLE_BFDOT_FORM(Bf16Table, kGemmBf16, bf16_form)
WALLE_AMX_FORM(amx_bf16, avx512_bf16, Bf16Table, kGemmBf16Amx, bf16_amx_form)
WALLE_FP16_FORM(Bf16Table, kGemmBf16, fp16_form)

const Variant<Bf16Table>* bf16_form_for(base::Capabilities usable, int64_t rows) {
  const auto* const tiles = bf16_amx_form(usable);
  return tiles && rows >= tiles->table->fewest ? tiles : bf16_form(usable);
}

namespace {
using base::ceil_div;
using base::round_up;

constexpr int64_t kWordBytes = sizeof(uint32_t);
constexpr int64_t kLineWords = 64 / kWordBytes;
// Rows of A at once: 16 panels of 14. A pass over B's panels then takes 16 times as long as reading them.
constexpr int64_t kMaxRows = 224;

// What one tile of rows asks for ahead of where it reads: 4 KB. Tiles that share a panel ask for all of the
// next one instead, because each would only repeat that.
constexpr int64_t kAheadWords = 1024;

constexpr int64_t words_of(int64_t k) { return ceil_div(k, int64_t{2}); }
int64_t panel_words(const Bf16Table& t, int64_t k) { return t.nr * words_of(k); }

struct Blocking {
  int64_t rows;    // of A at once
  int64_t chains;  // of the depth at once: with the rows half of the second-level cache
};

// Fewest blocks that fit: whatever their size, A and B are read once for each block of the other, and only
// the passes over C depend on it.
Blocking blocking_for(const Bf16Table& t, int64_t m, int64_t k) {
  Blocking b{};
  b.rows = std::min(round_up(ceil_div(m, ceil_div(m, kMaxRows)), t.mr), m);
  const int64_t fits = base::cpu_features().l2_bytes / 2 / (b.rows * kBf16Row * kWordBytes);
  const int64_t chains = std::max<int64_t>(ceil_div(words_of(k), kBf16Chain), 1);
  b.chains = ceil_div(chains, ceil_div(chains, std::max<int64_t>(fits, 1)));
  return b;
}

// Of one thread.
int64_t a_words(const Blocking& b) { return b.chains * b.rows * kBf16Row; }
int64_t b_words(const Bf16Table& t, const Blocking& b, int64_t k, bool b_packed) {
  return b_packed ? 0 : t.nr * std::min(b.chains * kBf16Chain, words_of(k));
}

// A thread's rectangle of C.
class Worker {
 public:
  Worker(const Bf16Table& table, const Bf16Gemm& g, const Blocking& blocks, uint32_t* workspace)
      : t_(table), g_(g), blocks_(blocks), a_(workspace), b_(workspace + a_words(blocks)) {}

  void run(int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    const int64_t depth = blocks_.chains * kBf16Chain;
    for (int64_t i = m0; i < m1; i += blocks_.rows) {
      rows_ = std::min(blocks_.rows, m1 - i);
      int64_t s = 0;
      do {  // once even for k = 0: the result is then the epilogue of zero
        steps_ = std::min(depth, words_of(g_.k) - s);
        const int64_t k = std::min(2 * steps_, g_.k - 2 * s);
        if (k > 0) pack_a(i, s, k, s == 0 && g_.packed_b ? panel(s, n0) : nullptr);
        const int64_t width = rows_ == 1 && g_.packed_b ? n1 - n0 : t_.nr;
        for (int64_t j = n0; j < n1; j += width)
          run_panel(i, s, k, j, std::min(width, n1 - j), next_panel(s, j + width, n0, n1));
        s += depth;
      } while (s < words_of(g_.k));
    }
  }

 private:
  // Of a packed B, from step s on.
  const uint32_t* panel(int64_t s, int64_t j) const {
    return g_.packed_b + j / t_.nr * panel_words(t_, g_.k) + s * t_.nr;
  }

  // What follows on the columns before `j`: the next ones, or the first ones a block of the depth later.
  const uint32_t* next_panel(int64_t s, int64_t j, int64_t n0, int64_t n1) const {
    if (!g_.packed_b) return nullptr;
    if (j < n1) return panel(s, j);
    return s + steps_ < words_of(g_.k) ? panel(s + steps_, n0) : nullptr;
  }

  // Rows [i, i + rows_), steps [s, s + steps_). `ahead`: the panel that they meet first, which no other one
  // has asked for, comes meanwhile.
  void pack_a(int64_t i, int64_t s, int64_t k, const uint32_t* ahead) {
    const int64_t lines = ahead ? steps_ * t_.nr / kLineWords : 0;
    for (int64_t r = 0; r < rows_; r += t_.mr) {
      const int64_t rows = std::min<int64_t>(t_.mr, rows_ - r);
      t_.pack_a(g_.a.data + (i + r) * g_.a.row_stride + 2 * s * g_.a.col_stride, g_.a.row_stride,
                g_.a.col_stride, rows, k, rows_ * kBf16Row, a_ + r * kBf16Row);
      for (int64_t line = lines * r / rows_; line < lines * (r + rows) / rows_; ++line)
        __builtin_prefetch(ahead + line * kLineWords, 0, 2);
    }
  }

  // Rows [i, i + rows_) by `cols` columns from j on, over steps [s, s + steps_), which are k rows of B.
  void run_panel(int64_t i, int64_t s, int64_t k, int64_t j, int64_t cols, const uint32_t* next) {
    Bf16Block block;
    block.rows = rows_;
    block.cols = cols;
    block.steps = steps_;
    block.a = a_;
    block.a_chain = rows_ * kBf16Row;
    block.b = b_;
    if (g_.packed_b) {
      block.b = panel(s, j);
      block.ahead = rows_ <= t_.mr ? block.b + kAheadWords : next;
    } else if (k > 0) {
      t_.pack_b(g_.b.data + 2 * s * g_.b.row_stride + j * g_.b.col_stride, g_.b.row_stride, g_.b.col_stride,
                k, cols, 0, b_);
    }
    block.b_panel = panel_words(t_, g_.k);
    block.c = g_.c + i * g_.c_row + j;
    block.c_row = g_.c_row;
    block.first = s == 0;
    block.last = s + steps_ == words_of(g_.k);
    block.epilogue = g_.epilogue;
    if (block.epilogue.row_bias) block.epilogue.row_bias += i;
    if (block.epilogue.col_bias) block.epilogue.col_bias += j;
    if (block.epilogue.residual) block.epilogue.residual += i * g_.c_row + j;
    t_.block(block);
  }

  const Bf16Table& t_;
  const Bf16Gemm& g_;
  Blocking blocks_;
  uint32_t* a_;
  uint32_t* b_;
  int64_t rows_ = 0, steps_ = 0;
};
}  // namespace

int64_t bf16_packed_b_words(const Bf16Table& table, int64_t n, int64_t k) {
  return ceil_div(n, int64_t{table.nr}) * panel_words(table, k);
}

void pack_bf16_b_rows(const Bf16Table& t, const Matrix& b, int64_t k0, int64_t k1, int64_t k, int64_t n,
                      uint32_t* out) {
  t.pack_b(b.data + k0 * b.row_stride, b.row_stride, b.col_stride, k1 - k0, n, panel_words(t, k),
           out + k0 / 2 * t.nr);
}

int64_t bf16_workspace_bytes(const Bf16Table& t, int64_t m, int64_t, int64_t k, bool b_packed, int threads) {
  if (m == 0) return 0;
  const Blocking blocks = blocking_for(t, m, k);
  return threads * round_up(a_words(blocks) + b_words(t, blocks, k, b_packed), 16) * kWordBytes;
}

void run_bf16_gemm(const Bf16Table& t, const Bf16Gemm& g, int threads, std::byte* workspace) {
  if (g.m == 0 || g.n == 0) return;
  const Blocking blocks = blocking_for(t, g.m, g.k);
  const int64_t share_words = round_up(a_words(blocks) + b_words(t, blocks, g.k, g.packed_b != nullptr), 16);
  // Columns, so that each panel of B comes from memory for one thread alone; A is then rounded by every
  // thread, which is 1 % of a product with 768 columns. Rows where B is the smaller one, or has too few
  // panels to share.
  const int64_t row_panels = ceil_div(g.m, int64_t{t.mr}), col_panels = ceil_div(g.n, int64_t{t.nr});
  const bool by_rows = row_panels > col_panels && (col_panels < 2 * threads || g.m >= 4 * g.n);
  const int64_t width = by_rows ? 1 : t.nr;
  const int64_t panels = ceil_div(by_rows ? g.m : g.n, width);
  const int64_t shares = std::min<int64_t>(threads, by_rows ? row_panels : col_panels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    Worker worker(t, g, blocks, reinterpret_cast<uint32_t*>(workspace) + share * share_words);
    const int64_t from = panels * share / shares * width;
    const int64_t to = panels * (share + 1) / shares * width;
    if (by_rows)
      worker.run(from, std::min(to, g.m), 0, g.n);
    else
      worker.run(0, g.m, from, std::min(to, g.n));
  });
}

}  // namespace walle::kernels
