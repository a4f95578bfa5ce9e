// Reductions on the CPU.
//
// Two kernels: a reference for every set of axes, dtype and kind, which walks rows that lie together or
// columns side by side, and vector rows for sums, means and extremes of float32 over the last axes, where
// global pooling and squeeze-excite have them.
#include "kernels/reduce/reduce.h"
#include "backends/cpu/cpu_op.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"
#include "ops/rules/axis.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  const auto kind = tensor::reduce_kind(node.op().name);
  // Axes are an input since opset 18. Computed ones are known when the node is planned again,
  // then as a constant.
  return kind && kernels::reduce_supports(*kind, node.dtype(0)) && (!node.has(1) || node.constant(1));
}

enum Choice { kReference, kRows };

Result<kernels::ReducePlan> plan_of(const NodeView& node) {
  std::vector<int64_t> given;
  if (node.has(1)) {
    WALLE_ASSIGN(given, node.constant(1)->to_i64());
  }
  const bool noop = node.attrs().get_int("noop_with_empty_axes", 0) != 0;
  WALLE_ASSIGN(const std::vector<int> axes, ops::reduce_axes(given, node.shape(0).rank(), noop));
  return kernels::make_reduce_plan(node.shape(0), axes);
}

// Whether the plan is [kept, reduced] or [reduced] and has elements.
bool is_rows(const kernels::ReducePlan& plan) {
  return plan.rank >= 1 && plan.rank <= 2 && plan.reduced[plan.rank - 1] && plan.kept_elements > 0 &&
         plan.reduced_elements > 0;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate plain = reference_candidate(node, "reduce_reference", threads);
  const auto plan = plan_of(node);
  const bool in_rows = plan.ok() && is_rows(*plan);
  // A row costs something however short it is: its lanes are added in halves.
  if (in_rows) plain.features[Quantity::tiles] = static_cast<double>(plan->kept_elements);
  out.push_back(std::move(plain));
  const auto kind = tensor::reduce_kind(node.op().name);
  if (kind == ReduceKind::prod) return;
  const auto isa = float_isa(node);
  if (!isa || !in_rows) return;
  Candidate rows = vector_candidate(node, "reduce_f32_rows", *isa, threads, kRows);
  rows.features[Quantity::tiles] = static_cast<double>(plan->kept_elements);
  out.push_back(std::move(rows));
}

auto rows_of(const kernels::ReduceTable& table, ReduceKind kind) {
  return kind == ReduceKind::max   ? table.row_maxima
         : kind == ReduceKind::min ? table.row_minima
                                   : table.row_sums;
}

Result<std::unique_ptr<Kernel>> rows_kernel(const kernels::ReducePlan& plan, ReduceKind kind) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  // The mean is divided by the count, as in the reference: a factor 1 / count would round twice.
  const float count = kind == ReduceKind::mean ? static_cast<float>(plan.reduced_elements) : 1.0f;
  return make_kernel([rows = plan.kept_elements, n = plan.reduced_elements, count,
                      run = rows_of(kernels::reduce_table(isa), kind)](const HostArgs& a) -> Status {
    const float* x = a.input<float>(0);
    float* y = a.output<float>(0);
    kernels::parallel_ranges(rows, kernels::items_of(kernels::kVectorGrain, n), a.threads,
                             [&](int64_t begin, int64_t end) {
                               run(x + begin * n, y + begin, end - begin, n);
                               for (int64_t i = begin; count != 1 && i < end; ++i) y[i] /= count;
                             });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  WALLE_ASSIGN(const kernels::ReducePlan plan, plan_of(node));
  const ReduceKind kind = *tensor::reduce_kind(node.op().name);
  if (candidate.choice == kRows) return rows_kernel(plan, kind);
  return make_kernel([plan, kind, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_reduce(kind, dtype, plan, a.input<void>(0), a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kReduceCpu{
    .op = "Reduce", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
