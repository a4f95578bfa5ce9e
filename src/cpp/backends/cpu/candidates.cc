// Predicted costs of the CPU's kernels, until the search has tables measured on the device.
#include <algorithm>

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
constexpr double kGigabytes = 10;  // what one core streams from the shared cache
constexpr double kStartMs = 1e-3;
}  // namespace

Candidate single_candidate(const NodeView& node, std::string algorithm, int threads) {
  // Untuned first figures for kernels that have no rival: 1 GFLOP/s and 5 GB/s per thread, 1 us to start.
  const ir::Cost cost = node.cost();
  Candidate c;
  c.algorithm = std::move(algorithm);
  c.cost_ms = (cost.flops / 1e6 + cost.bytes / 5e6) / threads + kStartMs;
  return c;
}

Candidate rated_candidate(const NodeView& node, std::string algorithm, double gflops, int threads,
                          int choice) {
  const ir::Cost cost = node.cost();
  Candidate c;
  c.algorithm = std::move(algorithm);
  c.cost_ms = std::max(cost.flops / (gflops * 1e6), cost.bytes / (kGigabytes * 1e6)) / threads + kStartMs;
  c.choice = choice;
  return c;
}

std::optional<kernels::Isa> float_isa(const NodeView& node) {
  if (node.dtype(0) != DType::float32) return std::nullopt;
  const auto isa = kernels::select_isa();
  return isa.ok() ? std::optional(*isa) : std::nullopt;
}

}  // namespace walle::backends::cpu
