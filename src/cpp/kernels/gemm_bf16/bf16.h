// The matrix product C = f(A B + bias + residual) of operands that are rounded to bfloat16, with sums in
// float32, or to float16, with sums in chains of it: packing, cache blocks and threads around the register
// tiles.
//
// A is rounded while it is packed, by each thread for itself; B once for all runs, or panel by panel by each
// run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm_bf16/bf16_table.h"
#include "kernels/variants.h"

namespace walle::kernels {

// nullptr where the processor has no such products: float32 is faster then.
const Variant<Bf16Table>* bf16_form(base::Capabilities usable);
// The same by tiles of 16 rows, 16 times as many products at once as float32's; nullptr where there are none.
const Variant<Bf16Table>* bf16_amx_form(base::Capabilities usable);
// Of the two the one for a product of so many rows.
const Variant<Bf16Table>* bf16_form_for(base::Capabilities usable, int64_t rows);
const Variant<Bf16Table>* fp16_form(base::Capabilities usable);

struct Bf16Gemm {
  int64_t m = 0, n = 0, k = 0;
  Matrix a{};
  // One of: packed_b (bf16_packed_b_words), or b.
  const uint32_t* packed_b = nullptr;
  Matrix b{};
  float* c = nullptr;
  int64_t c_row = 0;
  Epilogue epilogue{};
};

int64_t bf16_packed_b_words(const Bf16Table& table, int64_t n, int64_t k);
// Rows [k0, k1) of B into their places, k0 even, and k1 unless it is k; all rows make a packed B.
void pack_bf16_b_rows(const Bf16Table& table, const Matrix& b, int64_t k0, int64_t k1, int64_t k, int64_t n,
                      uint32_t* out);

// For the whole product, on as many threads.
int64_t bf16_workspace_bytes(const Bf16Table& table, int64_t m, int64_t n, int64_t k, bool b_packed,
                             int threads);

// `workspace` holds bf16_workspace_bytes, 64-byte aligned.
void run_bf16_gemm(const Bf16Table& table, const Bf16Gemm& gemm, int threads, std::byte* workspace);

}  // namespace walle::kernels
