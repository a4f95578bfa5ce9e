// Constants that a model stores in 16 bits and computes with in float32: they stay in 16 bits, in files and
// in memory, behind Casts that are folded by name only (Tensor::widened_late), and behind movement of such.
//
// Nothing that reads a constant need know: float32 is what it has, and data() is float32. What does know are
// kernels that widen while they read, and packers.
#pragma once

#include <functional>

#include "ops/program.h"

namespace walle::ops {

// Weights, not the numbers beside them: what is smaller is read in float32 by everybody.
inline constexpr int64_t kLeastStoredHalves = 1024;

bool is_stored_half(const Tensor& constant);

// Whether a node whose inputs are constants gives one that stays in 16 bits.
bool stays_half(const Program& program, const ProgramNode& node);

// The result of such a node, a program of its own; `compute` moves what is moved, in 16 bits.
Result<Tensor> fold_half(const Program& one_node,
                         const std::function<Result<std::vector<Tensor>>(const Program&)>& compute);

}  // namespace walle::ops
