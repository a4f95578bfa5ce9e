// f32 matrix product C = f(A B + bias + residual): packing,
// cache blocks and threads around the register tiles.
//
// Cache blocking after Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (2008), with the loop over k inside the one over B
// panels: B panels are used once per row block, so they may be made on the fly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm_table.h"
#include "kernels/isa.h"

namespace walle::kernels {

const GemmTable& gemm_table(Isa isa);

// Strides in elements. Any pair is allowed, so transposed operands and rows of wider tensors need no copy;
// unit strides have faster packing.
struct Matrix {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t col_stride = 1;
};

// Fills out[l * nr + q] for rows k0 <= l < k0 + k and columns j0 <= j0 + q < j0 + cols of B; columns up to nr
// must be written too (any finite value). Called from several threads.
struct PanelSource {
  void (*fill)(const void* object, int64_t k0, int64_t k, int64_t j0, int64_t cols, float* out) = nullptr;
  const void* object = nullptr;
  // Of a B that lies in rows: fill() also takes more than nr columns, for panels k * nr apart, so that rows
  // are read in longer pieces; and a product of few rows reads it in the order of a plain B if `streamed`.
  bool together = false;
  bool streamed = false;
  // Then also: one row of A by the columns from j0 on, as GemmTable::row does with a plain B.
  void (*row)(const void* object, int64_t j0, const GemmBlock& block) = nullptr;
};

// At most one bias is set, and everything optional is null. Never changed by run_gemm: one description serves
// every run of a plan.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  // One of: packed_a (packed_a_elements), or a.
  const float* packed_a = nullptr;
  Matrix a{};
  // One of: packed_b (packed_b_elements), panels, or b.
  const float* packed_b = nullptr;
  PanelSource panels{};
  Matrix b{};
  float* c = nullptr;
  int64_t c_row = 0;
  Epilogue epilogue{};
};

int64_t packed_a_elements(const GemmTable& table, int64_t m, int64_t k);
int64_t packed_b_elements(const GemmTable& table, int64_t n, int64_t k);
// Rows [k0, k1) of B into their places; all rows make a packed B.
void pack_b_rows(const GemmTable& table, const Matrix& b, int64_t k0, int64_t k1, int64_t k, int64_t n,
                 float* out);
void pack_whole_b(const GemmTable& table, const Matrix& b, int64_t k, int64_t n, float* out);

// Scratch for one thread of a product; the whole product needs `threads` times as much.
int64_t gemm_workspace_bytes(const GemmTable& table, int64_t m, int64_t n, int64_t k, bool a_packed,
                             bool b_packed);

// On at most `threads` threads; `workspace` holds threads * gemm_workspace_bytes, 64-byte aligned.
void run_gemm(const GemmTable& table, const Gemm& gemm, int threads, std::byte* workspace);

}  // namespace walle::kernels
