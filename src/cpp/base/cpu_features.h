// What this processor can do, asked once: instruction sets the operating system also saves, and cache sizes.
#pragma once

#include <cstdint>

namespace walle::base {

struct CpuFeatures {
  bool sse4 = false;  // SSE4.2
  // AVX2 and FMA. Kernels of this set also use F16C, which is not asked for: no processor is known that has
  // the other two without it.
  bool avx2 = false;
  bool avx512 = false;  // F, BW, DQ and VL together: what the server cores since Skylake have in common
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool neon = false;
  // Data, of one core. Modest guesses where the system does not say: blocks made for a smaller cache fit a
  // larger one, and not the other way round.
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
};

// Immutable after the first call; thread-safe.
const CpuFeatures& cpu_features();

}  // namespace walle::base
