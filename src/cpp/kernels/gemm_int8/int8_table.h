// What a form of the exact 8-bit product exports. Plain data and function pointers: shared by files of
// different flags.
//
// Operands are packed as words of 32 bits, each a step of k:
// - pairs: two int16 with their zero points taken off (pmaddwd). Exact for every 8-bit operand; 8-bit
// products
//   by vpmaddubsw would be twice as fast and saturate at 32,767, which is wrong and not this engine's.
// - quads: four bytes (vpdpbusd), of A unsigned and of B signed, whatever they were before: adding 128 to an
//   element and to its zero point changes nothing. Of both signed with sdot. Zero points come in where sums
//   start: with sums over k of A's rows and B's columns,
//   sum (a - za)(b - zb) = sum a b - zb sum a - za (sum b - k zb).
// - tiles: quads, of which 16 of two times 16 rows lie together (int8_amx.h).
// - eights: two words, which usmmla multiplies of two rows and two columns at once; zero points as of quads.
// Sums wrap as int32 do, which needs k > 33,000.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/variants.h"

namespace walle::kernels {

// An 8-bit operand as it lies, and what is taken off each element. Strides in elements.
struct Int8Matrix {
  const uint8_t* data = nullptr;
  bool is_signed = false;
  int64_t row_stride = 0, col_stride = 1;
  // One for all; or where `zeros` is set one per row of A, per column of B.
  int32_t zero = 0;
  const int32_t* zeros = nullptr;
};

// A block of C (rows x cols) += A B, over `steps` words of k. A: panels of `mr` rows, word (i, s) of one at
// panel[s * mr + i]. B: one panel of nr columns, word (s, j) at b[s * nr + j]. Of eights, words (i, 2s) and
// (i, 2s + 1) lie side by side at panel[2 (s * mr + i)], and those of B alike.
struct Int8Block {
  int64_t rows = 0, cols = 0, steps = 0;
  const uint32_t* a = nullptr;
  int64_t a_panel = 0;  // words from one to the next
  const uint32_t* b = nullptr;
  int32_t* c = nullptr;
  int64_t c_row = 0;
  // C starts from zero and what zero points make of sums, instead of its present value. Where panels have
  // such sums: of the first panel of A, and of B.
  bool first = true;
  const uint32_t* a_sums = nullptr;
  const uint32_t* b_sums = nullptr;
};

struct Int8Table {
  int mr = 0, nr = 0;
  int step = 0;   // elements of k in one word
  int words = 1;  // that are multiplied together: 2 of eights, 16 of tiles; steps are a multiple
  // Words behind the steps of a panel, for each of its rows or columns: what Int8Block's sums point to.
  int sums = 0;
  void (*block)(const Int8Block& block);
  // rows x k of A to a panel of `mr` rows; k x cols of B to a panel of `nr` columns. What is not there is 0.
  void (*pack_a)(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out);
  void (*pack_b)(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out);
};

}  // namespace walle::kernels
