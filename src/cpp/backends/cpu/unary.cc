// Element-wise functions of one operand on the CPU.
//
// Two kernels: the C library's functions for every kind and dtype, and vector polynomials for the float32
// kinds that networks spend time in.
#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/function_work.h"
#include "kernels/parallel.h"
#include "ops/rules/kinds.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd };

std::optional<UnaryKind> kind_of(const NodeView& node) {
  return ops::unary_kind(node.op().name, node.attrs());
}

bool supports(const NodeView& node) {
  const auto kind = kind_of(node);
  return kind && tensor::defined_for(*kind, node.dtype(0));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "eltwise_unary_reference", threads));
  const auto isa = float_isa(node);
  UnaryParams params = ops::unary_params(*kind_of(node), node.attrs());
  if (!isa || !kernels::unary_f32(*kind_of(node), *isa, params)) return;
  Candidate c = vector_candidate(node, "eltwise_unary_f32", *isa, threads, kSimd);
  c.features[Quantity::flop] =
      kernels::function_flops(*kind_of(node)) * static_cast<double>(node.out_shape(0).elements());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> simd_kernel(const NodeView& node, UnaryKind kind, UnaryParams params) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::UnaryF32 run = kernels::unary_f32(kind, isa, params);
  return make_kernel([=, alpha = static_cast<float>(params.alpha), beta = static_cast<float>(params.beta),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      run(a.input<float>(0) + begin, a.output<float>(0) + begin, end - begin, alpha, beta);
    });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  const UnaryKind kind = *kind_of(node);
  const auto params = ops::unary_params(kind, node.attrs());
  if (candidate.choice == kSimd) return simd_kernel(node, kind, params);
  const DType dtype = node.dtype(0);
  const int64_t from = dtype_size(dtype);  // they differ where a number becomes a boolean (IsNaN)
  const int64_t to = dtype_size(node.out_dtype(0));
  return make_kernel([=, n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kCallGrain, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_unary(kind, dtype, params, a.input<std::byte>(0) + begin * from,
                         a.output<std::byte>(0) + begin * to, end - begin);
    });
    return {};
  });
}
}  // namespace

extern const CpuOp kUnaryCpu{
    .op = "Unary", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
