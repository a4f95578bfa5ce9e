// Shape rules that many operators share.
#pragma once

#include "ir/infer.h"

namespace walle::ops {

Status infer_same(ir::InferContext& c);  // output 0 like input 0
Status infer_broadcast(
    ir::InferContext& c);  // output 0: NumPy broadcast of all inputs, dtype of input 0; inputs of one dtype
Status infer_compare(ir::InferContext& c);  // the same with a boolean result

// All present inputs in [from, to) have the dtype of input `from`.
Status same_dtypes(const ir::InferContext& c, int from, int to);

}  // namespace walle::ops
