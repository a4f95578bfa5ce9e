// MatMul of float32 by a constant B that the model stores in float16 or bfloat16: read where it lies and
// widened on the way, whatever the number of rows. The sums are those of float32 weights, bit by bit.
//
// Nothing is packed, so that nothing is held beside the model's own bytes, which may be a mapped file's.
// Packed panels of 16 bits were considered: they read memory in one stream, which groups of panels do nearly
// as well, and would be a second copy.
#pragma once

#include "backends/cpu/cpu_op.h"
#include "backends/cpu/matmul_problem.h"
#include "kernels/gemm/gemm.h"

namespace walle::backends::cpu {

// False of one row by few weights, which are faster packed and no matter for memory.
bool multiplies_halves(const NodeView& node, const MatMulProblem& p, const kernels::GemmTable& table);

Candidate half_candidate(const NodeView& node, const MatMulProblem& p, kernels::Isa isa, int threads,
                         int choice);
Result<std::unique_ptr<Kernel>> prepare_half_product(const NodeView& node, MatMulProblem p);

}  // namespace walle::backends::cpu
