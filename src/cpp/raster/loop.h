// LoopSpec: the second movement atom. One small copy (or combine) repeated, where an index tensor says which
// slice of the source or destination each round touches: gather, scatter, embedding look-ups.
#pragma once

#include "raster/region.h"

namespace walle::raster {

enum class Combine : uint8_t { assign, add, mul, min, max };

// One component of an index tuple. Valid values are [-bound, bound); negatives count from the end.
struct LoopIndex {
  int64_t stride = 0;  // elements per index unit
  int64_t bound = 0;
};

struct LoopSpec {
  // The rounds: a box walked in row-major order, so that batch axes need no index arithmetic.
  int rank = 0;
  Axes size{};
  Axes src_step{};  // added to the source offset per step of each axis
  Axes dst_step{};
  Region body;                   // of round 0; source 0 = data
  std::vector<LoopIndex> index;  // round i reads index.size() consecutive entries at i * index.size()
  bool index_on_dst = false;     // scatter: the index moves the destination instead of the source
  Combine combine = Combine::assign;
  bool base = false;  // operand 2 (scatter's data) is copied to the destination before the rounds

  int64_t count() const;
  std::string text() const;
};

// Every address that valid indices can reach lies inside the buffers.
Status check(const LoopSpec& spec, int64_t src_elements, int64_t index_elements, int64_t dst_elements);

// Operands: 0 data (gather) or updates (scatter), 1 indices (int32 or int64), 2 base when spec.base.
// A model error names the first index out of bounds.
Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype,
                          const void* indices, const void* base, void* dst, int64_t dst_elements);

}  // namespace walle::raster
