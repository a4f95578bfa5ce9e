// What the indexed operators share: index dtypes and bounds,
// the reduction attribute, loops over combining dtypes.
#pragma once

#include "ops/lower.h"

namespace walle::ops {

Status check_index_dtype(const ir::InferContext& c, int input);

// index in [-bound, bound) to [0, bound); `position` goes into the message.
Result<int64_t> checked_index(int64_t index, int64_t bound, int64_t position);

// Attribute reduction: none, add, mul, min, max.
Result<raster::Combine> combine_of(const ir::Attributes& attrs);

// A scatter loop of updates and indices onto data. 16-bit floats are combined in float32.
Ref scatter_loop(LowerContext& c, raster::LoopSpec loop, Ref data, Ref indices, Ref updates);

}  // namespace walle::ops
