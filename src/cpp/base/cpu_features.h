// What this processor can do, asked once: instruction sets the operating system also saves, and cache sizes.
#pragma once

#include <cstdint>

namespace walle::base {

struct CpuFeatures {
  bool sse4 = false;    // SSE4.2
  bool avx2 = false;    // AVX2, FMA and F16C together
  bool avx512 = false;  // F, BW, DQ and VL together
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool neon = false;
  int64_t l1_bytes = 32 << 10;  // data, of one core; a modest guess where the system does not say
  int64_t l2_bytes = 512 << 10;
};

// Immutable after the first call; thread-safe.
const CpuFeatures& cpu_features();

}  // namespace walle::base
