#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(GemmTable, kGemmF32, gemm_table)

namespace {
// Rows of A packed at once: 40 panels of 14. With 1 MB of
// second-level cache about as many leave kMinDepth in half of it.
constexpr int64_t kMaxRows = 560;
// Steps of k at once, at least: every further pass over the depth reads and writes C again.
constexpr int64_t kMinDepth = 256;
// At least as deep in the first-level cache, whatever it says of its size: a tile that starts and ends pays
// 43 to 57 ns for bias, residual and activation (measured on Zen 4), which 64 steps already outweigh.
constexpr int64_t kMinInner = 64;
// The second level feeds a tile as well (5 of its 32 bytes a cycle), and C is read again less often: 1 to 5 %
// on a Zen 4 core (128 x 768 x 3072: 101 -> 106 GFLOP/s). Not for a few rows, whose C costs little to read: 1
// x 2048 x 1000 takes 0.28 ms, and 0.34 with four.
constexpr int64_t kInnerCaches = 4;
// At most as deep where a tile of few rows sums the part in one chain (kChain in gemm_simd.cc does it within
// the other tiles): whatever the cache holds, one sum of s terms is off by sqrt(s / 144) times what sums of
// 144 terms are, which is 1.63 here; at most 2 is promised (tests/cpp/kernels/sums_test.cc). 48 KB and four
// lanes made it 768, and 2.3.
constexpr int64_t kPlainChain = 384;
constexpr int64_t kMaxGroup = 32;  // B panels made together: 4 KiB of a row of C with 32 columns each

using base::ceil_div;
using base::round_up;

struct Blocking {
  int64_t rows;   // of A at once
  int64_t depth;  // of A at once: rows x depth stay in the second-level cache
  int64_t inner;  // part of the depth for which a panel of B and one of A stay in the first-level cache
  int64_t group;  // B panels made together: with a short depth rows of C are written in longer pieces
};

// The least traffic under the caches' bounds, in closed form: whatever the blocks, A and B are packed once
// and B's panels pass once per block of rows, so that only the passes over C depend on them, and the fewest
// blocks that fit are the fewest passes. Of the second-level cache half is for A, a quarter for a group of B
// panels; the rest is for C and whatever else runs. The inner part is kInnerCaches times as deep as the
// first-level cache holds panels of A and B, of which an eighth is left to C's tile.
Blocking blocking_for(const GemmTable& t, int64_t m, int64_t k) {
  const base::CpuFeatures& cpu = base::cpu_features();
  Blocking b{};
  const int64_t row_blocks = ceil_div(m, kMaxRows);
  b.rows = std::min(round_up(ceil_div(m, row_blocks), t.mr), round_up(m, t.mr));
  const int64_t floats = cpu.l2_bytes / 2 / kFloatBytes;
  const int64_t depth_blocks = std::max<int64_t>(ceil_div(k, std::max(floats / b.rows, kMinDepth)), 1);
  b.depth = std::max<int64_t>(ceil_div(k, depth_blocks), 1);
  const int64_t caches = m > t.mr_plain ? kInnerCaches : 1;
  const int64_t held = std::max(caches * cpu.l1_bytes * 7 / 8 / (kFloatBytes * (t.nr + t.mr)), kMinInner);
  const int64_t fits = m > t.mr_plain ? held : std::min(held, kPlainChain);
  b.inner = std::max<int64_t>(ceil_div(b.depth, ceil_div(b.depth, fits)), 1);
  b.group = std::clamp<int64_t>(cpu.l2_bytes / 4 / (kFloatBytes * t.nr * b.depth), 1, kMaxGroup);
  return b;
}

// Few rows are read where they lie: packing would touch each element once more, and the tiles for plain rows
// spread k over several accumulators, which a product of few rows needs. Only with unit stride along k.
bool reads_a_plain(const GemmTable& t, int64_t m, bool a_packed, int64_t col_stride) {
  return !a_packed && m <= t.mr_plain && col_stride == 1;
}

// Workspace of the two packed operands. Both take the blocking of the whole product, not of one thread's
// share: the size is asked for while planning, before anybody knows how the product is split.
int64_t a_elements(const Blocking& blocks, bool a_packed) {
  return a_packed ? 0 : whole_lines(blocks.rows * blocks.depth);
}

int64_t b_elements(const GemmTable& t, const Blocking& blocks, bool b_packed) {
  return b_packed ? 0 : whole_lines(blocks.depth * t.nr * blocks.group + kSlackFloats);
}

int64_t workspace_bytes(const GemmTable& t, const Blocking& blocks, bool a_packed, bool b_packed) {
  return whole_lines(a_elements(blocks, a_packed) + b_elements(t, blocks, b_packed)) * kFloatBytes;
}

// Rows of B read at once where a few rows of A meet a plain B: as many streams as the processor follows, each
// read to its end before the next ones. Panel by panel instead, every line of B would come from another page.
// One row by 8192 x 8192 takes 28 ms, 38 with B packed; 8, 32 and 64 rows at once 34, 30 and 37, 4 rows 34
// (one thread of a busy Xeon).
constexpr int64_t kStreamedDepth = 16;
// Sums of at most as many steps join in C one after the other, which makes 1.6 of the 2 that is promised; a
// deeper product takes deeper steps. With 16 rows a step 2 x 310 x 60000 was off by 2.6 times as much; 2 x
// 512 x 16384 takes 3.1 ms now and 3.6 then (avx2 on Zen 4).
constexpr int64_t kStreamedSteps = 512;

bool streams_b(const GemmTable& t, const Gemm& g) {
  const bool in_rows = g.panels.fill ? g.panels.streamed : g.b.col_stride == 1;
  return !g.packed_b && in_rows && reads_a_plain(t, g.m, g.packed_a != nullptr, g.a.col_stride);
}

// Never asks for more workspace than the blocks it stands for.
Blocking streamed(Blocking b, int64_t k) {
  b.depth = std::min(b.depth, std::clamp(ceil_div(k, kStreamedSteps), kStreamedDepth, kPlainChain));
  b.inner = b.depth;
  b.group = 1;
  return b;
}

// Stands for matrices without elements (k = 0), which may have
// no address: the kernels step from block to block all the same.
constexpr float kNothing[1] = {};

// One thread's share: a rectangle of C.
class Worker {
 public:
  Worker(const GemmTable& table, const Gemm& g, const Blocking& blocks, std::byte* workspace)
      : table_(table),
        g_(g),
        blocks_(streams_b(table, g) ? streamed(blocks, g.k) : blocks),
        a_buffer_(reinterpret_cast<float*>(workspace)),
        b_buffer_(a_buffer_ + a_elements(blocks, g.packed_a != nullptr)),
        plain_(reads_a_plain(table, g.m, g.packed_a != nullptr, g.a.col_stride)) {}

  void run(int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    if (g_.m == 1 && plain_ && (g_.packed_b || streams_b(table_, g_))) return run_row(n0, n1);
    for (int64_t i = m0; i < m1; i += blocks_.rows) {
      const int64_t rows = std::min(blocks_.rows, m1 - i);
      int64_t k0 = 0;
      do {  // once even for k = 0: the result is then the epilogue of zero
        run_depth(i, rows, k0, std::min(blocks_.depth, g_.k - k0), n0, n1);
        k0 += blocks_.depth;
      } while (k0 < g_.k);
    }
  }

 private:
  // One row: a pass over B, panel by panel or as it lies.
  void run_row(int64_t n0, int64_t n1) {
    GemmBlock t;
    t.rows = 1;
    t.cols = n1 - n0;
    t.k = g_.k;
    t.a = g_.k ? g_.a.data : kNothing;
    t.c = g_.c + n0;
    t.epilogue = g_.epilogue;
    if (t.epilogue.col_bias) t.epilogue.col_bias += n0;
    if (t.epilogue.residual) t.epilogue.residual += n0;
    if (g_.packed_b) {
      t.b = g_.k ? g_.packed_b + n0 * g_.k : kNothing;
      t.b_row = table_.nr;
      t.b_next = g_.k * table_.nr;
      return table_.row_panels(t);
    }
    if (g_.panels.row) {
      t.b_next = g_.k * t.cols * kFloatBytes / 2 > base::cpu_features().l2_bytes / 2 ? 1 : 0;
      return g_.panels.row(g_.panels.object, n0, t);
    }
    t.b = g_.k ? g_.b.data + n0 : kNothing;
    t.b_row = g_.b.row_stride;
    t.b_next = g_.k * t.cols * kFloatBytes > base::cpu_features().l2_bytes / 2 ? 1 : 0;
    table_.row(t);
  }

  void run_depth(int64_t i, int64_t rows, int64_t k0, int64_t depth, int64_t n0, int64_t n1) {
    const float* a = nullptr;
    // Four origins of A: none (k = 0), packed once for all runs, read where it lies, packed now. For weights
    // packed whole the panels are g_.k deep although only `depth` of it is used here.
    int64_t a_panel = std::max<int64_t>(depth, 1) * table_.mr;  // 0 would say that A is not packed
    if (depth == 0) {
      a = kNothing;
    } else if (g_.packed_a) {
      a = g_.packed_a + i * g_.k + k0 * table_.mr;
      a_panel = std::max<int64_t>(g_.k, 1) * table_.mr;
    } else if (plain_) {
      a = g_.a.data + i * g_.a.row_stride + k0;
      a_panel = 0;
    } else {
      table_.pack_a(g_.a.data + i * g_.a.row_stride + k0 * g_.a.col_stride, g_.a.row_stride, g_.a.col_stride,
                    rows, depth, a_buffer_);
      a = a_buffer_;
    }
    // A packed B needs no group, because nothing has to be made; with one tile of rows a group would only
    // push panels out of the first-level cache before they are used.
    const bool alone = g_.packed_b || (rows <= table_.mr && !g_.panels.together);
    const int64_t width = table_.nr * (alone ? 1 : blocks_.group);
    for (int64_t j = n0; j < n1; j += width)
      run_group({.i = i,
                 .rows = rows,
                 .k0 = k0,
                 .depth = depth,
                 .j = j,
                 .cols = std::min(width, n1 - j),
                 .a = a,
                 .a_panel = a_panel});
  }

  // Rows [i, i + rows) of C by columns [j, j + cols), over steps [k0, k0 + depth).
  struct Group {
    int64_t i, rows, k0, depth, j, cols;
    const float* a;
    int64_t a_panel;
  };

  void run_group(const Group& p) {
    const float* b[kMaxGroup];
    int64_t b_row[kMaxGroup];
    int64_t count = 0;
    if (packs_b(p.rows, p.depth)) {
      // All panels together, so that rows of B are read in pieces as long as the group is wide.
      if (g_.panels.fill)
        g_.panels.fill(g_.panels.object, p.k0, p.depth, p.j, p.cols, b_buffer_);
      else
        table_.pack_b(g_.b.data + p.k0 * g_.b.row_stride + p.j * g_.b.col_stride, g_.b.row_stride,
                      g_.b.col_stride, p.depth, p.cols, p.depth * table_.nr, b_buffer_);
      for (int64_t q = 0; q < p.cols; q += table_.nr, ++count) {
        b[count] = b_buffer_ + count * p.depth * table_.nr;
        b_row[count] = table_.nr;
      }
    }
    for (int64_t q = count * table_.nr; q < p.cols; q += table_.nr, ++count)
      b[count] = panel(p.rows, p.k0, p.depth, p.j + q, std::min<int64_t>(table_.nr, p.cols - q),
                       b_buffer_ + count * p.depth * table_.nr, b_row[count]);
    // Rows outside, panels inside: a row of C is then written in pieces of count * nr floats, which the
    // hardware's prefetchers follow, and one panel of A stays in the first-level cache meanwhile.
    const int64_t rows = count == 1 ? p.rows : table_.mr;  // one panel: the block walks the rows itself
    for (int64_t r = 0; r < p.rows; r += rows)
      for (int64_t q = 0; q < count; ++q)
        run_block(p, r, std::min(rows, p.rows - r), q * table_.nr, b[q], b_row[q]);
  }

  // Rows [r, r + rows) of the group against one panel.
  void run_block(const Group& p, int64_t r, int64_t rows, int64_t q, const float* b, int64_t b_row) {
    GemmBlock t;
    t.rows = rows;
    t.cols = std::min<int64_t>(table_.nr, p.cols - q);
    t.a_panel = p.a_panel;
    t.a_row = g_.a.row_stride;
    t.b_row = b_row;
    t.c = g_.c + (p.i + r) * g_.c_row + p.j + q;
    t.c_row = g_.c_row;
    t.epilogue = g_.epilogue;
    // The tile knows its own corner only, so the pointers move there; the residual shares C's row stride.
    if (t.epilogue.row_bias) t.epilogue.row_bias += p.i + r;
    if (t.epilogue.col_bias) t.epilogue.col_bias += p.j + q;
    if (t.epilogue.residual) t.epilogue.residual += (p.i + r) * g_.c_row + p.j + q;
    const float* a = p.a + r / table_.mr * p.a_panel;
    int64_t l = 0;
    // Weights come from memory, where the hardware follows a panel but not from one to the next, nor along a
    // few columns of many rows (24 x 96 over 56 x 56 pixels: 200 -> 168 us). One tile of rows asks for all of
    // the next panel; the others would only repeat that.
    const bool more = p.j + q + table_.nr < g_.n;
    const bool as_it_lies = !g_.packed_b && b_row != table_.nr;
    if (more && r == 0) t.b_next = g_.packed_b ? g_.k * table_.nr : as_it_lies ? table_.nr : 0;
    do {  // at least once, so that k = 0 still writes the epilogue of zero
      t.k = std::min(blocks_.inner, p.depth - l);
      t.a = a + l * (p.a_panel ? table_.mr : 1);
      t.b = b + l * t.b_row;
      t.first = p.k0 + l == 0;
      t.last = p.k0 + l + t.k >= g_.k;
      table_.block(t);
      l += t.k;
    } while (l < p.depth);
  }

  // Packing a panel costs a pass over it, which two tiles of rows do not earn back.
  bool reads_b_in_place(int64_t rows) const { return g_.b.col_stride == 1 && rows <= 2 * table_.mr; }
  bool packs_b(int64_t rows, int64_t depth) const {
    if (depth == 0 || g_.packed_b) return false;
    return g_.panels.fill ? g_.panels.together : !reads_b_in_place(rows);
  }

  const float* panel(int64_t rows, int64_t k0, int64_t depth, int64_t j, int64_t cols, float* buffer,
                     int64_t& row_stride) {
    row_stride = table_.nr;
    if (depth == 0) return kNothing;
    if (g_.packed_b) return g_.packed_b + j * g_.k + k0 * table_.nr;
    // Convolutions make their columns here, panel by panel: the whole matrix of columns would be kh * kw
    // times the input and would leave the cache before it is read.
    if (g_.panels.fill) {
      g_.panels.fill(g_.panels.object, k0, depth, j, cols, buffer);
      return buffer;
    }
    const float* b = g_.b.data + k0 * g_.b.row_stride + j * g_.b.col_stride;
    if (cols == table_.nr && reads_b_in_place(rows)) {
      row_stride = g_.b.row_stride;
      return b;
    }
    table_.pack_b(b, g_.b.row_stride, g_.b.col_stride, depth, cols, 0, buffer);
    return buffer;
  }

  const GemmTable& table_;
  const Gemm& g_;
  Blocking blocks_;
  float* a_buffer_;
  float* b_buffer_;
  bool plain_;
};
}  // namespace

int64_t packed_a_elements(const GemmTable& t, int64_t m, int64_t k) { return round_up(m, t.mr) * k; }
int64_t packed_b_elements(const GemmTable& t, int64_t n, int64_t k) { return round_up(n, t.nr) * k; }

void pack_b_rows(const GemmTable& t, const Matrix& b, int64_t k0, int64_t k1, int64_t k, int64_t n,
                 float* out) {
  t.pack_b(b.data + k0 * b.row_stride, b.row_stride, b.col_stride, k1 - k0, n, k * t.nr, out + k0 * t.nr);
}

void pack_whole_b(const GemmTable& t, const Matrix& b, int64_t k, int64_t n, float* out) {
  pack_b_rows(t, b, 0, k, k, n, out);
}

int64_t gemm_workspace_bytes(const GemmTable& t, int64_t m, int64_t, int64_t k, bool a_packed,
                             bool b_packed) {
  if (m == 0) return 0;  // an empty batch: there are no rows to divide into blocks
  return workspace_bytes(t, blocking_for(t, m, k), a_packed, b_packed);
}

void run_gemm(const GemmTable& t, const Gemm& g, int threads, std::byte* workspace) {
  if (g.m == 0 || g.n == 0) return;
  // Once for everybody: its divisions, asked for five times, were a fifth of a small recurrent network's run.
  const Blocking blocks = blocking_for(t, g.m, g.k);
  const int64_t bytes = workspace_bytes(t, blocks, g.packed_a != nullptr, g.packed_b != nullptr);
  const int64_t row_panels = ceil_div(g.m, t.mr);
  const int64_t col_panels = ceil_div(g.n, t.nr);
  // Splitting rows repeats the work on B panels, splitting columns that on A panels: split what is
  // ready-made, as long as it gives every thread enough panels that a share more or less does not show.
  const bool by_rows =
      g.packed_b ? row_panels >= 4 * threads : col_panels < 2 * threads && row_panels > col_panels;
  // Rows that are not packed yet may be cut anywhere: two threads share 128 rows as 64 and 64, not as five
  // panels of 14 and what is left, 58, which the first one keeps waiting for (197 rows: 112 and 85).
  const int64_t width = !by_rows ? t.nr : g.packed_a ? t.mr : 1;
  const int64_t panels = ceil_div(by_rows ? g.m : g.n, width);
  const int64_t shares = std::min<int64_t>(threads, by_rows ? row_panels : col_panels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    Worker worker(t, g, blocks, workspace ? workspace + share * bytes : nullptr);
    const int64_t from = panels * share / shares * width;
    const int64_t to = panels * (share + 1) / shares * width;
    if (by_rows)
      worker.run(from, std::min(to, g.m), 0, g.n);
    else
      worker.run(0, g.m, from, std::min(to, g.n));
  });
}

}  // namespace walle::kernels
