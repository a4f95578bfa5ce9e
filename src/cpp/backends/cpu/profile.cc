#include "backends/cpu/profile.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backends/host_memory.h"
#include "base/copy.h"
#include "base/cpu_features.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm_bf16/bf16.h"

namespace walle::backends::cpu {

namespace {
constexpr int kRounds = 5;  // the least of so many: what else runs only adds

template <class Fn>
double least_ns(Fn run) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    best = i == 0 ? ns : std::min(best, ns);
  }
  return std::max(best, 1.0);
}

// A product whose operands stay in the second level: the speed of the register tiles.
double flop_ns(kernels::Isa isa) {
  constexpr int64_t kSide = 192;
  const kernels::GemmTable& table = kernels::gemm_table(isa);
  std::vector<float> a(kSide * kSide, 0.5F), c(kSide * kSide);
  auto packed = Block::allocate(
      host_memory(), kernels::packed_b_elements(table, kSide, kSide) * static_cast<int64_t>(sizeof(float)));
  auto workspace =
      Block::allocate(host_memory(), kernels::gemm_workspace_bytes(table, kSide, kSide, kSide, false, true));
  if (!packed.ok() || !workspace.ok()) return 1;  // memory is short: as a scalar machine
  auto* b = reinterpret_cast<float*>(host_memory().pointer(packed->handle()));
  kernels::pack_whole_b(table, {a.data(), kSide, 1}, kSide, kSide, b);
  kernels::Gemm g;
  g.m = g.n = g.k = kSide;
  g.a = {a.data(), kSide, 1};
  g.packed_b = b;
  g.c = c.data();
  g.c_row = kSide;
  const double ns =
      least_ns([&] { kernels::run_gemm(table, g, 1, host_memory().pointer(workspace->handle())); });
  return ns / (2.0 * kSide * kSide * kSide);
}

// The same by the form that multiplies bfloat16; 0 where the processor has none.
double bf16_flop_ns() {
  constexpr int64_t kSide = 192;
  const auto usable = kernels::usable_capabilities();
  const kernels::Variant<kernels::Bf16Table>* form = usable.ok() ? kernels::bf16_form(*usable) : nullptr;
  if (!form) return 0;
  const kernels::Bf16Table& table = *form->table;
  std::vector<float> a(kSide * kSide, 0.5F), c(kSide * kSide);
  std::vector<uint32_t> b(static_cast<size_t>(kernels::bf16_packed_b_words(table, kSide, kSide)));
  auto workspace =
      Block::allocate(host_memory(), kernels::bf16_workspace_bytes(table, kSide, kSide, kSide, true, 1));
  if (!workspace.ok()) return 0;
  kernels::Bf16Gemm g;
  g.m = g.n = g.k = kSide;
  g.a = g.b = {a.data(), kSide, 1};
  kernels::pack_bf16_b_rows(table, g.b, 0, kSide, kSide, kSide, b.data());
  g.packed_b = b.data();
  g.c = c.data();
  g.c_row = kSide;
  const double ns =
      least_ns([&] { kernels::run_bf16_gemm(table, g, 1, host_memory().pointer(workspace->handle())); });
  return ns / (2.0 * kSide * kSide * kSide);
}

// A byte read or written, copying within a working set of this size.
double byte_ns(int64_t working_set) {
  const auto half = static_cast<size_t>(working_set / 2);
  std::vector<unsigned char> from(half, 1), to(half, 2);
  // Long enough for the clock, whatever the size.
  const int64_t times = std::max<int64_t>(1, (int64_t{2} << 20) / working_set);
  volatile unsigned char seen = 0;
  const double ns = least_ns([&] {
    for (int64_t i = 0; i < times; ++i) {
      from[0] = static_cast<unsigned char>(i);
      base::copy_bytes(to.data(), from.data(), half);
      seen = to[half - 1];
    }
  });
  (void)seen;
  return ns / (2.0 * static_cast<double>(half) * static_cast<double>(times));
}

// A chain of multiplications, each of which waits for the one before.
double step_ns() {
  constexpr int kSteps = 100'000;
  volatile double start = 1.0000001;
  volatile double result = 0;
  const double ns = least_ns([&] {
    double x = start;
    const double y = start;
    for (int i = 0; i < kSteps; ++i) x *= y;
    result = x;
  });
  (void)result;
  return ns / kSteps;
}
}  // namespace

std::string processor_name() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return "";
  char maker[12];
  std::memcpy(maker, &b, 4);
  std::memcpy(maker + 4, &d, 4);
  std::memcpy(maker + 8, &c, 4);
  if (!__get_cpuid(1, &a, &b, &c, &d)) return "";
  const unsigned base = a >> 8 & 15;
  // The extended parts count where the base ones ran out (AMD64 Architecture Programmer's Manual, volume 3).
  const unsigned family = base == 15 ? base + (a >> 20 & 255) : base;
  const bool extended = base == 15 || base == 6;
  const unsigned model = (a >> 4 & 15) | (extended ? (a >> 16 & 15) << 4 : 0);
  return std::string(maker, sizeof maker) + " " + std::to_string(family) + " " + std::to_string(model);
#else
  return "";
#endif
}

std::optional<DeviceProfile> measure_profile() {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return std::nullopt;
  const base::CpuFeatures& cpu = base::cpu_features();
  DeviceProfile out;
  out.isa = isa_name(*isa);
  out.flop = flop_ns(*isa);
  out.bf16_flop = bf16_flop_ns();
  out.step = step_ns();
  // Well inside each level, and at least four times the one before.
  out.l1_byte = byte_ns(cpu.l1_bytes / 2);
  out.l2_byte = byte_ns(cpu.l2_bytes / 2);
  out.l3_byte = byte_ns(4 * cpu.l2_bytes);
  out.memory_byte = byte_ns(48 * cpu.l2_bytes);
  return out;
}

}  // namespace walle::backends::cpu
