// The definitions of raster and loop, executable: element by element, in the plainest order. Kernels, merges
// and backends are tested against these; nothing that runs a model calls them, so they may be slow and must
// be obvious.
#pragma once

#include "raster/loop.h"

namespace walle::raster {

// Precondition: check() passed. Accumulation needs a numeric dtype.
Status copy_reference(const Raster& raster, DType dtype, const void* const* sources, void* dst,
                      int64_t dst_elements);

// Operands: 0 data (gather) or updates (scatter), 1 indices (int32 or int64), 2 base when spec.base.
// A model error names the first index out of bounds.
Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype,
                          const void* indices, const void* base, void* dst, int64_t dst_elements);

}  // namespace walle::raster
