// The k greatest (or least) elements along the middle axis
// of [outer, axis, inner], in order, with their positions.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace walle::kernels {

struct TopK {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t k = 1;  // <= axis
  bool largest = true;
};

int64_t top_k_scratch_bytes(const TopK& spec, DType dtype);

// Equal elements come in order of position; NaN counts as greater than every number. Either result may be
// nullptr. `scratch`: so many bytes, where int64 may lie.
void run_top_k(const TopK& spec, DType dtype, const void* x, void* values, int64_t* indices,
               std::byte* scratch);

}  // namespace walle::kernels
