#include "base/detected_cpu.h"

#include <unistd.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace walle::base {

namespace {
#if defined(__x86_64__)
constexpr bool bit(uint64_t word, int n) { return word >> n & 1; }

// What the system saves when it switches between threads; only where CPUID says that it may be asked.
uint64_t saved_registers() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | static_cast<uint64_t>(high) << 32;
}

struct Cpuid {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

// Zeros where the processor has no such leaf.
Cpuid cpuid(uint32_t leaf, uint32_t part = 0) {
  Cpuid r;
  __get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// By Intel's manual, volume 2A, CPUID. Not by __builtin_cpu_supports: compilers of different age know
// different names, and zig's run-time library has nothing behind them. Instructions on wide registers stand
// on the system's leave to use these; without it they would fault.
Capabilities x86_capabilities() {
  using enum Capability;
  const Cpuid first = cpuid(1), more = cpuid(7), last = cpuid(7, 1);
  const uint64_t saved = bit(first.c, 27) ? saved_registers() : 0;
  const auto saves = [&](uint64_t states) { return (saved & states) == states; };
  const bool wide = saves(0x06) && bit(first.c, 28);  // SSE's and AVX's registers, and AVX itself
  const bool wider = wide && saves(0xe0);  // masks, and what AVX-512 adds to both kinds of registers
  const bool tiles = saves(3 << 17) && bit(more.d, 24);  // their shapes and themselves
  Capabilities has;
  const auto add = [&](Capability c, bool there) {
    if (there) has = has | Capabilities{c};
  };
  add(sse4, bit(first.c, 20));
  add(avx2, wide && bit(more.b, 5));
  add(fma, wide && bit(first.c, 12));
  add(f16c, has.has(avx2) && bit(first.c, 29));
  add(avx_vnni, has.has(avx2) && bit(last.a, 4));
  add(avx512f, has.has({avx2, fma}) && wider && bit(more.b, 16));
  if (has.has(avx512f)) {
    add(avx512bw, bit(more.b, 30));
    add(avx512dq, bit(more.b, 17));
    add(avx512vl, bit(more.b, 31));
    add(avx512_vnni, bit(more.c, 11));
    add(avx512_bf16, bit(last.a, 5));
    add(avx512_vbmi, bit(more.c, 1));
    add(avx512_fp16, has.has(avx512bw) && bit(more.d, 23));
  }
  add(amx_bf16, tiles && bit(more.d, 22));
  add(amx_int8, tiles && bit(more.d, 25));
  return has;
}
#endif

[[maybe_unused]] int64_t cache_size(int name, int64_t fallback) {
  const long bytes = ::sysconf(name);
  // 0 in many containers and virtual machines, -1 where the name is unknown.
  return bytes > 0 ? bytes : fallback;
}

CpuFeatures detect() {
#if defined(__aarch64__) && defined(__linux__)
  // sysconf gives 0 for every cache here.
  return features_of_cores(arm_capabilities(::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)), detected_cores());
#else
  CpuFeatures f;
#if defined(__x86_64__)
  f.has = x86_capabilities();
#elif defined(__aarch64__)
  f.has = {Capability::neon};
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  f.l1_bytes = cache_size(_SC_LEVEL1_DCACHE_SIZE, f.l1_bytes);
  f.l2_bytes = cache_size(_SC_LEVEL2_CACHE_SIZE, f.l2_bytes);
#endif
  f.outer_bytes = outer_share(f.l2_bytes);
  return f;
#endif
}
}  // namespace

Capabilities arm_capabilities(uint64_t hwcap, uint64_t hwcap2) {
  using enum Capability;
  // Linux's arch/arm64/include/uapi/asm/hwcap.h, whose numbers never change: written out, because headers of
  // other machines and of older systems lack them.
  struct Bits {
    Capability capability;
    uint64_t hwcap, hwcap2;
  };
  constexpr uint64_t one = 1;
  constexpr Bits kBits[] = {{neon, one << 1, 0},              // ASIMD
                            {dot, one << 20, 0},              // ASIMDDP
                            {fp16, one << 9 | one << 10, 0},  // FPHP and ASIMDHP
                            {bf16, 0, one << 14},
                            {i8mm, 0, one << 13},
                            {sve, one << 22, 0}};
  Capabilities has;
  for (const Bits& b : kBits)
    if ((hwcap & b.hwcap) == b.hwcap && (hwcap2 & b.hwcap2) == b.hwcap2)
      has = has | Capabilities{b.capability};
  return has;
}

CpuFeatures features_of_cores(Capabilities has, std::span<const CoreKind> kinds) {
  CpuFeatures f{.has = has};
  if (!kinds.empty()) {
    const CoreKind& fastest = kinds.front();
    if (fastest.l1_bytes > 0) f.l1_bytes = fastest.l1_bytes;
    if (fastest.l2_bytes > 0) f.l2_bytes = std::max(fastest.l2_bytes, f.l1_bytes);
  }
  f.outer_bytes = outer_share(f.l2_bytes);
  if (!kinds.empty() && kinds.front().outer_bytes > 0)
    f.outer_bytes = std::max(std::min(f.outer_bytes, kinds.front().outer_bytes), f.l2_bytes);
  return f;
}

const CpuFeatures& detected_cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

const std::vector<CoreKind>& detected_cores() {
  static const std::vector<CoreKind> cores = core_kinds(Env::system());
  return cores;
}

}  // namespace walle::base
