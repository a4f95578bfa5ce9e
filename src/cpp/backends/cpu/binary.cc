// Element-wise functions of two operands on the CPU, operands of different shapes read through a Broadcast.
//
// Two kernels: a reference for every kind, dtype and broadcast, and a vector one for float32 whose inner runs
// are contiguous or one repeated number, which is what biases, scales and residuals are.
#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/parallel.h"
#include "ops/rules/kinds.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd };

std::optional<BinaryKind> kind_of(const NodeView& node) {
  return ops::binary_kind(node.op().name, node.attrs());
}

bool supports(const NodeView& node) {
  const auto kind = kind_of(node);
  // Pow alone may mix dtypes in ONNX; it is lowered to Casts and Power.
  return kind && node.dtype(0) == node.dtype(1) && tensor::defined_for(*kind, node.dtype(0));
}

kernels::Broadcast plan_of(const NodeView& node) {
  const Shape operands[] = {node.shape(0), node.shape(1)};
  return kernels::make_broadcast(node.out_shape(0), operands);
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "eltwise_binary_reference", threads));
  const auto isa = float_isa(node);
  // Mod, Power and the comparisons have no vector form, and a run with gaps would be gathered
  // element by element.
  if (!isa || !kernels::binary_f32(*kind_of(node), *isa) || !kernels::simple_runs(plan_of(node))) return;
  out.push_back(vector_candidate(node, "eltwise_binary_f32", *isa, threads, kSimd));
}

Result<std::unique_ptr<Kernel>> simd_kernel(const NodeView& node) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::Broadcast plan = plan_of(node);
  const kernels::BinaryF32 run = kernels::binary_f32(*kind_of(node), isa);
  const int last = plan.rank - 1;
  return make_kernel(
      [=, x_step = plan.stride[0][last], y_step = plan.stride[1][last]](const HostArgs& a) -> Status {
        kernels::parallel_ranges(
            plan.elements, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
              kernels::for_each_run(plan, begin, end, [&](int64_t at, const auto& offset, int64_t n) {
                run(a.input<float>(0) + offset[0], x_step, a.input<float>(1) + offset[1], y_step,
                    a.output<float>(0) + at, n);
              });
            });
        return {};
      });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  if (candidate.choice == kSimd) return simd_kernel(node);
  const kernels::Broadcast plan = plan_of(node);
  return make_kernel([plan, kind = *kind_of(node), dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::parallel_ranges(plan.elements, kernels::kScalarGrain, a.threads,
                             [&](int64_t begin, int64_t end) {
                               kernels::run_binary(kind, dtype, plan, a.input<void>(0), a.input<void>(1),
                                                   a.output<void>(0), begin, end);
                             });
    return {};
  });
}
}  // namespace

extern const CpuOp kBinaryCpu{
    .op = "Binary", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
