// The stage "codes": layers of a quantised graph become operators on codes (ops/passes/fuse_codes.h), and
// dequantised constants that none of them took become constants.
#pragma once

#include "ops/program.h"
#include "runtime/shape_questions.h"
#include "runtime/shared_state.h"

namespace walle::runtime {

Status join_codes(ops::Program& program, const SharedState& shared, ShapeQuestions& questions);

}  // namespace walle::runtime
