// The k greatest (or least) elements along the middle axis
// of [outer, axis, inner], in order, with their positions.
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

struct TopK {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t k = 1;  // <= axis
  bool largest = true;
};

// Equal elements come in order of position; NaN counts as
// greater than every number. `scratch` holds `axis` int64.
void run_top_k(const TopK& spec, DType dtype, const void* x, void* values, int64_t* indices,
               int64_t* scratch);

}  // namespace walle::kernels
