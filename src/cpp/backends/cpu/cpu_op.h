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

// A candidate of a kernel that is compiled once: the operator's flops, its operands by the level of memory
// they come from, one call. `kernel` is static text and names the algorithm too.
Candidate single_candidate(const NodeView& node, std::string_view kernel, int threads = 1);

// The same of a kernel that does what the definition says.
Candidate reference_candidate(const NodeView& node, std::string_view kernel, int threads = 1);

// The same of a kernel that is compiled per instruction set; `detail` stands in the algorithm's name between
// the kernel's and the set's. `choice` comes back in prepare().
Candidate vector_candidate(const NodeView& node, std::string_view kernel, kernels::Isa isa, int threads,
                           int choice, std::string_view detail = "");

// The same of a form beside the sets (kernels/variants.h), by its name.
Candidate variant_candidate(const NodeView& node, std::string_view kernel, std::string_view form, int threads,
                            int choice, std::string_view detail = "");

// What an activation that was folded into the node adds to the flops of each of its candidates.
double folded_flops(const NodeView& node);

// The quantity that counts bytes of a working set of this size: what is used again within one run stays in
// the smallest cache that holds it.
Quantity level_of(double bytes);

// The instruction set of float32 vector kernels; nothing for other dtypes.
std::optional<kernels::Isa> float_isa(const NodeView& node);

// Of a kernel: it has packed its weights, input 1, and does not look at them again.
inline constexpr uint32_t kPackedWeights = 0b10;

// Packed weights: a block of the host's memory as floats.
inline Result<Block> allocate_floats(int64_t count) {
  return Block::allocate(host_memory(), count * static_cast<int64_t>(sizeof(float)));
}
inline float* floats_of(const Block& block) {
  return reinterpret_cast<float*>(host_memory().pointer(block.handle()));
}

}  // namespace walle::backends::cpu
