// Recognises Gelu spelled out with Erf.
#pragma once

#include "ops/program.h"

namespace walle::ops {

// x * 0.5 * (1 + Erf(x / sqrt 2)), in any order of the factors, becomes Gelu(x). float32 only.
Status fuse_gelu(Program& program);

}  // namespace walle::ops
