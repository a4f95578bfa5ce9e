// Attention spelled out becomes one operator, whose scores are never written to memory.
//
// Softmax(scale * Q K^T + bias) V, in every order exporters write it: the scale as a factor or divisor of the
// scores, of Q or of K; cap * tanh of them; one or two biases or additive masks of any shape that broadcasts;
// Where with a mask of booleans, outermost; Where that makes queries without any key 0. A mask that is a
// constant and shows each query the keys around it, as a causal one does, becomes a comparison. Rasters
// around it (heads taken apart and joined, key heads repeated for several query heads) are read and written
// in place where they are a matter of strides. float32 only; sizes of 0 stay as they are.
#pragma once

#include <functional>
#include <span>

#include "ops/program.h"

namespace walle::ops {

// Whether `fused` shall stand for the nodes `instead`, which nobody needs any more then. All values are the
// program's.
using WorthFusing =
    std::function<bool(const ProgramNode& fused, std::span<const ProgramNode* const> instead)>;

Status fuse_attention(Program& program, const WorthFusing& worth);

}  // namespace walle::ops
