// What one core computes at most in float32: independent multiply-adds in registers, nothing read or written.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace walle::bench {
namespace {

constexpr int64_t kSteps = 200'000;
constexpr int kRounds = 40;
constexpr int kChains = 10;  // more than latency (4) times units (2), fewer than registers

// Each does kChains multiply-adds per step and lane; without the sum the compiler would leave them out.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) float chains_avx512() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999f);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float chains_avx2() {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999f);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}
#endif

using Four = float __attribute__((vector_size(16)));

float chains_any() {
  Four sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Four{} + static_cast<float>(i);
  const Four factor = Four{} + 0.999f;
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + factor;
  }
  for (int i = 1; i < kChains; ++i) sums[0] += sums[i];
  return sums[0][0];
}

struct Kernel {
  float (*run)();
  int lanes;
};

Kernel widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {chains_avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {chains_avx2, 8};
#endif
  return {chains_any, 4};
}

// 10^9 floating-point operations per second of the calling thread, in the best of many short rounds.
double peak_gflops() {
  const Kernel kernel = widest();
  int64_t least = std::numeric_limits<int64_t>::max();
  volatile float kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin = wall_ns();
    kept = kept + kernel.run();
    least = std::min(least, wall_ns() - begin);
  }
  return 2.0 * kernel.lanes * kChains * static_cast<double>(kSteps) / static_cast<double>(least);
}

}  // namespace

void bind_peak(pybind11::module_& m) {
  m.def("peak_gflops", &peak_gflops, pybind11::call_guard<pybind11::gil_scoped_release>());
}

}  // namespace walle::bench
