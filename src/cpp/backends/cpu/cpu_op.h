// CpuOp: how the CPU backend runs one operator. One file per operator family in backends/cpu; listed in
// cpu_ops.inc.
#pragma once

#include <optional>
#include <string_view>

#include "backends/host_memory.h"
#include "kernels/isa.h"

namespace walle::backends::cpu {

struct CpuOp {
  std::string_view op;  // operator name, or a family name ("Unary") for all its kinds
  // False: this dtype or attribute combination has no kernel here (16-bit floats are then computed through
  // float32).
  bool (*supports)(const NodeView&) = nullptr;
  void (*candidates)(const NodeView&, int threads, std::vector<Candidate>&) = nullptr;
  Result<std::unique_ptr<Kernel>> (*prepare)(const NodeView&, const Candidate&, PrepareContext&) = nullptr;
};

// The one candidate of operators with a single kernel: predicted from the op's bytes and flops.
Candidate single_candidate(const NodeView& node, std::string algorithm, int threads = 1);

// One of several: the op's flops at `gflops` per thread or its bytes at memory speed, whichever takes longer.
// `choice` comes back in prepare().
Candidate rated_candidate(const NodeView& node, std::string algorithm, double gflops, int threads,
                          int choice);

// The same of a kernel that knows its own work.
Candidate rated_candidate(const NodeView& node, std::string algorithm, double flops, double gflops,
                          int threads, int choice);

// The instruction set of float32 vector kernels; nothing for other dtypes.
std::optional<kernels::Isa> float_isa(const NodeView& node);

// Packed weights: a block of the host's memory as floats.
inline Result<Block> allocate_floats(int64_t count) {
  return Block::allocate(host_memory(), count * static_cast<int64_t>(sizeof(float)));
}
inline float* floats_of(const Block& block) {
  return reinterpret_cast<float*>(host_memory().pointer(block.handle()));
}

}  // namespace walle::backends::cpu
