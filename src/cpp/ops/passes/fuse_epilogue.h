// The epilogue pass: what follows a float32 Conv or MatMul element by element is folded into it.
//   scale      Mul, Div by a constant per channel (batch normalisation): into the weights;
//              a Mul in front of a Round stays
//   bias       Add, Sub of a constant per channel: into input 2
//   residual   Add of a computed value of the result's shape: input 3
//   activation what tensor/kinds/activation.inc lists, and x * Sigmoid(x): attributes "activation",
//              "activation_alpha", "activation_beta" (of a clamp: its bounds)
// in this order: y = activation(conv(x) * scale + bias + residual). A value that has other readers, or is a
// result of the program, is never folded away.
#pragma once

#include "ops/program.h"

namespace walle::ops {

struct FuseOptions {
  bool scale = true;
  bool bias = true;
  bool residual = true;
  bool activation = true;
};

Status fuse_epilogues(Program& program, const FuseOptions& options = {});

}  // namespace walle::ops
