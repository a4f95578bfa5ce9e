// Gelu spelled out with Erf becomes one operator, wherever it stands.
//
// Exporters of opsets below 20, which had no Gelu, write x * 0.5 * (1 + Erf(x / sqrt 2)): five nodes,
// each of which reads and writes the whole value. As one node it is a single pass, or none where it ends
// a Conv or MatMul (fuse_epilogue.h). A value that has other readers, or is a result of the program, is
// never folded away.
#pragma once

#include "ops/program.h"

namespace walle::ops {

// In any order of the factors, the half taken of x or of the product. float32 only.
Status fuse_gelu(Program& program);

}  // namespace walle::ops
