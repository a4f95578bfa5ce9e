// Maxima of 8-bit codes over two axes, windows without dilation: what networks of int8 pool.
#pragma once

#include <cstddef>

#include "kernels/pool/pool.h"
#include "tensor/dtype.h"

namespace walle::kernels {

// Whether it is for this window and dtype: int8 or uint8.
bool pools_codes(const PoolShape& shape, DType dtype);
int64_t pool_codes_workspace_bytes(const PoolShape& shape, int threads);

// The definition's results (pool_reference.h). Precondition: pools_codes(); x, y are dense.
void run_pool_codes(const PoolShape& shape, DType dtype, const void* x, void* y, int threads,
                    std::byte* workspace);

}  // namespace walle::kernels
