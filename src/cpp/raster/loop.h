// LoopSpec: the second movement atom. One small copy (or combine) repeated `count` times, where an index tensor says
// which slice of the source or destination each round touches: gather, scatter, embedding look-ups.
#pragma once

#include "raster/region.h"

namespace walle::raster {

enum class Combine : uint8_t { assign, add, mul, min, max };

struct LoopSpec {
  int64_t count = 0;
  Region body;                // source 0 = data; offsets are those of round 0
  int64_t src_step = 0;       // added to the source offset each round
  int64_t dst_step = 0;       // added to the destination offset each round
  bool index_on_dst = false;  // scatter: the index moves the destination instead of the source
  int64_t index_stride = 0;   // elements per index unit
  int64_t index_bound = 0;    // valid indices are [-bound, bound); negatives count from the end
  Combine combine = Combine::assign;
  bool base = false;          // operand 2 (scatter's data) is copied to the destination before the rounds
};

// Operands: 0 data (gather) or updates (scatter), 1 indices (int32 or int64, `count` of them), 2 base when spec.base.
// A model error names the first index out of bounds.
Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype, const void* indices,
                          const void* base, void* dst, int64_t dst_elements);

}  // namespace walle::raster
