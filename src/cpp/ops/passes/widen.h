// Computes 16-bit float nodes in float32 where the backend has no 16-bit kernel for them.
#pragma once

#include <functional>

#include "ops/program.h"

namespace walle::ops {

// Puts Casts around every node that touches float16 or bfloat16 and that `supported` refuses.
// A value that was computed in float32 only to be narrowed is read in float32 by the next
// widened node: one rounding less, one pass over memory less. Movement nodes (raster, loop)
// are never widened. Narrow results nobody reads are left to remove_dead_nodes().
Status widen_floats(Program& program,
                    const std::function<bool(const Program&, const ProgramNode&)>& supported);

}  // namespace walle::ops
