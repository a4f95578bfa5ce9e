// Element-wise functions before movement: f(raster(x)) is raster(f(x)) where x has a kernel that computes f
// while it stores, a float32 Conv or MatMul that nobody else reads. The epilogue pass then folds f into it,
// and the movement may merge with others behind f. So a ConvTranspose's phases get the activation behind
// their interleaving, and heads that are transposed before a Relu get it before.
//
// Before merging, which lets movement behind the function join what stood before it.
#pragma once

#include "ops/program.h"

namespace walle::ops {

Status lift_unary(Program& program);

}  // namespace walle::ops
