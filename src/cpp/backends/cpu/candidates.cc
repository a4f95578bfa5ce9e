// Predicted costs of the CPU's kernels, until the search has tables measured on the device. A flop at 1
// GFLOP/s takes 1e-6 ms, and a byte at 1 GB/s as long.
#include <algorithm>

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
constexpr double kGigabytes = 10;  // per second: what one core streams from the shared cache
constexpr double kStartMs = 1e-3;  // to enter a kernel, rounded up

// For kernels that have no rival, so that only the order of magnitude counts: scalar loops, of which a core
// does about one operation per ns and reads some 5 GB/s.
constexpr double kPlainGflops = 1;
constexpr double kPlainGigabytes = 5;
}  // namespace

Candidate single_candidate(const NodeView& node, std::string algorithm, int threads) {
  const ir::Cost cost = node.cost();
  Candidate c;
  c.algorithm = std::move(algorithm);
  // Added and not the larger of both: a scalar loop does not compute while it waits for memory.
  c.cost_ms = (cost.flops / (kPlainGflops * 1e6) + cost.bytes / (kPlainGigabytes * 1e6)) / threads + kStartMs;
  return c;
}

Candidate rated_candidate(const NodeView& node, std::string algorithm, double gflops, int threads,
                          int choice) {
  return rated_candidate(node, std::move(algorithm), node.cost().flops, gflops, threads, choice);
}

Candidate rated_candidate(const NodeView& node, std::string algorithm, double flops, double gflops,
                          int threads, int choice) {
  Candidate c;
  c.algorithm = std::move(algorithm);
  // Vector kernels prefetch: whichever takes longer hides the other.
  c.cost_ms = std::max(flops / (gflops * 1e6), node.cost().bytes / (kGigabytes * 1e6)) / threads + kStartMs;
  c.choice = choice;
  return c;
}

std::optional<kernels::Isa> float_isa(const NodeView& node) {
  if (node.dtype(0) != DType::float32) return std::nullopt;  // the other dtypes have reference kernels alone
  const auto isa = kernels::select_isa();
  return isa.ok() ? std::optional(*isa) : std::nullopt;
}

}  // namespace walle::backends::cpu
