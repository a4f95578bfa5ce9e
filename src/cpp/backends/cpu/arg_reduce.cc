// ArgMax and ArgMin on the CPU: one pass on one thread for every dtype and axis, and for the last axis of
// float32 the row's extreme in vectors, then its place.
#include "backends/cpu/cpu_op.h"
#include "kernels/parallel.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rows.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // Booleans are no numbers to visit_numeric(), but false < true: LabelEncoder looks for the first true.
  return node.dtype(0) == DType::boolean || tensor::visit_numeric(node.dtype(0), [](auto) {});
}

enum Choice { kReference, kRows };

Result<kernels::ArgReduce> spec_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", 0), x.rank()));
  return kernels::ArgReduce{.outer = x.product(0, axis),
                            .axis = x[axis],
                            .inner = x.product(axis + 1, x.rank()),
                            .greatest = node.op().name == "ArgMax",
                            .last_index = node.attrs().get_int("select_last_index", 0) != 0};
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "arg_reduce_reference", threads));
  const auto isa = float_isa(node);
  const auto spec = spec_of(node);
  if (!isa || !spec.ok() || spec->inner != 1 || spec->axis == 0) return;
  Candidate rows = vector_candidate(node, "arg_reduce_f32_rows", *isa, threads, kRows);
  rows.features.kernel = "reduce_f32_rows";
  rows.features[Quantity::tiles] = static_cast<double>(spec->outer);
  out.push_back(std::move(rows));
}

Result<std::unique_ptr<Kernel>> rows_kernel(const kernels::ArgReduce& spec) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([spec, &table = kernels::reduce_table(isa)](const HostArgs& a) -> Status {
    kernels::parallel_ranges(spec.outer, kernels::items_of(kernels::kVectorGrain, spec.axis), a.threads,
                             [&](int64_t begin, int64_t end) {
                               kernels::run_arg_rows(table, spec, a.input<float>(0), a.output<int64_t>(0),
                                                     begin, end);
                             });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  WALLE_ASSIGN(const kernels::ArgReduce spec, spec_of(node));
  if (candidate.choice == kRows) return rows_kernel(spec);
  return make_kernel([spec, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_arg_reduce(spec, dtype, a.input<void>(0), a.output<int64_t>(0));
    return {};
  });
}
}  // namespace

extern const CpuOp kArgReduceCpu{
    .op = "ArgReduce", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
