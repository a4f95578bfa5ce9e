#include "base/detected_cpu.h"

#include <unistd.h>

namespace walle::base {

namespace {
int64_t cache_size(int name, int64_t fallback) {
  const long bytes = ::sysconf(name);
  // 0 in many containers and virtual machines, -1 where the name is unknown.
  return bytes > 0 ? bytes : fallback;
}

CpuFeatures detect() {
  CpuFeatures f;
#if defined(__x86_64__)
  __builtin_cpu_init();
  f.sse4 = __builtin_cpu_supports("sse4.2");
  // The builtins also ask XGETBV: without the system's leave to use the wide registers the instructions would
  // fault.
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  f.avx512_vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
  f.avx512_bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
#elif defined(__aarch64__)
  f.neon = true;
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  f.l1_bytes = cache_size(_SC_LEVEL1_DCACHE_SIZE, f.l1_bytes);
  f.l2_bytes = cache_size(_SC_LEVEL2_CACHE_SIZE, f.l2_bytes);
#endif
  f.outer_bytes = outer_share(f.l2_bytes);
  return f;
}
}  // namespace

const CpuFeatures& detected_cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace walle::base
