// What the candidates of most kernels count alike: the operator's flops, and its operands by the level of the
// memory they come from.
#include <algorithm>

#include "backends/cpu/cpu_op.h"
#include "base/cpu_features.h"
#include "kernels/function_work.h"

namespace walle::backends::cpu {

namespace {
void add_operands(const NodeView& node, Features& f) {
  double moved = 0;
  double constants = 0;
  const auto add = [](double& sum, const Shape& shape, DType dtype) {
    sum += static_cast<double>(shape.elements() * dtype_size(dtype));
  };
  for (int i = 0; i < node.input_count(); ++i)
    if (node.has(i)) add(node.constant(i) ? constants : moved, node.shape(i), node.dtype(i));
  for (int i = 0; i < node.output_count(); ++i)
    if (node.has_output(i)) add(moved, node.out_shape(i), node.out_dtype(i));
  f[level_of(moved)] += moved;
  // Weights come round once per run of a network, whose other layers have emptied the inner caches meanwhile.
  const bool small = level_of(constants) == Quantity::l1_bytes;
  f[small ? Quantity::l1_bytes : std::max(level_of(constants), Quantity::l3_bytes)] += constants;
}

Candidate candidate_of(const NodeView& node, std::string_view kernel, std::string_view isa, int threads) {
  Candidate c;
  c.features.kernel = kernel;
  c.features.isa = isa;
  c.features.threads = threads;
  c.features[Quantity::flop] = node.cost().flops;
  c.features[Quantity::calls] = 1;
  add_operands(node, c.features);
  return c;
}
}  // namespace

double folded_flops(const NodeView& node) {
  const auto activation = tensor::activation_from_name(node.attrs().get_string("activation", ""));
  return activation
             ? kernels::activation_flops(*activation) * static_cast<double>(node.out_shape(0).elements())
             : 0;
}

Quantity level_of(double bytes) {
  const base::CpuFeatures& cpu = base::cpu_features();
  if (bytes <= static_cast<double>(cpu.l1_bytes)) return Quantity::l1_bytes;
  if (bytes <= static_cast<double>(cpu.l2_bytes)) return Quantity::l2_bytes;
  return bytes <= static_cast<double>(cpu.outer_bytes) ? Quantity::l3_bytes : Quantity::memory_bytes;
}

Candidate single_candidate(const NodeView& node, std::string_view kernel, int threads) {
  Candidate c = candidate_of(node, kernel, "", threads);
  c.algorithm = kernel;
  return c;
}

Candidate reference_candidate(const NodeView& node, std::string_view kernel, int threads) {
  Candidate c = single_candidate(node, kernel, threads);
  c.reference = true;
  return c;
}

Candidate vector_candidate(const NodeView& node, std::string_view kernel, kernels::Isa isa, int threads,
                           int choice, std::string_view detail) {
  return variant_candidate(node, kernel, isa_name(isa), threads, choice, detail);
}

Candidate variant_candidate(const NodeView& node, std::string_view kernel, std::string_view set, int threads,
                            int choice, std::string_view detail) {
  Candidate c = candidate_of(node, kernel, set, threads);
  c.algorithm.reserve(kernel.size() + detail.size() + set.size() + 2);
  c.algorithm += kernel;
  if (!detail.empty()) c.algorithm.append("_").append(detail);
  c.algorithm.append("_").append(set);
  c.choice = choice;
  return c;
}

std::optional<kernels::Isa> float_isa(const NodeView& node) {
  if (node.dtype(0) != DType::float32) return std::nullopt;  // the other dtypes have reference kernels alone
  const auto isa = kernels::select_isa();
  return isa.ok() ? std::optional(*isa) : std::nullopt;
}

}  // namespace walle::backends::cpu
