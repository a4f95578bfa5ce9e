// MaxPool and AveragePool on the CPU, in the canonical form of ops/atomic/max_pool.cc and average_pool.cc.
//
// The vector kernel pools one line of a result after the other, from the planes that depthwise
// convolutions read too. Codes of 8 bits have a kernel of their own.
#include "kernels/pool/pool.h"
#include "backends/cpu/cpu_op.h"
#include "backends/cpu/pool_shape.h"
#include "kernels/pool/pool_codes.h"
#include "kernels/pool/pool_reference.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd, kCodes };

bool supports(const NodeView& node) {
  // Other ranks are brought to this one by the operator's own rule, before a backend sees them.
  return node.shape(0).rank() == 4 && tensor::visit_numeric(node.dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "pool_reference", threads));
  if (kernels::pools_codes(pool_shape(node), node.dtype(0))) {
    Candidate codes = single_candidate(node, "pool_codes", threads);
    codes.choice = kCodes;
    codes.workspace_bytes = kernels::pool_codes_workspace_bytes(pool_shape(node), threads);
    out.push_back(std::move(codes));
  }
  const auto isa = float_isa(node);
  if (!isa || node.out_shape(0).elements() == 0) return;  // planes and tiles are made of at least one element
  const kernels::PoolShape shape = pool_shape(node);
  Candidate simd = vector_candidate(node, "pool_f32_lines", *isa, threads, kSimd);
  simd.features[Quantity::tiles] = static_cast<double>(shape.channels * shape.oh);
  simd.workspace_bytes = kernels::pool_workspace_bytes(kernels::make_pool(shape, *isa), threads);
  out.push_back(std::move(simd));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  const kernels::PoolShape shape = pool_shape(node);
  if (candidate.choice == kSimd) {
    WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
    auto pool = std::make_shared<const kernels::Pool>(kernels::make_pool(shape, isa));
    return make_kernel([pool](const HostArgs& a) -> Status {
      kernels::run_pool(*pool, a.input<float>(0), a.output<float>(0), a.threads, a.workspace);
      return {};
    });
  }
  if (candidate.choice == kCodes)
    return make_kernel([shape, dtype = node.dtype(0)](const HostArgs& a) -> Status {
      kernels::run_pool_codes(shape, dtype, a.input<void>(0), a.output<void>(0), a.threads, a.workspace);
      return {};
    });
  std::unique_ptr<Kernel> kernel;
  tensor::visit_numeric(node.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = make_kernel([shape](const HostArgs& a) -> Status {
      kernels::pool_reference(shape, a.input<T>(0), a.output<T>(0), a.threads);
      return {};
    });
  });
  return kernel;
}
}  // namespace

extern const CpuOp kMaxPoolCpu{
    .op = "MaxPool", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kAveragePoolCpu{
    .op = "AveragePool", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
