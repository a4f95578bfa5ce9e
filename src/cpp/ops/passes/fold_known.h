// Nodes whose inputs are constants become constants: dequantised weights that no quantised layer took, and
// what was computed of them. Lowering folds all others (ops/lower.h).
#pragma once

#include <functional>

#include "ops/program.h"

namespace walle::ops {

using FoldNode = std::function<Result<std::vector<Tensor>>(const Program& one_node)>;

// Results larger than `limit_bytes` are left to run time.
Status fold_known(Program& program, const FoldNode& fold, int64_t limit_bytes);

// A node of a program with its constants, as a program of its own.
Program program_of(const Program& program, const ProgramNode& node);

}  // namespace walle::ops
