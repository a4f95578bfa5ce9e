// QLinearAdd, QLinearMul, QLinearGlobalAveragePool and CodeLookup over rows, claimed whole: one pass over the
// codes.
#include "backends/cpu/codes_arithmetic.h"
#include "kernels/parallel.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return codes_binary(node) && node.shape(0) == node.out_shape(0) && node.shape(3) == node.out_shape(0);
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (isa.ok()) out.push_back(vector_candidate(node, "codes_binary", *isa, threads, 0));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return codes_binary_kernel(node, host_memory(), node.out_shape(0).elements());
}

bool supports_lookup(const NodeView& node) { return is_code(node.dtype(0)) && node.constant(1); }

void lookup_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (const auto set = codes_lookup_set(); set.ok())
    out.push_back(variant_candidate(node, "codes_lookup", *set, threads, 0));
}

Result<std::unique_ptr<Kernel>> prepare_lookup(const NodeView& node, const Candidate&, PrepareContext&) {
  return codes_lookup_kernel(node, host_memory(), node.out_shape(0).elements());
}
bool supports_mean(const NodeView& node) { return codes_mean_of(node).has_value(); }

void mean_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = single_candidate(node, "codes_mean_rows", threads);
  c.features[Quantity::tiles] = static_cast<double>(node.out_shape(0).elements());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_mean(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  return make_kernel([op = *codes_mean_of(node),
                      shape = kernels::BlockedShape{x[0], x[1], x[2] * x[3]}](const HostArgs& a) -> Status {
    kernels::codes_mean_of_rows(shape, op, a.input<uint8_t>(0), a.output<uint8_t>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kQLinearGlobalAveragePoolCpu{.op = "QLinearGlobalAveragePool",
                                                .supports = supports_mean,
                                                .candidates = mean_candidates,
                                                .prepare = prepare_mean};
extern const CpuOp kQLinearAddCpu{
    .op = "QLinearAdd", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kQLinearMulCpu{
    .op = "QLinearMul", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kCodeLookupCpu{.op = "CodeLookup",
                                  .supports = supports_lookup,
                                  .candidates = lookup_candidates,
                                  .prepare = prepare_lookup};

}  // namespace walle::backends::cpu
