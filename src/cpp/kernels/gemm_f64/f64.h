// The product of two float64 matrices, C = A B, all dense row-major.
//
// Register tiles over panels of B that are copied as they are needed, a part of the depth at a time. Without
// the packed A, packed weights and epilogues of kernels/gemm: what computes in float64 is preparation and
// statistics, not networks.
#pragma once

#include <cstddef>

#include "kernels/gemm_f64/f64_table.h"
#include "kernels/isa.h"

namespace walle::kernels {

const F64Table& f64_table(Isa isa);

// `workspace` of run_f64_gemm, 64-byte aligned.
int64_t f64_workspace_bytes(const F64Table& table, int64_t k, int threads);
void run_f64_gemm(const F64Table& table, int64_t m, int64_t n, int64_t k, const double* a, const double* b,
                  double* c, int threads, std::byte* workspace);

}  // namespace walle::kernels
