// The product of two 8-bit matrices in int32, exact: C = (A - zero points)(B - zero points).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/gemm_int8/int8_table.h"
#include "kernels/isa.h"

namespace walle::kernels {

// Of each set, and of what stands beside them; the best one last.
std::span<const Variant<Int8Table>> int8_forms();
// By tiles of 16 rows; nullptr where there are none.
const Variant<Int8Table>* int8_amx_form(base::Capabilities usable);
// The best one within what may be used.
const Variant<Int8Table>& int8_form(base::Capabilities usable);

struct Int8Gemm {
  int64_t m = 0, n = 0, k = 0;
  Int8Matrix a{};
  // One of: packed_b (int8_packed_b_words), or b.
  const uint32_t* packed_b = nullptr;
  Int8Matrix b{};
  int32_t* c = nullptr;
  int64_t c_row = 0;
};

int64_t int8_packed_b_words(const Int8Table& table, int64_t n, int64_t k);
void pack_int8_b(const Int8Table& table, const Int8Matrix& b, int64_t k, int64_t n, uint32_t* out);

// For the whole product, on as many threads.
int64_t int8_workspace_bytes(const Int8Table& table, int64_t m, int64_t n, int64_t k, bool b_packed,
                             int threads);

// `workspace` holds int8_workspace_bytes, 64-byte aligned.
void run_int8_gemm(const Int8Table& table, const Int8Gemm& gemm, int threads, std::byte* workspace);

}  // namespace walle::kernels
