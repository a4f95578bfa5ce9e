// Softmax and LogSoftmax on the CPU.
//
// Two kernels: a reference for every axis, dtype and the logarithm, and vector rows for float32 along the
// last axis, where attention and classifiers have it.
#include "kernels/softmax/softmax.h"
#include "backends/cpu/cpu_op.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kRows };

// Elements that a thread must get: three passes over a row by vectors (maximum, exponentials and their sum,
// scaling), and the exponential alone is a dozen operations.
constexpr int64_t kSoftmaxGrain = kernels::kVectorGrain / 4;

bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

Result<kernels::Softmax> spec_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  kernels::Softmax spec;
  spec.log = node.op().name == "LogSoftmax";
  if (x.rank() > 0) {  // a scalar has no axis to name, and is one row of one element
    WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", -1), x.rank()));
    spec.outer = x.product(0, axis);
    spec.axis = x[axis];
    spec.inner = x.product(axis + 1, x.rank());
  }
  return spec;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "softmax_reference", threads));
  const auto isa = float_isa(node);
  const auto spec = spec_of(node);
  // Rows must lie together, and LogSoftmax is rare outside training. An empty axis has no maximum.
  if (!isa || !spec.ok() || spec->log || spec->inner != 1 || spec->axis == 0) return;
  Candidate rows = vector_candidate(node, "softmax_f32_rows", *isa, threads, kRows);
  rows.features[Quantity::tiles] = static_cast<double>(spec->outer);
  out.push_back(std::move(rows));
}

Result<std::unique_ptr<Kernel>> rows_kernel(const kernels::Softmax& spec) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([spec, run = kernels::softmax_table(isa).rows](const HostArgs& a) -> Status {
    kernels::parallel_ranges(spec.outer, kernels::items_of(kSoftmaxGrain, spec.axis), a.threads,
                             [&](int64_t begin, int64_t end) {
                               run(a.input<float>(0) + begin * spec.axis,
                                   a.output<float>(0) + begin * spec.axis, end - begin, spec.axis);
                             });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Softmax spec, spec_of(node));
  if (candidate.choice == kRows) return rows_kernel(spec);
  return make_kernel([spec, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_softmax(spec, dtype, a.input<void>(0), a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kSoftmaxCpu{
    .op = "Softmax", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
