// Shape rules that many operators share.
#pragma once

#include "ir/infer.h"

namespace walle::ops {

Status infer_same(ir::InferContext& c);  // output 0 like input 0
// Output 0: NumPy broadcast of all inputs, which have one dtype; of that dtype, or boolean.
Status infer_broadcast(ir::InferContext& c);
Status infer_compare(ir::InferContext& c);

// All present inputs in [from, to) have the dtype of input `from`.
Status same_dtypes(const ir::InferContext& c, int from, int to);

// A model error for more axes than a tensor may have.
Status check_rank(size_t rank, const char* where);

// A tensor's shape of sizes that a file or a value gives.
Result<Shape> checked_shape(std::span<const Dim> dims, DType dtype, const char* where);

}  // namespace walle::ops
